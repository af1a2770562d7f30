//! Slots with users and views of their own.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use mainstay_agent::os::server_json;
use mainstay_agent::os::slot_dirs::Owner;
use mainstay_holder::client::{self, Found};
use mainstay_holder::process::{self, Remains};
use mainstay_holder::record::Outcome;
use mainstay_holder::spec::LaunchSpec;

use crate::common::{Data, Slot, sigkill, until, until_dead};

fn has_users(data: &Data, test: &str) -> bool {
    if data.capabilities.users.is_none() {
        eprintln!("SKIPPED without a user for each slot: {test}");
    }
    data.capabilities.users.is_some()
}

#[test]
fn without_any_privilege_a_slot_still_runs_and_reads_its_server_json() {
    let data = Data::new();
    let mut slot = data.slot(0);
    slot.owner = Owner::Agent;
    slot.dirs.prepare(slot.owner).unwrap();
    server_json::write(&slot.dirs.home, &slot.facts(), slot.owner).unwrap();
    slot.start(&slot.shell("cat $HOME/server.json; touch made"));
    assert_eq!(slot.exit().outcome, Outcome::Exited { code: 0 });
    assert_eq!(slot.stdout(), server_json::render(&slot.facts()));
    assert!(slot.dirs.work.join("made").exists());
}

#[test]
fn a_slot_reads_its_own_files_and_neither_its_neighbours_nor_the_agents() {
    let data = Data::new();
    if !has_users(&data, "isolation of slots") {
        return;
    }
    let secret = data.path().join("credentials.json");
    std::fs::write(&secret, "hunter2").unwrap();
    std::fs::set_permissions(&secret, Permissions::from_mode(0o644)).unwrap();
    // A build in a folder closed to everybody else, as in somebody's home.
    let build = data.path().join("builds/arena");
    std::fs::create_dir_all(&build).unwrap();
    std::fs::copy("/bin/cat", build.join("show")).unwrap();
    // One that its owner lets everybody write: other slots start from it all the same.
    std::fs::set_permissions(&build, Permissions::from_mode(0o777)).unwrap();
    let (a, b) = (data.slot(0), data.slot(1));
    assert_ne!(a.owner, b.owner);
    for slot in [&a, &b] {
        server_json::write(&slot.dirs.home, &slot.facts(), slot.owner).unwrap();
    }
    let script = format!(
        "{show} $HOME/server.json; echo; {show} {b}/server.json 2>&1; {show} {secret} 2>&1; ls {data}; id -u; \
         touch $HOME/made {logs}/made made; touch {build}/made {build}/show 2>&1",
        build = build.display(),
        show = build.join("show").display(),
        b = b.dirs.home.display(),
        secret = secret.display(),
        data = data.path().display(),
        logs = a.dirs.logs.display(),
    );
    let isolation = data.capabilities.view(data.path(), &a.dirs.of_game(), &build).unwrap();
    assert!(isolation.is_some());
    a.start(&LaunchSpec { isolation, ..a.shell(&script) });
    assert_eq!(a.exit().outcome, Outcome::Exited { code: 1 }, "{}", a.stdout());
    let text = a.stdout();
    let (text, touched) = text.split_once("touch: ").unwrap();
    assert_eq!(touched.matches("Read-only file system").count(), 1, "its modes say otherwise: {touched}");
    assert!(!build.join("made").exists());
    let lines: Vec<&str> = text.lines().collect();
    let own_uid = a.owner.own_uid().unwrap().to_string();
    assert_eq!(lines[0], server_json::render(&a.facts()));
    assert!(lines[1].ends_with("server.json: No such file or directory"), "{text}");
    assert!(lines[2].ends_with("credentials.json: No such file or directory"), "{text}");
    assert_eq!(lines[3..], ["builds", "slots", &own_uid], "{text}");
    for dir in a.dirs.of_game() {
        assert!(dir.join("made").exists(), "{}", dir.display());
    }
}

#[test]
fn even_without_a_view_of_its_own_a_slots_user_cannot_read_another_home() {
    let data = Data::new();
    if !has_users(&data, "users of slots") {
        return;
    }
    std::fs::set_permissions(data.path(), Permissions::from_mode(0o711)).unwrap();
    let (a, b) = (data.slot(0), data.slot(1));
    for slot in [&a, &b] {
        server_json::write(&slot.dirs.home, &slot.facts(), slot.owner).unwrap();
    }
    let paths =
        [&a.dirs.home, &b.dirs.home, &b.dirs.run, &b.dirs.output, &a.dirs.run].map(|dir| dir.display());
    let list = |dir| format!("ls {dir} 2>&1;");
    let script: String = paths.into_iter().map(list).collect();
    a.start(&a.shell(&script));
    a.exit();
    let text = a.stdout();
    assert!(text.starts_with("server.json\n"), "{text}");
    assert_eq!(text.matches("Permission denied").count(), 4, "{text}");
}

#[test]
fn a_slots_user_is_emptied_whatever_became_of_the_holder() {
    let data = Data::new();
    if !has_users(&data, "emptying by user") {
        return;
    }
    std::fs::set_permissions(data.path(), Permissions::from_mode(0o711)).unwrap();
    let (a, b) = (data.slot(0), data.slot(1));
    let script = "setsid sh -c 'echo $$; exec sleep 1000' & exec sleep 1000";
    let started = [&a, &b].map(|slot: &Slot| {
        let status = slot.start(&slot.shell(script));
        let left = until("the grandchild runs", || process::mark(slot.stdout().trim().parse().ok()?).ok());
        (status, left)
    });
    let [(a_status, a_left), (b_status, b_left)] = started;
    sigkill(a_status.holder);
    until_dead(a_status.game);
    let Found::HolderDead(record) = client::adopt(&a.dirs.run).unwrap() else { panic!("holder lives") };
    let remains =
        Remains { record: Some(record), groups: Vec::new(), own_uid: a.owner.own_uid(), exit: None };
    assert_eq!(process::empty(&remains).unwrap().alive, 0);
    assert!(!process::is_alive(a_left));
    assert!(process::is_alive(b_left) && process::is_alive(b_status.game), "the neighbour plays on");
}
