//! Every link of a Markdown file to this repository leads somewhere: to a file, and to a heading in it.

use crate::Violation;
use crate::tree::{File, Tree, lines_without_tests};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A link as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its line, counted from 1.
    pub line: usize,
    /// What one reads.
    pub text: String,
    /// Where it leads.
    pub target: String,
}

/// The links and pictures of a Markdown text.
#[must_use]
pub fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    let mut open: Option<Link> = None;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event {
            let line = text[..range.start].matches('\n').count() + 1;
            open = Some(Link { line, text: String::new(), target: dest_url.into_string() });
        } else if let Event::End(TagEnd::Link | TagEnd::Image) = event {
            found.extend(open.take());
        } else if let (Event::Text(piece) | Event::Code(piece), Some(link)) = (event, &mut open) {
            link.text.push_str(&piece);
        }
    }
    found
}

/// The anchors a reader can link to: each heading in lower case, spaces as hyphens, other signs dropped.
#[must_use]
pub fn anchors(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        if let Event::Start(Tag::Heading { .. }) = event {
            heading = Some(String::new());
        } else if let Event::End(TagEnd::Heading(_)) = event {
            found.extend(heading.take().map(|title| slug(&title)));
        } else if let (Event::Text(piece) | Event::Code(piece), Some(heading)) = (event, &mut heading) {
            heading.push_str(&piece);
        }
    }
    found
}

fn slug(title: &str) -> String {
    title
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .flat_map(char::to_lowercase)
        .collect()
}

/// Links of `file` that lead nowhere in `tree`. Links to other sites are not followed.
#[must_use]
pub fn dead(file: &File, tree: &Tree) -> Vec<Violation> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut found = Vec::new();
    for link in links(&file.text) {
        if link.target.contains("://") || link.target.starts_with("mailto:") {
            continue;
        }
        let (path, anchor) = match link.target.split_once('#') {
            Some((path, anchor)) => (path, Some(anchor)),
            None => (link.target.as_str(), None),
        };
        let Some(path) = (if path.is_empty() { Some(file.path.clone()) } else { join(folder, path) }) else {
            found.push(Violation::new(
                &file.path,
                link.line,
                format!("{} leaves the repository", link.target),
            ));
            continue;
        };
        let target = tree.file(&path);
        let is_folder = || tree.files.iter().any(|other| other.path.starts_with(&format!("{path}/")));
        match (target, anchor) {
            (None, _) if !is_folder() => {
                found.push(Violation::new(&file.path, link.line, format!("{} does not exist", link.target)));
            }
            (Some(target), Some(anchor))
                if path.ends_with(".md") && !anchors(&target.text).iter().any(|it| it == anchor) =>
            {
                found.push(Violation::new(&file.path, link.line, format!("{path} has no heading #{anchor}")));
            }
            (None | Some(_), _) => {}
        }
    }
    found
}

/// Pages under `docs/` that a Rust file names, to a reader or in a message, and that do not exist.
#[must_use]
pub fn dead_pages(file: &File, tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (number, line) in lines_without_tests(&file.text) {
        for (at, _) in line.match_indices("docs/") {
            let rest = &line[at..];
            let is_path = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
            let page = rest.split(|c| !is_path(c)).next().unwrap_or(rest);
            let page = page.split_inclusive(".md").next().unwrap_or(page);
            if page.ends_with(".md") && tree.file(page).is_none() {
                found.push(Violation::new(&file.path, number, format!("names {page}, which does not exist")));
            }
        }
    }
    found
}

/// `path` as seen from `folder`, or nothing where it climbs out of the root.
#[must_use]
pub fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_link_to_nowhere_is_found_with_its_line() {
        let page = file(
            "docs/a.md",
            "# A b\n[x](#a-b) [y](../README.md)\n[z](gone.md)\n[w](../README.md#no)\n[v](../../x)\n`[no](link.md)`\n",
        );
        let tree = Tree { root: "/".into(), files: vec![page.clone(), file("README.md", "# Yes\n")] };
        let lines: Vec<usize> = dead(&page, &tree).iter().map(|it| it.line).collect();
        assert_eq!(lines, [3, 4, 5]);
    }

    #[test]
    fn a_page_that_a_message_names_must_exist() {
        let source = file("a.rs", "//! See docs/a.md.\nlet fix = \"see docs/gone.md, or docs/a.md\";\n");
        let tree = Tree { root: "/".into(), files: vec![file("docs/a.md", "# A\n")] };
        let lines: Vec<usize> = dead_pages(&source, &tree).iter().map(|it| it.line).collect();
        assert_eq!(lines, [2]);
    }

    #[test]
    fn a_link_to_a_folder_leads_somewhere() {
        let page = file("README.md", "[docs](docs)\n");
        let tree = Tree { root: "/".into(), files: vec![page.clone(), file("docs/a.md", "# A\n")] };
        assert_eq!(dead(&page, &tree), []);
    }
}
