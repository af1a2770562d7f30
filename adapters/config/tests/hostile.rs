//! Texts of the greatest allowed size, each made to be slow or large in its own way. That the loader comes back at all
//! is the test: before widths were measured once, the long line of many values took minutes.

use mainstay_config::{SourceFile, limits, load};

fn hostile() -> Vec<(&'static str, String)> {
    let most = limits::FILE_BYTES_MAX;
    let numbered = |count: usize, form: &dyn Fn(usize) -> String| (0..count).map(form).collect::<String>();
    let configuration =
        |n: usize| format!("  c{n}:\n    build: a\n    binaryPath: s\n    commandLine: -p $$port$$ $$x$$\n");
    let head = "version: 1.0\nbuilds: { a: }\nbuildConfigurations:\n";
    vec![
        ("open brackets", "[".repeat(most)),
        ("open mappings", "{a:".repeat(most / 3)),
        ("open quotes", "\"".repeat(most)),
        ("nested lists", "- ".repeat(most / 2)),
        ("nested keys", "? ".repeat(most / 2)),
        ("tags", "!".repeat(most)),
        ("aliases of nothing", "*a ".repeat(most / 3)),
        ("a long key", format!("{}: 1", "a".repeat(most - 3))),
        ("line breaks", "\n".repeat(most)),
        ("comments", "#\n".repeat(most / 2)),
        ("one value over many lines", "a\n".repeat(most / 2)),
        ("one list on one line", format!("x-a: [{}]", "a,".repeat(95_000))),
        ("one mapping on one line", format!("builds: {{ {} }}", numbered(80_000, &|n| format!("b{n}: 1,")))),
        ("unknown keys", numbered(60_000, &|n| format!("unknown{n}: 1\n"))),
        ("one key again and again", "k: 1\n".repeat(90_000)),
        ("unknown variables", format!("{head}{}", numbered(8_000, &configuration))),
        ("one command line of variables", format!("{head}  c: {{ commandLine: {} }}", "$$x".repeat(9_000))),
    ]
}

#[test]
fn hostile_texts_are_refused_with_few_words() {
    for (name, text) in hostile() {
        assert!(text.len() <= limits::FILE_BYTES_MAX, "{name}");
        let refused = load(&[SourceFile::new("hostile.yaml", text)]).expect_err(name);
        assert!(refused.problems.len() <= limits::PROBLEMS_MAX, "{name}");
        let shown = refused.to_string();
        assert!(shown.len() < 200_000, "{name} is answered with {} bytes", shown.len());
    }
}
