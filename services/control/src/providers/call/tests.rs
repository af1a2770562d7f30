//! Real programs, as a studio might write them, good and bad.

use super::*;

fn shell(script: &str, call_timeout: Duration) -> Program {
    Program {
        name: "test".to_owned(),
        command: "/bin/sh".into(),
        arguments: ["-c", script, "provider"].map(Into::into).to_vec(),
        env: vec![("GREETING".to_owned(), "hello".to_owned())],
        call_timeout,
        list_every: Duration::from_secs(60),
        join_url: None,
    }
}

async fn say(script: &str) -> Result<Vec<u8>, CallError> {
    let program = shell(script, Duration::from_secs(30));
    let facts = vec![("machine", Value::from("mch-1-7")), ("joinUrl", Value::from("https://p:7421"))];
    Call { verb: "create", facts, program: &program }.run().await
}

#[tokio::test]
async fn facts_come_by_environment_and_by_standard_input() {
    let answer = say("echo \"$1 $MAINSTAY_VERB $MAINSTAY_MACHINE $MAINSTAY_JOIN_URL $GREETING\"; cat").await;
    let answer = String::from_utf8(answer.unwrap()).unwrap();
    let (words, json) = answer.split_once('\n').unwrap();
    assert_eq!(words, "create create mch-1-7 https://p:7421 hello");
    let told: Value = serde_json::from_str(json).unwrap();
    assert_eq!(told, serde_json::json!({ "machine": "mch-1-7", "joinUrl": "https://p:7421" }));
}

#[tokio::test]
async fn nothing_else_of_the_environment_is_passed_on() {
    let answer = String::from_utf8(say("env").await.unwrap()).unwrap();
    let strangers = answer.lines().filter(|line| {
        let name = line.split('=').next().unwrap_or_default();
        // What the shell sets by itself.
        let own = ["PWD", "OLDPWD", "SHLVL", "_", "GREETING"];
        !name.starts_with("MAINSTAY_") && !INHERITED.contains(&name) && !own.contains(&name)
    });
    assert_eq!(strangers.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[tokio::test]
async fn a_failure_tells_its_last_words() {
    let error = say("echo out of quota >&2; exit 3").await.unwrap_err();
    assert!(
        matches!(&error, CallError::Failed { status, talk } if status.code() == Some(3) && talk == "out of quota")
    );
    assert!(error.to_string().contains("MS-S632"), "{error}");
    assert!(matches!(say("exit 1").await, Err(CallError::Failed { talk, .. }) if talk.contains("nothing")));
}

/// "no secret of the control plane's own leaks" (machine-providers.md): a script that traces itself says its environment.
#[tokio::test]
async fn a_failure_tells_no_token() {
    let token = "mainstay-join-1.aabb.00112233.BwcHBwcHBwcHBwcH";
    let program = shell(
        "echo \"+ curl -d '$MAINSTAY_JOIN_TOKEN' 500 ${MAINSTAY_JOIN_TOKEN##*.} ${MAINSTAY_JOIN_TOKEN%????}, over\" >&2; exit 1",
        Duration::from_secs(30),
    );
    let facts = vec![(JOIN_TOKEN, Value::from(token))];
    let error = Call { verb: "create", facts, program: &program }.run().await.unwrap_err();
    let CallError::Failed { talk, .. } = &error else { panic!("{error}") };
    assert_eq!(talk, "+ curl -d '[join token]' 500 [join token] [join token], over");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_said() {
    let program = Program { command: "/nowhere/machines".into(), ..shell("", Duration::from_secs(1)) };
    let error = Call { verb: "list", facts: vec![], program: &program }.run().await.unwrap_err();
    assert!(matches!(error, CallError::Start { .. }), "{error}");
}

#[tokio::test]
async fn one_that_hangs_is_killed_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
    let program = shell(&script, Duration::from_millis(500));
    let error = Call { verb: "create", facts: vec![], program: &program }.run().await.unwrap_err();
    assert!(matches!(error, CallError::Late(_)), "{error}");
    let pid = std::fs::read_to_string(file).unwrap();
    let gone = || {
        // One that has ended and waits for its new parent is gone as well.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z "))
    };
    for _ in 0..1_000 {
        if gone() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the child {pid} lives");
}

#[tokio::test]
async fn what_it_leaves_running_is_left_alone_and_not_waited_for() {
    let script = "sleep 1000 & echo $!";
    let answer = say(script).await.unwrap();
    let pid: i32 = String::from_utf8(answer).unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    assert!(rustix::process::test_kill_process(pid).is_ok());
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn an_endless_answer_is_refused() {
    let program = shell("head -c 3000000 /dev/zero", Duration::from_secs(30));
    let error = Call { verb: "list", facts: vec![], program: &program }.run().await.unwrap_err();
    assert!(matches!(error, CallError::TooLong), "{error}");
}
