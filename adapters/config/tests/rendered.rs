//! How problems look, byte for byte: the five parts in their order, as text and as JSON.

use mainstay_config::{SourceFile, load};

/// The example of the error style: a name that is nearly right, in a file where more is wrong.
const SEVERAL: &str = "\
version: 1.0
builds:
  arena:
    buildPath: dist
    buildpath: dist
buildConfigurations:
  arena ranked:
    build: arena
    binaryPath: arena.x86_64
    queryType: spq
    limits: { cpu: 0.5, memoryMiB: 512 }
    caps: { memoryMiB: 600 }
    stop: { killTimeout: 20 }
  arena casual:
    build: arena
    binaryPath: /opt/arena/arena.x86_64
    commandLine: -port $$prot$$ -map harbour
fleets:
  europe:
    buildConfigurations: [arena rankd]
    regions:
      Europe: { minAvailable: 4, maxServers: 64 }
sessions: []
";

fn refused(files: &[(&str, &str)]) -> mainstay_config::Refused {
    let files: Vec<_> = files.iter().map(|&(name, text)| SourceFile::new(name, text)).collect();
    load(&files).expect_err("each file here has errors")
}

#[test]
fn every_problem_of_a_file_is_told_in_five_parts() {
    insta::assert_snapshot!(refused(&[("mainstay.yaml", SEVERAL)]));
}

#[test]
fn a_name_in_two_files_shows_both_places() {
    let text = "version: 1.0\n\n\n\n\n\n\n\n\nbuilds:\n  arena: { buildPath: dist }\n";
    let short = "version: 1.0\nbuilds: { arena: { buildPath: dist } }\n";
    insta::assert_snapshot!(refused(&[("a.gsh", short), ("games/b.yaml", text)]));
}

#[test]
fn long_lines_are_cut_and_nothing_unprintable_is_printed() {
    let long = format!("version: 1.0\nbuilds:\n  {}: {{ bad\u{202e}key: \"a\" }}\n", "long ".repeat(20));
    insta::assert_snapshot!(refused(&[("mainstay.yaml", &long)]));
}

#[test]
fn problems_serialise_for_programs() {
    let reports: Vec<_> = refused(&[("mainstay.yaml", SEVERAL)])
        .problems
        .iter()
        .map(mainstay_config::Problem::report)
        .collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&reports[..2]).unwrap());
}
