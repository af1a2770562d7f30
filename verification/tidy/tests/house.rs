//! The rules of the house, run over the whole tree. Each test shows every breach at once.

use mainstay_tidy::tree::{File, Tree, is_test_file};
use mainstay_tidy::{
    Violation, arrows, clock, codes, conformance, headers, lengths, links, lockfile, seeds, status, words,
};
use std::process::Command;

fn tree() -> Tree {
    Tree::read().expect("git lists the repository's files")
}

#[track_caller]
fn assert_none(mut found: Vec<Violation>) {
    found.sort();
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} breaches of a house rule:\n{}", lines.len(), lines.join("\n"));
}

fn domain(tree: &Tree) -> Vec<&File> {
    tree.rust().filter(|file| file.path.starts_with("domain/") && !is_test_file(&file.path)).collect()
}

#[test]
fn imports_only_point_down() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked"])
        .current_dir(tree().root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: arrows::Metadata =
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    assert!(metadata.packages.len() > 10, "cargo metadata shows {} packages", metadata.packages.len());
    assert_none(arrows::violations(&metadata, arrows::ARROWS));
}

#[test]
fn every_module_says_why_it_exists() {
    assert_none(tree().rust().filter_map(headers::missing_story).collect());
}

#[test]
fn domain_crates_shut_out_the_world() {
    let tree = tree();
    let files = domain(&tree);
    let roots: Vec<&&File> = files.iter().filter(|file| file.path.ends_with("/src/lib.rs")).collect();
    assert!(roots.len() >= 3, "core, fleet and supervisor at least: {}", roots.len());
    let mut found: Vec<Violation> = roots.iter().flat_map(|file| headers::open_domain(file)).collect();
    found.extend(files.iter().flat_map(|file| headers::std_in_domain(file)));
    found.extend(files.iter().flat_map(|file| headers::serde_in_domain(file)));
    assert_none(found);
}

#[test]
fn every_crate_takes_the_workspace_lints() {
    let tree = tree();
    let found = tree
        .files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"))
        // A crate that is a workspace of its own has none to take them from.
        .filter(|file| !file.text.lines().any(|line| line == "[workspace]"))
        .filter(|file| !file.text.contains("[lints]\nworkspace = true"))
        .map(|file| Violation::new(&file.path, 0, "add `[lints]` with `workspace = true`"))
        .collect();
    assert_none(found);
}

#[test]
fn no_file_is_too_long() {
    let tree = tree();
    for file in tree.rust().filter(|file| lengths::counted(file) > lengths::LINES_SMELL) {
        eprintln!(
            "note: {} has {} lines; above {} ask whether it holds one idea",
            file.path,
            lengths::counted(file),
            lengths::LINES_SMELL
        );
    }
    assert_none(tree.rust().filter_map(lengths::too_long).collect());
}

#[test]
fn nothing_is_unfinished_or_silenced() {
    assert_none(tree().rust().flat_map(|file| words::violations(file, words::IN_RUST)).collect());
}

#[test]
fn no_machine_and_no_registry_is_named() {
    let tree = tree();
    assert_none(tree.files.iter().flat_map(|file| words::violations(file, words::EVERYWHERE)).collect());
}

#[test]
fn one_module_reads_the_clock() {
    assert_none(tree().rust().flat_map(|file| clock::violations(file, clock::READERS)).collect());
}

#[test]
fn every_link_leads_somewhere() {
    let tree = tree();
    assert_none(tree.markdown().flat_map(|file| links::dead(file, &tree)).collect());
}

#[test]
fn every_page_that_code_names_exists() {
    let tree = tree();
    assert_none(tree.rust().flat_map(|file| links::dead_pages(file, &tree)).collect());
}

#[test]
fn what_the_readme_promises_is_proved() {
    let tree = tree();
    let readme = tree.file("README.md").expect("there is a README");
    assert_none(status::violations(readme, &tree));
}

#[test]
fn the_conformance_table_is_that_of_the_tests() {
    let tree = tree();
    let table = conformance::table(&tree).expect("the specifications are there");
    let written = tree.file(conformance::TABLE).map(|file| file.text.as_str());
    assert!(
        written == Some(table.as_str()),
        "{} is not what the tests say: `cargo run -p mainstay-tidy`",
        conformance::TABLE
    );
}

#[test]
fn every_sentence_of_a_seed_is_in_its_table() {
    let tree = tree();
    let pairs: Vec<(&File, &File)> = seeds::pairs(&tree).collect();
    assert!(pairs.len() >= 2, "seeds 000 and 004 at least: {}", pairs.len());
    assert_none(pairs.into_iter().filter_map(|(table, seed)| seeds::departure(table, seed)).collect());
}

#[test]
fn every_error_code_has_a_row() {
    let tree = tree();
    let page = tree.file(codes::PAGE).expect("there is a page of error codes");
    let sources = tree.rust().filter(|file| !is_test_file(&file.path));
    assert_none(codes::violations(sources, page));
}

#[test]
fn every_error_code_has_one_owner() {
    let tree = tree();
    let sources = tree.rust().filter(|file| !is_test_file(&file.path));
    assert_none(codes::borrowed(sources, arrows::ARROWS));
}

#[test]
fn no_library_needs_more_than_a_bare_machine() {
    let tree = tree();
    let lock = tree.file("Cargo.lock").expect("the lock file is committed");
    assert_none(lockfile::violations(lock));
}
