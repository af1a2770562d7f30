//! What people look at, and how: any id, in every writing, once or until it ends.

use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::product::{Home, Product, lines_of, until};

const QUEUES: &str = "version: 1.0
queues:
  - { name: duel, minMatchSize: 2, maxMatchSize: 2 }
  - name: trio
    minMatchSize: 3
    maxMatchSize: 3
    rules:
      - { name: skill, type: DifferenceRule, attribute: { path: skill }, attributeNotSpecifiedBehavior: MatchAny, difference: 1 }
";

fn up(home: &Home) -> Product<'_> {
    let file = home.path().with_file_name("mainstay.yaml");
    std::fs::write(&file, QUEUES).unwrap();
    home.up(&[file.to_str().unwrap()])
}

/// A command without `-o json`: what it said, and how it ended.
fn plain(home: &Home, arguments: &[&str]) -> Output {
    home.command(arguments).output().unwrap()
}

#[track_caller]
fn said(home: &Home, arguments: &[&str]) -> String {
    let output = plain(home, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(home: &Home, arguments: &[&str], exit: i32, code: &str) {
    let output = plain(home, arguments);
    assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains(&format!("error MS-{code}:")), "{output:?}");
}

/// ux.md 8.7: "`-o table|wide|json|jsonl|yaml|name`, `--fields a,b`", "`show <any id>`", "`why <ticket|…>`", "`draw <…|queue>`",
/// "`--wait [--timeout 30s]`".
#[test]
fn a_ticket_is_found_by_its_id_alone_and_written_as_it_is_asked_for() {
    let home = Home::new();
    let up = up(&home);
    let create = |queue: &str, player: &str| {
        up.json(&["ticket", "create", "--queue", queue, "--player", player])["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (alice, bob) = (create("trio", r#"alice={"skill": 1}"#), create("trio", r#"bob={"skill": 5}"#));

    // Two queues, and none is named.
    assert_eq!(up.json(&["ticket", "get", &alice])["queue"], "trio");
    let shown = up.json(&["show", &alice]);
    assert_eq!((&shown["kind"], &shown["id"]), (&json!("ticket"), &json!(alice)), "{shown}");
    assert_eq!(up.json(&["show", "duel"])["kind"], "queue");
    let why = said(&home, &["why", &bob]);
    assert!(why.contains("4 apart, at most 1"), "{why}");
    refused(&home, &["show", "nobody"], 3, "U048");
    refused(&home, &["ticket", "get", "6f1c2a9e-0d43-4b8e-9a57-2f6d8c1b0e34"], 3, "U048");

    let list = |more: &[&str]| said(&home, &[&["ticket", "list", "--queue", "trio"], more].concat());
    let mut ids = [alice.as_str(), bob.as_str()];
    ids.sort_unstable();
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(sorted(&list(&["-o", "name"])), ids);
    let lines = list(&["-o", "jsonl", "--fields", "id,status"]);
    let expected = ids.map(|id| json!({ "id": id, "status": "WaitingForMatch" }).to_string());
    assert_eq!(sorted(&lines), expected);
    assert_eq!(
        list(&["--fields", "status"]).split_whitespace().collect::<Vec<_>>(),
        ["STATUS", "WaitingForMatch", "WaitingForMatch"]
    );
    assert!(list(&["-o", "wide"]).lines().next().unwrap().contains("QUEUE"), "what the table leaves out");
    assert!(!list(&[]).contains("QUEUE"));
    let yaml = said(&home, &["ticket", "get", &alice, "-o", "yaml"]);
    assert!(
        yaml.contains(&format!("id: \"{alice}\"\n")) && yaml.contains("status: \"WaitingForMatch\"\n"),
        "{yaml}"
    );
    refused(&home, &["queue", "funnel", "--queue", "trio", "-o", "name"], 2, "U050");

    let picture = said(&home, &["draw", "queue", "trio"]);
    assert!(
        picture.starts_with("<svg ") && picture.contains(&alice[..8]) && picture.contains("skill"),
        "{picture}"
    );
    let waited = ["ticket", "create", "--queue", "duel", "--player", "carol", "--wait", "--timeout", "1s"];
    refused(&home, &waited, 6, "U049");
}

/// What is waited for or watched is told as it happens: one call of each, however long it takes.
#[test]
fn who_waits_for_a_ticket_or_watches_it_is_told_and_asks_nothing_again() {
    let home = Home::new();
    let up = up(&home);
    let talking = |arguments: &[&str]| {
        let command = &mut home.command(&[arguments, &["-v", "-o", "jsonl"]].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let waits = talking(&["ticket", "create", "--queue", "duel", "--player", "alice", "--wait"]);
    let alice = until("she looks", || {
        up.json(&["ticket", "list", "--queue", "duel"])[0]["id"].as_str().map(str::to_owned)
    });
    let watches = talking(&["ticket", "get", &alice, "--queue", "duel", "--watch"]);
    // Long enough for a look or two of who would ask again.
    let bob = ["ticket", "create", "--queue", "trio", "--player", "bob", "--wait"];
    let near = up.run(&[&bob[..], &["--timeout", "1s"]].concat());
    assert_eq!(near.status.code(), Some(6), "{near:?}");
    up.json(&["ticket", "cancel", &alice]);
    for (process, exit, calls) in [(waits, 1, 2), (watches, 0, 1)] {
        let ended = process.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        let told = String::from_utf8(ended.stdout).unwrap();
        assert_eq!(ended.status.code(), Some(exit), "{said}");
        assert!(told.contains("Canceled") || said.contains("MS-U040"), "{told} {said}");
        assert_eq!(said.matches("status=").count(), calls, "{said}");
        assert!(said.contains("/events"), "{said}");
    }
}

/// ux.md 8.7: "`--watch` … off a TTY prints one JSON line per change".
#[test]
fn what_is_watched_is_told_by_its_changes_until_it_ends() {
    let home = Home::new();
    let up = up(&home);
    let alice = up.json(&["ticket", "create", "--queue", "duel", "--player", "alice"]);
    let watch = |arguments: &[&str]| {
        home.command(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut one = watch(&["ticket", "get", alice["id"].as_str().unwrap(), "--watch"]);
    let mut list = watch(&["ticket", "list", "--queue", "duel", "-w", "--fields", "id,status"]);
    let (told, listed) = (lines_of(one.stdout.take().unwrap()), lines_of(list.stdout.take().unwrap()));
    let next = |lines: &std::sync::mpsc::Receiver<String>| -> Value {
        lines.recv_timeout(crate::product::LIMIT).unwrap().parse().unwrap()
    };
    assert_eq!(next(&told), alice);
    assert_eq!(next(&listed), json!({ "id": alice["id"], "status": "WaitingForMatch" }));
    up.json(&["ticket", "create", "--queue", "duel", "--player", "bob"]);
    assert_eq!(next(&told)["status"], "Matched");
    let ended = until("what is watched has ended", || one.try_wait().unwrap());
    assert!(ended.success() && told.try_iter().next().is_none(), "{ended}");
    let changed = [next(&listed), next(&listed)];
    assert!(changed.contains(&json!({ "id": alice["id"], "status": "Matched" })), "{changed:?}");
    list.kill().unwrap();
    list.wait().unwrap();
    refused(&home, &["ticket", "cancel", alice["id"].as_str().unwrap(), "--watch"], 2, "U050");
    refused(&home, &["draw", "queue", "duel", "-o", "json"], 2, "U050");
}

/// The question is over with the match, and that is what is told last.
#[test]
fn why_a_ticket_is_not_matched_is_watched_until_it_is() {
    let home = Home::new();
    let up = up(&home);
    let alice = up.json(&["ticket", "create", "--queue", "duel", "--player", "alice"]);
    let id = alice["id"].as_str().unwrap();
    let mut why = home.command(&["why", id, "--watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let told = lines_of(why.stdout.take().unwrap());
    let first: Value = told.recv_timeout(crate::product::LIMIT).unwrap().parse().unwrap();
    assert_eq!(first["playersMax"], 2, "{first}");
    up.json(&["ticket", "create", "--queue", "duel", "--player", "bob"]);
    let ended = until("what is watched has ended", || why.try_wait().unwrap());
    let last: Value = told.into_iter().last().unwrap().parse().unwrap();
    assert!(ended.success(), "{ended}: {last}");
    assert_eq!((&last["id"], &last["status"]), (&alice["id"], &json!("Matched")), "{last}");
    // Whoever asks only then is refused, as without a watch.
    let late = plain(&home, &["why", id, "--watch"]);
    assert_eq!((late.status.code(), late.stdout.len()), (Some(5), 0), "{late:?}");
}

/// A list of which nothing changes is written once: only its reader's end tells that nobody reads on.
#[test]
fn a_watch_ends_with_its_reader_though_nothing_changes() {
    let home = Home::new();
    let _up = up(&home);
    let mut watch = home.command(&["queue", "list", "-w"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut reader = std::io::BufReader::new(watch.stdout.take().unwrap());
    let mut first = String::new();
    std::io::BufRead::read_line(&mut reader, &mut first).unwrap();
    assert!(first.contains("duel"), "{first}");
    drop(reader);
    let ended = until("the watch has noticed", || watch.try_wait().unwrap());
    assert!(ended.success(), "{ended}");
}

/// What has no name is not asked for by one, before anything is done.
#[test]
fn nothing_is_applied_of_which_the_answer_cannot_be_written() {
    let home = Home::new();
    let up = up(&home);
    let file = home.path().with_file_name("other.yaml");
    std::fs::write(&file, "version: 1.0\nqueues:\n  - { name: other, minMatchSize: 2, maxMatchSize: 2 }\n")
        .unwrap();
    let file = file.to_str().unwrap();
    for command in [&["apply", file][..], &["check", file], &["doctor"]] {
        refused(&home, &[command, &["-o", "name"]].concat(), 2, "U050");
    }
    assert_eq!(up.json(&["queue", "list"]).as_array().unwrap().len(), 2);
}
