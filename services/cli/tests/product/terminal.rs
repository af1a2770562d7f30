//! Somebody at a terminal: colours, moments, and being asked before something is gone. A program that reads the same command gets none of it.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::product::{Home, until};

/// A command at a terminal of its own, with what is typed there.
fn at_a_terminal(command: &Command, typed: &str) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect::<Vec<_>>().join(" ");
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env_remove("NO_COLOR");
    script.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned()
}

fn said(output: Output) -> (String, String) {
    assert!(output.status.success(), "{output:?}");
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// ux.md 8.7: "`--time relative|iso|unix`, `--color auto|always|never` (+`NO_COLOR`), `-q`, `-v` … `--yes`"; "ages relative … state
/// coloured *and* spelled".
#[test]
fn tables_are_for_people_at_terminals_and_who_destroys_something_there_is_asked() {
    let home = Home::new();
    let up = home.up_bare();
    let file = home.path().with_file_name("duel.json");
    std::fs::write(&file, json!({ "Name": "duel", "MinMatchSize": 2, "MaxMatchSize": 2 }).to_string())
        .unwrap();
    up.json(&["queue", "set", file.to_str().unwrap()]);
    let ticket = up.json(&["ticket", "create", "--player", "ann"]);
    let created = ticket["created"].as_str().unwrap();
    let seconds = created.parse::<jiff::Timestamp>().unwrap().as_second().to_string();

    let list = |more: &[&str]| {
        let mut command = home.command(&[&["ticket", "list"], more].concat());
        command.env_remove("NO_COLOR");
        command
    };
    let read = |more: &[&str]| said(list(more).output().unwrap()).0;
    let aged = until("it is a second old", || Some(read(&[])).filter(|table| table.contains(" ago")));
    assert!(aged.contains("in ") && !aged.contains(created), "{aged}");
    assert!(read(&["--time", "iso"]).contains(created) && read(&["--time", "unix"]).contains(&seconds));
    assert!(read(&["-o", "json"]).contains(created), "programs get what the API gives");

    let coloured = |text: &str| text.contains("\u{1b}[") && text.contains("mWaitingForMatch\u{1b}[");
    assert!(coloured(&at_a_terminal(&list(&[]), "")), "{:?}", at_a_terminal(&list(&[]), ""));
    assert!(!at_a_terminal(list(&[]).env("NO_COLOR", "1"), "").contains('\u{1b}'));
    assert!(!at_a_terminal(&list(&["--color", "never"]), "").contains('\u{1b}'));
    assert!(!read(&[]).contains('\u{1b}') && coloured(&read(&["--color", "always"])));
    let insisting = list(&["--color", "always"]).env("NO_COLOR", "1").output().unwrap();
    assert!(coloured(&said(insisting).0), "a flag goes before a variable");

    let (_, calls) = said(list(&["-v"]).output().unwrap());
    let secret = up.file("credentials.json")["secretKey"].as_str().unwrap().to_owned();
    assert!(calls.contains("GET http://127.0.0.1:") && calls.contains("status=200"), "{calls}");
    assert!(!calls.contains("Basic") && !calls.contains(&secret), "{calls}");
    let make = ["account", "create", "--role", "viewer"];
    assert!(said(home.command(&make).output().unwrap()).1.contains("only time"));
    assert_eq!(said(home.command(&[&make[..], &["-q"]].concat()).output().unwrap()).1, "");

    let delete = |more: &[&str]| home.command(&[&["queue", "delete", "duel"], more].concat());
    let queues = || up.json(&["queue", "list"]).as_array().unwrap().len();
    let asked = at_a_terminal(&delete(&[]), "n\n");
    assert!(asked.contains("remove queue duel, and cancel its tickets, at http://127.0.0.1:"), "{asked}");
    assert!(asked.contains("MS-U061") && queues() == 1, "{asked}");
    let sure = at_a_terminal(&delete(&["--yes"]), "");
    assert!(sure.is_empty() && queues() == 0, "{sure}");
    up.json(&["queue", "set", file.to_str().unwrap()]);
    let yes = at_a_terminal(&delete(&[]), "y\n");
    assert!(yes.contains("[y/N]") && !yes.contains("error") && queues() == 0, "{yes}");
    up.json(&["queue", "set", file.to_str().unwrap()]);
    said(delete(&[]).output().unwrap());
    assert_eq!(queues(), 0, "a script said what it wants");
}
