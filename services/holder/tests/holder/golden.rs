//! The bytes of the protocol and of the records, as every later version must go on reading and writing them.

use std::collections::BTreeMap;

use mainstay_holder::protocol::{
    FailureCode, LineTooLong, Lines, Reply, Request, StartReport, Status, Stream, Target, agree,
    decode_reply, decode_request, encode,
};
use mainstay_holder::record::{
    ExitRecord, HolderRecord, Outcome, OutputKept, ProcessMark, SpawnFailure, SpawnStage,
};
use mainstay_holder::spec::{
    ControlGroup, Identity, Isolation, LaunchSpec, LimitedResource, Output, Processes, ResourceLimit,
};
use proptest::{prop_assert, prop_assert_eq, proptest};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn same<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T, line: &str) {
    assert_eq!(String::from_utf8(encode(value).unwrap()).unwrap(), format!("{line}\n"));
    assert_eq!(&serde_json::from_str::<T>(line).unwrap(), value);
}

fn status() -> Status {
    Status {
        generation: 7,
        run: 3,
        holder: ProcessMark { pid: 100, start_ticks: 5000 },
        game: ProcessMark { pid: 101, start_ticks: 5001 },
        boot_id: "b0".to_owned(),
        started_at_ms: 1_000,
    }
}

const STATUS: &str = r#"{"generation":7,"run":3,"holder":{"pid":100,"start_ticks":5000},"game":{"pid":101,"start_ticks":5001},"boot_id":"b0","started_at_ms":1000}"#;

fn exit(outcome: Outcome) -> ExitRecord {
    ExitRecord {
        version: 1,
        generation: 7,
        run: 3,
        boot_id: "b0".to_owned(),
        outcome,
        game_pid: Some(101),
        oom_kills: 1,
        started_at_ms: 1_000,
        ended_at_ms: 2_000,
        leftovers_killed: 2,
        leftovers_alive: 0,
        output_kept: Some(OutputKept { stdout: 12, stderr: 0 }),
        output_bytes_lost: 0,
        last_signal_asked: Some(15),
    }
}

fn exit_json(outcome: &str) -> String {
    format!(
        r#"{{"version":1,"generation":7,"run":3,"boot_id":"b0","outcome":{outcome},"game_pid":101,"oom_kills":1,"started_at_ms":1000,"ended_at_ms":2000,"leftovers_killed":2,"leftovers_alive":0,"output_kept":{{"stdout":12,"stderr":0}},"output_bytes_lost":0,"last_signal_asked":15}}"#
    )
}

#[test]
fn requests_of_version_1() {
    same(&Request::Hello { versions: vec![1, 2] }, r#"{"type":"hello","versions":[1,2]}"#);
    same(&Request::Status { id: 1 }, r#"{"type":"status","id":1}"#);
    same(
        &Request::Signal { id: 2, number: 15, to: Target::Game },
        r#"{"type":"signal","id":2,"number":15,"to":"game"}"#,
    );
    same(
        &Request::Signal { id: 3, number: 9, to: Target::Tree },
        r#"{"type":"signal","id":3,"number":9,"to":"tree"}"#,
    );
    same(&Request::Input { id: 4, line: "quit\"".to_owned() }, r#"{"type":"input","id":4,"line":"quit\""}"#);
    same(
        &Request::Tail { id: 5, stream: Stream::Stderr, bytes: 4096 },
        r#"{"type":"tail","id":5,"stream":"stderr","bytes":4096}"#,
    );
}

#[test]
fn replies_of_version_1() {
    same(
        &Reply::Welcome { version: 1, status: status() },
        &format!(r#"{{"type":"welcome","version":1,"status":{STATUS}}}"#),
    );
    same(&Reply::Refused { versions: vec![1] }, r#"{"type":"refused","versions":[1]}"#);
    same(
        &Reply::Status { id: 1, status: status() },
        &format!(r#"{{"type":"status","id":1,"status":{STATUS}}}"#),
    );
    same(&Reply::Done { id: 2 }, r#"{"type":"done","id":2}"#);
    for (code, text) in [
        (FailureCode::UnknownRequest, "unknown_request"),
        (FailureCode::HelloFirst, "hello_first"),
        (FailureCode::UnknownSignal, "unknown_signal"),
        (FailureCode::InputClosed, "input_closed"),
        (FailureCode::System, "system"),
    ] {
        let failed = Reply::Failed { id: Some(3), code, why: "because".to_owned() };
        same(&failed, &format!(r#"{{"type":"failed","id":3,"code":"{text}","why":"because"}}"#));
    }
    same(&Reply::Tail { id: 4, text: "a\nb".to_owned() }, r#"{"type":"tail","id":4,"text":"a\nb"}"#);
    same(
        &Reply::Exit { record: exit(Outcome::Exited { code: 0 }) },
        &format!(r#"{{"type":"exit","record":{}}}"#, exit_json(r#"{"type":"exited","code":0}"#)),
    );
}

#[test]
fn start_reports() {
    same(&StartReport::Started { status: status() }, &format!(r#"{{"type":"started","status":{STATUS}}}"#));
    same(&StartReport::SlotTaken, r#"{"type":"slot_taken"}"#);
    let failed = |errno| StartReport::HolderFailed { why: "no".to_owned(), errno };
    same(&failed(None), r#"{"type":"holder_failed","why":"no"}"#);
    same(&failed(Some(28)), r#"{"type":"holder_failed","why":"no","errno":28}"#);
    let record = exit(Outcome::Exited { code: 0 });
    let json = exit_json(r#"{"type":"exited","code":0}"#);
    same(&StartReport::SpawnFailed { record }, &format!(r#"{{"type":"spawn_failed","record":{json}}}"#));
}

#[test]
fn records_of_version_1() {
    same(&exit(Outcome::Exited { code: 42 }), &exit_json(r#"{"type":"exited","code":42}"#));
    same(
        &exit(Outcome::Killed { signal: 11, core_dumped: true }),
        &exit_json(r#"{"type":"killed","signal":11,"core_dumped":true}"#),
    );
    for (stage, text) in [
        (SpawnStage::Prepare, "prepare"),
        (SpawnStage::ControlGroup, "control_group"),
        (SpawnStage::Isolation, "isolation"),
        (SpawnStage::Limits, "limits"),
        (SpawnStage::Identity, "identity"),
        (SpawnStage::Restrict, "restrict"),
        (SpawnStage::WorkingDir, "working_dir"),
        (SpawnStage::Execute, "execute"),
    ] {
        let failure = SpawnFailure { stage, errno: 2, why: "/game: missing".to_owned() };
        let json = format!(r#"{{"type":"spawn_failure","stage":"{text}","errno":2,"why":"/game: missing"}}"#);
        same(&exit(Outcome::SpawnFailure(failure)), &exit_json(&json));
    }
    let record = HolderRecord {
        version: 1,
        generation: 7,
        run: 3,
        boot_id: "b0".to_owned(),
        holder: ProcessMark { pid: 100, start_ticks: 5000 },
        game: None,
        own_uid: Some(700_001),
        started_at_ms: 1_000,
    };
    same(
        &record,
        r#"{"version":1,"generation":7,"run":3,"boot_id":"b0","holder":{"pid":100,"start_ticks":5000},"game":null,"own_uid":700001,"started_at_ms":1000}"#,
    );
}

#[test]
fn launch_of_version_1() {
    let spec = LaunchSpec {
        version: 1,
        generation: 7,
        run: 3,
        executable: "/g/game".into(),
        arguments: vec!["-port".to_owned(), "9000".to_owned()],
        environment: BTreeMap::from([("HOME".to_owned(), "/h".to_owned())]),
        working_dir: "/g".into(),
        identity: Identity::Dropped { uid: 700_001, gid: 700_001 },
        limits: vec![ResourceLimit { resource: LimitedResource::OpenFiles, soft: 4096, hard: 4096 }],
        control_group: Some(ControlGroup {
            join: vec!["/c/cgroup.procs".into()],
            oom_counter: Some("/c/memory.events".into()),
        }),
        isolation: Some(Isolation {
            hide: vec!["/d".into()],
            keep: vec!["/d/s".into()],
            read_only: Vec::new(),
            processes: Processes::Own,
        }),
        container: None,
        output: Output { dir: "/o".into(), bytes_max: 10, files_max: 2 },
    };
    same(
        &spec,
        r#"{"version":1,"generation":7,"run":3,"executable":"/g/game","arguments":["-port","9000"],"environment":{"HOME":"/h"},"working_dir":"/g","identity":{"type":"dropped","uid":700001,"gid":700001},"limits":[{"resource":"open_files","soft":4096,"hard":4096}],"control_group":{"join":["/c/cgroup.procs"],"oom_counter":"/c/memory.events"},"isolation":{"hide":["/d"],"keep":["/d/s"],"processes":"own"},"output":{"dir":"/o","bytes_max":10,"files_max":2}}"#,
    );
    let locked = Isolation {
        hide: Vec::new(),
        keep: Vec::new(),
        read_only: vec!["/b".into()],
        processes: Processes::All,
    };
    same(&locked, r#"{"hide":[],"keep":[],"read_only":["/b"],"processes":"all"}"#);
    same(&Identity::Inherited, r#"{"type":"inherited"}"#);
    for (resource, text) in [
        (LimitedResource::CoreBytes, "core_bytes"),
        (LimitedResource::Processes, "processes"),
        (LimitedResource::LockedBytes, "locked_bytes"),
    ] {
        same(&resource, &format!("\"{text}\""));
    }
}

#[test]
fn fields_of_a_later_version_are_ignored_and_its_codes_are_other() {
    let reply = decode_reply(br#"{"type":"done","id":2,"took_ms":5}"#).unwrap();
    assert_eq!(reply, Reply::Done { id: 2 });
    let reply = decode_reply(br#"{"type":"failed","id":null,"code":"frozen","why":"x"}"#).unwrap();
    assert_eq!(reply, Reply::Failed { id: None, code: FailureCode::Other, why: "x".to_owned() });
    assert_eq!(decode_request(br#"{"type":"status","id":1,"all":true}"#).unwrap(), Request::Status { id: 1 });
}

#[test]
fn the_highest_common_version_is_agreed_on() {
    for (theirs, ours, expected) in [
        (&[1][..], &[1][..], Some(1)),
        (&[1, 2, 3], &[1, 2], Some(2)),
        (&[3, 1], &[1, 2, 3], Some(3)),
        (&[2], &[1], None),
        (&[], &[1], None),
    ] {
        assert_eq!(agree(theirs, ours), expected, "{theirs:?} {ours:?}");
    }
}

#[test]
fn lines_come_out_whole_however_the_bytes_arrive() {
    let sent = b"one\n\ntwo\nrest";
    for size in 1..=sent.len() {
        let mut lines = Lines::new(16);
        let mut found = Vec::new();
        for piece in sent.chunks(size) {
            lines.push(piece).unwrap();
            while let Some(line) = lines.next_line() {
                found.push(String::from_utf8(line).unwrap());
            }
        }
        assert_eq!(found, ["one", "", "two"], "pieces of {size}");
    }
    let mut lines = Lines::new(4);
    lines.push(b"1234").unwrap();
    assert_eq!(lines.push(b"5"), Err(LineTooLong { line_bytes_max: 4 }));
}

proptest! {
    #[test]
    fn no_bytes_from_outside_make_a_reader_panic(bytes: Vec<u8>, cut in 1usize..64) {
        drop(decode_request(&bytes));
        drop(decode_reply(&bytes));
        drop(serde_json::from_slice::<LaunchSpec>(&bytes));
        let mut lines = Lines::new(32);
        for piece in bytes.chunks(cut) {
            if lines.push(piece).is_err() {
                break;
            }
            while let Some(line) = lines.next_line() {
                prop_assert!(!line.contains(&b'\n'));
            }
        }
    }

    #[test]
    fn any_line_of_input_and_any_output_come_through_whole(id: u64, text: String) {
        let request = Request::Input { id, line: text.clone() };
        let line = encode(&request).unwrap();
        prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        prop_assert_eq!(decode_request(&line).unwrap(), request);
        let reply = Reply::Tail { id, text };
        prop_assert_eq!(decode_reply(&encode(&reply).unwrap()).unwrap(), reply);
    }
}
