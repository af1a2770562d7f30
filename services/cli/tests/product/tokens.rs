//! Machines that join over TLS with a token, as an operator lets them in and turns them out: real processes, real sockets.

use nix::sys::signal::Signal;

use crate::allocations::fleet_of;
use crate::caller::new_id;
use crate::far::{Agent, beyond, command, connected, door, joined, listening, mode, refused, token};
use crate::joining::growing;
use crate::product::{Home, lives, until};

/// Issue 3, section 4: "agents that join with a token: `mainstay agent --join URL --token T`"; "Agents speak TLS with a
/// pinned CA; the join token is short-lived and exchanged for a revocable credential per machine".
#[test]
fn a_machine_joins_with_a_token_over_tls_and_its_server_is_allocated() {
    let (home, far) = (Home::new(), Home::new());
    let host = beyond();
    let up = listening(&home, &host);
    let (caller, fleet) = (up.caller(), fleet_of(&up));
    let token = token(&up, &[]);
    let agent = Agent::start(&far, &door(&up), Some(&token));
    let machine = connected(&up);
    assert_eq!((&machine["credential"]["state"], &machine["ipv4"]), (&"live".into(), &host.as_str().into()));
    assert_eq!((&machine["fleetName"], &machine["regionName"]), (&"here".into(), &"Home".into()));

    let (first, second) = (new_id(), new_id());
    caller.allocate(&fleet, &first);
    caller.fulfilled(&fleet, &first);
    caller.allocate(&fleet, &second);
    let there = caller.fulfilled(&fleet, &second);
    assert_eq!((&there["machineId"], &there["ipv4"]), (&machine["id"], &host.as_str().into()));

    // Secrets lie where only their owner reads them, and in no log.
    let credential = far.path().join("agent/credential.json");
    assert_eq!(mode(&credential), 0o600);
    assert_eq!(mode(&home.path().join("tls/ca.key")), 0o600);
    let secret = token.rsplit('.').next().unwrap().to_owned();
    let kept = std::fs::read_to_string(&credential).unwrap();
    assert!(!kept.contains(&secret), "the token is spent, and not kept");
    assert!(!agent.log().contains(&secret) && !up.log().contains(&secret));

    // Both sides may come and go: the credential outlives them, and the server plays on.
    let server = there["serverId"].to_string();
    let pid = up.pid_when(&server, "ALLOCATED");
    agent.end(Signal::SIGKILL);
    let agent = Agent::start(&far, &door(&up), None);
    connected(&up);
    assert_eq!(up.pid_when(&server, "ALLOCATED"), pid);
    up.kill_nine();
    let up = listening(&home, &host);
    connected(&up);
    assert_eq!(up.pid_when(&server, "ALLOCATED"), pid);
    assert!(lives(pid));
    drop(agent);
}

/// "`mainstay machine revoke ID` ends it at once: stream closed, later frames refused; durable".
#[test]
fn a_revoked_machine_is_out_at_once_and_stays_out_and_its_servers_play_on() {
    let (home, far) = (Home::new(), Home::new());
    let host = beyond();
    let up = listening(&home, &host);
    let text = token(&up, &["--uses", "5"]);
    let agent = Agent::start(&far, &door(&up), Some(&text));
    let number = connected(&up)["id"].clone();
    let machine = number.to_string();
    let (caller, fleet) = (up.caller(), fleet_of(&up));
    let ids = [new_id(), new_id()];
    for id in &ids {
        caller.allocate(&fleet, id);
        caller.fulfilled(&fleet, id);
    }
    let there = |server: &serde_json::Value| server["machineId"] == number;
    let server = up.servers().into_iter().find(there).unwrap();
    let pid = i32::try_from(server["pid"].as_i64().unwrap()).unwrap();

    let shown = up.json(&["machine", "revoke", &machine]);
    assert_eq!(shown["credential"]["state"], "revoked");
    agent.says("MS-A027");
    until("its stream is closed", || {
        (up.json(&["machine", "get", &machine])["status"] == "silent").then_some(())
    });
    assert!(lives(pid), "the session goes on");

    // Durable, and the token it came with lets nobody in any more, though it had uses left.
    up.kill_nine();
    let up = listening(&home, &host);
    agent.end(Signal::SIGKILL);
    let agent = Agent::start(&far, &door(&up), None);
    agent.says("MS-A027");
    assert_eq!(up.json(&["machine", "get", &machine])["status"], "silent");
    let other = Home::new();
    let (code, said) = refused(&other, &door(&up), Some(&text), &[]);
    assert!(code == Some(4) && said.contains("MS-A023"), "{code:?} {said}");
    until("the control plane says it, too", || up.log().contains("MS-A023").then_some(()));

    // An operator lets it in again, and it is the same machine with the same game.
    drop(agent);
    let _agent = Agent::start(&far, &door(&up), Some(&token(&up, &[])));
    assert_eq!(connected(&up)["id"], number);
    assert_eq!(up.pid_when(&server["id"].to_string(), "ALLOCATED"), pid);
}

/// "the credential … is renewed before it ends", and one that was not is told on both sides.
#[test]
fn a_short_credential_is_renewed_while_its_agent_runs_and_ends_without_it() {
    let (home, far) = (Home::new(), Home::new());
    let up = listening(&home, &beyond());
    let agent = Agent::start(&far, &door(&up), Some(&token(&up, &["--credential-ttl", "4s"])));
    let ends = || connected(&up)["credential"]["expiresAt"].as_str().unwrap().to_owned();
    let first = ends();
    let second = until("it is renewed", || Some(ends()).filter(|end| *end > first));
    until("and once more", || Some(ends()).filter(|end| *end > second));
    assert!(!agent.log().contains("no stream"), "renewing breaks no stream: {}", agent.log());

    agent.end(Signal::SIGKILL);
    until("it ends", || joined(&up).iter().any(|it| it["credential"]["state"] == "expired").then_some(()));
    let agent = Agent::start(&far, &door(&up), None);
    agent.says("MS-A026");
    until("the control plane says it, too", || up.log().contains("MS-A026").then_some(()));
    drop(agent);
    let _agent = Agent::start(&far, &door(&up), Some(&token(&up, &[])));
    assert_eq!(connected(&up)["credential"]["state"], "live");
}

/// "A machine whose credential is wrong/expired/revoked, a token that is used up/expired/wrong CA: each a clear error with
/// a code on both sides".
#[test]
fn tokens_that_open_nothing_say_why_on_both_sides() {
    let (home, elsewhere) = (Home::new(), Home::new());
    let (up, other) = (listening(&home, &beyond()), listening(&elsewhere, &beyond()));
    let far = Home::new();
    let used = token(&up, &[]);
    let _agent = Agent::start(&far, &door(&up), Some(&used));
    connected(&up);

    let short = token(&up, &["--ttl", "1s"]);
    until("it has ended", || {
        let tokens = up.json(&["token", "list"]);
        tokens.as_array().unwrap().iter().any(|token| token["state"] == "expired").then_some(())
    });
    let narrow = token(&up, &["--fleet", "here", "--region", "Home"]);
    let cut = used[..used.len() - 3].to_owned();
    let mut wrong = narrow.clone();
    wrong.replace_range(wrong.len() - 9..wrong.len() - 1, "AAAAAAAA");
    for (text, code, exit, both) in [
        (used.as_str(), "MS-A022", 4, true),
        (&short, "MS-A021", 4, true),
        (&wrong, "MS-A020", 4, true),
        (&cut, "MS-U106", 2, false),
        // Of another control plane: nothing is told to whoever answers.
        (&token(&other, &[]), "MS-S411", 7, false),
    ] {
        let (ended, said) = refused(&Home::new(), &door(&up), Some(text), &[]);
        assert!(ended == Some(exit) && said.contains(code), "{code}: {ended:?} {said}");
        assert!(!said.contains(text.rsplit('.').next().unwrap()), "secrets are in no message: {said}");
        if both {
            until("the control plane says it, too", || up.log().contains(code).then_some(()));
        }
    }
    let (ended, said) = refused(&Home::new(), &door(&up), None, &[]);
    assert!(ended == Some(4) && said.contains("MS-S414"), "{ended:?} {said}");
    let (ended, said) = refused(&Home::new(), &door(&up), Some(&narrow), &["--fleet", "nowhere"]);
    assert!(ended == Some(4) && said.contains("MS-S605"), "{ended:?} {said}");
    let plain = door(&up).replace("https://", "http://");
    let (ended, said) = refused(&Home::new(), &plain, Some(&narrow), &[]);
    assert!(ended == Some(7) && said.contains("MS-S410"), "{ended:?} {said}");
    // None of these used it.
    let near = Home::new();
    let _second = Agent::start(&near, &door(&up), Some(&narrow));
    until("it lets in the one it is for", || (joined(&up).len() == 2).then_some(()));
}

/// "two agents with one credential at once: the newer stream wins and the older is told why".
#[test]
fn of_two_agents_with_one_credential_the_newer_is_heard_and_the_older_is_told() {
    let (home, far, copy) = (Home::new(), Home::new(), Home::new());
    let up = listening(&home, &beyond());
    let older = Agent::start(&far, &door(&up), Some(&token(&up, &[])));
    let machine = connected(&up)["id"].clone();
    std::fs::create_dir_all(copy.path().join("agent")).unwrap();
    for file in ["credential.json", "machines.json"] {
        std::fs::copy(far.path().join("agent").join(file), copy.path().join("agent").join(file)).unwrap();
    }
    let newer = Agent::start(&copy, &door(&up), None);
    older.says("MS-S609");
    until("the control plane says it, too", || up.log().contains("MS-S609").then_some(()));
    assert_eq!(connected(&up)["id"], machine);
    // The older keeps its peace: when the newer goes, nobody speaks for the machine, until the older is started again.
    newer.end(Signal::SIGKILL);
    until("the machine is silent", || {
        joined(&up).iter().all(|machine| machine["status"] == "silent").then_some(())
    });
    drop(older);
    let _again = Agent::start(&far, &door(&up), None);
    assert_eq!(connected(&up)["id"], machine);
}

/// Tokens are listed without their secrets, and withdrawn; `--token` and the environment are taken as well as a file.
#[test]
fn tokens_are_given_in_three_ways_listed_and_withdrawn() {
    let home = Home::new();
    let up = listening(&home, &beyond());
    let text = token(&up, &["--uses", "3"]);
    let listed = up.json(&["token", "list"]);
    assert!(!listed.to_string().contains(text.rsplit('.').next().unwrap()), "{listed}");
    assert_eq!((&listed[0]["state"], &listed[0]["usesLeft"]), (&"open".into(), &3.into()));

    let (first, second) = (Home::new(), Home::new());
    let _by_flag = Agent::of(&first, command(&first, &door(&up), None, &["--token", &text]));
    let mut by_variable = command(&second, &door(&up), None, &[]);
    by_variable.env("MAINSTAY_JOIN_TOKEN", &text);
    let _by_variable = Agent::of(&second, by_variable);
    until("both are here", || (joined(&up).len() == 2).then_some(()));

    let id = listed[0]["id"].as_str().unwrap();
    assert!(up.run(&["token", "revoke", id]).status.success());
    let (code, said) = refused(&Home::new(), &door(&up), Some(&text), &[]);
    assert!(code == Some(4) && said.contains("MS-A023"), "{code:?} {said}");
    assert!(joined(&up).iter().all(|machine| machine["credential"]["state"] == "live"), "who is in stays in");
}

/// Issue 2, section 9: "When no slot is free but the fleet can grow, the allocation is accepted and waits, durable, […] when
/// it cannot grow it is refused at once with a code". Without `machines: { join: allowed }` it can grow while a join token is
/// open, and the configuration, the token, the agent and placement say the same.
#[test]
fn while_a_join_token_is_open_an_allocation_waits_and_else_it_is_refused_at_once() {
    let (home, far) = (Home::new(), Home::new());
    let file = home.path().with_file_name("growing.yaml");
    let text =
        growing().replace("machines: { join: allowed }\n", "").replace("maxServers: 2", "maxServers: 3");
    std::fs::write(&file, text).unwrap();
    let up = home.up(&[file.to_str().unwrap(), "--listen", &beyond()]);
    let (caller, fleet) = (up.caller(), fleet_of(&up));
    let may_join = || up.json(&["fleet", "get", "here"])["regions"][0]["machinesMayJoin"].as_bool().unwrap();
    let (first, second, third) = (new_id(), new_id(), new_id());
    caller.allocate(&fleet, &first);
    caller.fulfilled(&fleet, &first);
    let refused = |id: &str| {
        let answer = caller.allocate(&fleet, id);
        assert_eq!(answer.status, 409, "{answer:?}");
        assert_eq!(answer.code.as_deref(), Some("MS-P006"), "{answer:?}");
    };
    assert!(!may_join());
    refused(&second);

    // A token that was withdrawn invites nobody; an open one does, also after a crash.
    let withdrawn = up.json(&["token", "create"]);
    assert!(may_join());
    up.run(&["token", "revoke", withdrawn["id"].as_str().unwrap()]);
    assert!(!may_join());
    refused(&second);
    let text = token(&up, &[]);
    up.kill_nine();
    let up = home.up(&[file.to_str().unwrap(), "--listen", &beyond()]);
    let (caller, may_join) = (up.caller(), || {
        up.json(&["fleet", "get", "here"])["regions"][0]["machinesMayJoin"].as_bool().unwrap()
    });
    assert!(may_join());
    assert_eq!(caller.allocate(&fleet, &second).status / 100, 2);
    assert_eq!(up.json(&["allocation", "get", &second])["state"], "waiting");

    // The machine comes with it and serves what waits. The token is used up: nobody else can come.
    let _agent = Agent::start(&far, &door(&up), Some(&text));
    caller.fulfilled(&fleet, &second);
    assert!(!may_join());
    let answer = caller.allocate(&fleet, &third);
    assert_eq!((answer.status, answer.code.as_deref()), (409, Some("MS-P006")), "{answer:?}");
}

/// Draining takes nobody new, waits for who is there and empties the machine; a removal is refused while somebody is on it,
/// with the way out, and ends the credential of a machine that had joined.
#[test]
fn a_machine_is_drained_undrained_and_removed_by_an_operator() {
    let (home, far) = (Home::new(), Home::new());
    let host = beyond();
    let up = listening(&home, &host);
    let agent = Agent::start(&far, &door(&up), Some(&token(&up, &[])));
    let number = connected(&up)["id"].clone();
    let machine = number.to_string();
    let (caller, fleet) = (up.caller(), fleet_of(&up));
    let ids = [new_id(), new_id(), new_id()];
    for id in &ids[..2] {
        caller.allocate(&fleet, id);
        caller.fulfilled(&fleet, id);
    }
    let shown = || up.json(&["machine", "get", &machine]);
    let there = ids.iter().find(|id| caller.allocation(&fleet, id).json()["machineId"] == number).unwrap();
    let server = up.json(&["allocation", "get", there])["serverId"].to_string();
    let pid = up.pid_when(&server, "ALLOCATED");

    let drained = up.json(&["machine", "drain", &machine]);
    assert_eq!(drained["deferred"], true, "{drained}");
    let seen = shown();
    assert_eq!((&seen["life"], &seen["duty"]), (&"draining".into(), &"drained".into()), "{seen}");
    assert_eq!(seen["state"], "SHUTTING_DOWN", "{seen}");
    assert!(lives(pid), "the session goes on");
    let refused = up.run(&["machine", "remove", &machine]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("MS-S009") && said.contains("machine drain"),
        "{said}"
    );

    up.run(&["allocation", "delete", there]);
    until("the drained machine is emptied", || (shown()["life"] == "emptied").then_some(()));
    assert!(!lives(pid));
    caller.allocate(&fleet, &ids[2]);
    assert_eq!(
        up.json(&["allocation", "get", &ids[2]])["state"],
        "waiting",
        "nobody wakes it but an operator"
    );
    up.json(&["machine", "undrain", &machine]);
    assert_eq!(caller.fulfilled(&fleet, &ids[2])["machineId"], number);

    up.run(&["allocation", "delete", &ids[2]]);
    up.json(&["machine", "remove", &machine]);
    agent.says("MS-A027");
    until("the machine is no more", || {
        let gone = up.run(&["machine", "get", &machine]);
        (!gone.status.success()).then_some(())
    });
    // The control plane's own computer would be back at once.
    let own = up.json(&["machine", "list"])[0]["id"].to_string();
    for id in &ids {
        up.run(&["allocation", "delete", id]);
    }
    let refused = up.run(&["machine", "remove", &own]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("MS-S010"), "{said}");
}
