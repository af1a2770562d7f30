//! A laptop that asks an instance on another host: by its URL, over TLS, with an account of its own, and without a data
//! directory. And whatever can be wrong with that, told without a word of its secrets.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::far::{beyond, listening, mode, token};
use crate::product::{Home, Product, lines_of};
use crate::secure_lobby::strangers;

/// Somebody's folder on another host.
struct Laptop(Home);

impl Laptop {
    fn new() -> Self {
        Self(Home::new())
    }

    fn folder(&self) -> PathBuf {
        self.0.path().parent().unwrap().to_owned()
    }

    /// A file that somebody brought there.
    fn brought(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let file = self.folder().join(name);
        std::fs::write(&file, bytes).unwrap();
        file.to_str().unwrap().to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
        for variable in ["DATA_DIR", "API_URL", "CONTEXT", "TOKEN_FILE", "CA"] {
            command.env_remove(format!("MAINSTAY_{variable}"));
        }
        command
            .args(arguments)
            .current_dir(self.folder())
            .env("XDG_CONFIG_HOME", self.folder())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        parsed(&self.run(&[arguments, &["-o", "json"]].concat()))
    }
}

#[track_caller]
fn parsed(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Where other hosts reach the API.
fn api(up: &Product<'_>) -> String {
    let ports = up.file("ports.json");
    let all = ports["listening"]["api"].as_array().unwrap();
    all.iter().filter_map(Value::as_str).find(|url| url.starts_with("https://")).unwrap().to_owned()
}

fn authority(home: &Home) -> Vec<u8> {
    std::fs::read(home.path().join("tls/ca.pem")).unwrap()
}

/// What `account create -o json` prints.
fn account(up: &Product<'_>, role: &str) -> String {
    up.json(&["account", "create", "--role", role]).to_string()
}

#[test]
fn another_host_asks_over_tls_with_an_account_of_its_own() {
    let (home, laptop) = (Home::new(), Laptop::new());
    let up = listening(&home, &beyond());
    let (url, ca) = (api(&up), laptop.brought("ca.pem", authority(&home)));
    let [viewer, operator] = ["viewer", "operator"].map(|role| laptop.brought(role, account(&up, role)));
    let there = |who, what: &[&str]| {
        laptop.json(&[what, &["--api-url", &url, "--token-file", who, "--ca", &ca]].concat())
    };
    // The same that its own host sees.
    assert_eq!(there(&viewer, &["fleet", "list"]), up.json(&["fleet", "list"]));
    assert_eq!(there(&viewer, &["status"])["fleets"][0]["name"], "here");
    let queue = laptop
        .brought("duel.json", json!({ "Name": "duel", "MinMatchSize": 2, "MaxMatchSize": 2 }).to_string());
    there(&operator, &["queue", "set", &queue]);
    assert_eq!(up.json(&["queue", "list"])[0]["name"], "duel");
    assert_eq!(there(&viewer, &["show", "duel"])["kind"], "queue");
    let ticket = there(&operator, &["ticket", "create", "--player", "ann"]);
    assert_eq!(there(&viewer, &["why", ticket["id"].as_str().unwrap()])["others"], 0);
    // Words for people say where that is, as it is known there.
    let flags = ["status", "--api-url", &url, "--token-file", &viewer, "--ca", &ca];
    let status = String::from_utf8(laptop.run(&flags).stdout).unwrap();
    assert!(status.contains(&format!("API         {url}/v1\n")) && !status.contains("Data"), "{status}");
    // Whom the API does not let do it, it does not let do it from elsewhere.
    let refused =
        laptop.run(&["queue", "delete", "duel", "--api-url", &url, "--token-file", &viewer, "--ca", &ca]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(4) && said.contains("MS-A003"), "{said}");
    // The instance's own credentials open as well, and its laws are run; nothing is said of this host.
    let own = laptop.brought("credentials", up.file("credentials.json").to_string());
    let doctor = there(&own, &["doctor"]);
    let checks: Vec<&str> =
        doctor["checks"].as_array().unwrap().iter().filter_map(|it| it["check"].as_str()).collect();
    assert!(checks.contains(&"instance") && !checks.contains(&"secrets"), "{checks:?}");
}

/// "Precedence flag > env `MAINSTAY_*`".
#[test]
fn what_is_said_on_the_command_line_goes_before_the_environment() {
    let (home, laptop) = (Home::new(), Laptop::new());
    let up = listening(&home, &beyond());
    let (url, ca) = (api(&up), laptop.brought("ca.pem", authority(&home)));
    let viewer = laptop.brought("viewer", account(&up, "viewer"));
    let with = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = laptop.command(&[arguments, &["-o", "json"]].concat());
        command.envs(variables.iter().copied()).output().unwrap()
    };
    let all = [("MAINSTAY_API_URL", url.as_str()), ("MAINSTAY_TOKEN_FILE", &viewer), ("MAINSTAY_CA", &ca)];
    assert_eq!(parsed(&with(&["fleet", "list"], &all))[0]["name"], "here");
    // Whom this system trusts, where nobody says otherwise.
    let system = [all[0], all[1], ("SSL_CERT_FILE", ca.as_str())];
    assert_eq!(parsed(&with(&["fleet", "list"], &system))[0]["name"], "here");
    let elsewhere = with(&["fleet", "list", "--api-url", "https://127.0.0.1:1"], &all);
    assert!(String::from_utf8_lossy(&elsewhere.stderr).contains("https://127.0.0.1:1"), "{elsewhere:?}");
    // This host's own, though the environment names another.
    let here = home.path();
    let nowhere = [("MAINSTAY_API_URL", "https://127.0.0.1:1")];
    let own = with(&["fleet", "list", "--data-dir", here.to_str().unwrap()], &nowhere);
    assert_eq!(parsed(&own)[0]["name"], "here");
    for (arguments, variables) in [
        (&["fleet", "list", "--api-url", url.as_str(), "--data-dir", "x"][..], &all[..]),
        (&["fleet", "list"], &[all[0], ("MAINSTAY_DATA_DIR", "x")]),
        (&["fleet", "list", "--token-file", &viewer], &[]),
    ] {
        let refused = with(arguments, variables);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && said.contains("MS-U052"), "{arguments:?}: {said}");
    }
    let check = with(&["check", "x.yaml", "--api-url", &url], &[]);
    assert!(String::from_utf8_lossy(&check.stderr).contains("MS-U050"), "{check:?}");
}

/// "Precedence flag > env `MAINSTAY_*` > context file".
#[test]
fn instances_have_names_and_one_of_them_is_asked_where_nobody_says_which() {
    let (home, laptop) = (Home::new(), Laptop::new());
    let up = listening(&home, &beyond());
    let (url, here) = (api(&up), home.path());
    laptop.brought("ca.pem", authority(&home));
    laptop.brought("viewer", account(&up, "viewer"));
    let refused = |arguments: &[&str], exit, code: &str| {
        let ended = laptop.run(arguments);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(
            ended.status.code() == Some(exit) && said.contains(&format!("error {code}:")),
            "{arguments:?}: {said}"
        );
    };
    refused(&["fleet", "list", "--context", "far"], 3, "MS-U060");
    refused(&["context", "create", "far"], 2, "MS-U052");
    refused(&["context", "create", "far", "--api-url", &url, "--token-file", "ca.pem"], 2, "MS-U055");
    let flags = ["--api-url", &url, "--token-file", "viewer", "--ca", "ca.pem"];
    let made = laptop.json(&[&["context", "create", "far"][..], &flags[..]].concat());
    assert_eq!((&made["instance"], &made["current"]), (&json!(url), &json!(false)));
    laptop.json(&["context", "create", "near", "--data-dir", here.to_str().unwrap()]);
    assert_eq!(laptop.json(&["fleet", "list", "--context", "far"])[0]["name"], "here");
    assert_eq!(laptop.json(&["fleet", "list", "--context", "near"])[0]["name"], "here");
    // From whichever folder: the files are found again.
    laptop.json(&["context", "use", "far"]);
    let anywhere = laptop.command(&["fleet", "list", "-o", "json"]).current_dir("/").output().unwrap();
    assert_eq!(parsed(&anywhere)[0]["name"], "here");
    let names = laptop.json(&["context", "list", "--fields", "name,current"]);
    assert_eq!(names, json!([{ "name": "far", "current": true }, { "name": "near", "current": false }]));
    // Another goes before it, and takes no token of it along.
    refused(&["fleet", "list", "--data-dir", "nothing"], 7, "MS-U001");
    refused(&["fleet", "list", "--api-url", "https://127.0.0.1:1"], 4, "MS-U055");
    let variable = laptop.command(&["fleet", "list"]).env("MAINSTAY_CONTEXT", "nobody").output().unwrap();
    assert!(String::from_utf8_lossy(&variable.stderr).contains("MS-U060"), "{variable:?}");
    let file = laptop.folder().join("mainstay/contexts.toml");
    assert_eq!(mode(&file), 0o600);
    let written = std::fs::read_to_string(&file).unwrap();
    let secret =
        serde_json::from_slice::<Value>(&std::fs::read(laptop.folder().join("viewer")).unwrap()).unwrap();
    assert!(!written.contains(secret["secretKey"].as_str().unwrap()), "{written}");
    laptop.run(&["context", "delete", "far"]);
    refused(&["fleet", "list"], 7, "MS-U001");
    std::fs::write(&file, "current = [").unwrap();
    refused(&["fleet", "list"], 1, "MS-U059");
}

/// Answers every call with these bytes, and tells what was asked.
fn answering(answer: &'static str) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (asked, hears) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = lines_of(stream.try_clone().unwrap());
            let request: Vec<String> = lines.iter().take_while(|line| !line.is_empty()).collect();
            stream.write_all(answer.as_bytes()).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            if asked.send(request.join("\n")).is_err() {
                return;
            }
        }
    });
    (url, hears)
}

#[test]
fn whatever_is_wrong_with_asking_another_host_is_told_with_its_code_and_without_its_secrets() {
    let (home, laptop) = (Home::new(), Laptop::new());
    let host = beyond();
    let up = listening(&home, &host);
    let (url, ca) = (api(&up), laptop.brought("ca.pem", authority(&home)));
    let [stranger, none] = strangers(&laptop.0);
    let admin = up.file("credentials.json");
    let secret = admin["secretKey"].as_str().unwrap().to_owned();
    let token_file = laptop.brought("token", admin.to_string());
    let wrong = laptop.brought("wrong", format!("{}:{secret}x", admin["keyId"].as_str().unwrap()));
    let join = laptop.brought("join", token(&up, &[]));
    let half = laptop.brought("half", json!({ "secretKey": secret }).to_string());
    let plain = url.replace("https://", "http://");
    let over_loopback = up.file("ports.json")["api"].as_str().unwrap().replace("http://", "https://");
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("https://{}", listener.local_addr().unwrap())
    };
    let (page, _asked) =
        answering("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<p>Welcome</p>");
    let (lure, lured) = answering("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"items\":[]}");
    // A lure must be known while its address is written into the answer of another.
    let moved: &'static str = Box::leak(
        format!("HTTP/1.1 307 Moved\r\nlocation: {lure}/v1/fleets\r\nconnection: close\r\n\r\n")
            .into_boxed_str(),
    );
    let (elsewhere, _asked) = answering(moved);
    let (token_file, ca) = (token_file.as_str(), ca.as_str());
    let with = |url, token, ca| vec!["--api-url", url, "--token-file", token, "--ca", ca];
    let rows: [(&str, Vec<&str>, i32, &str); 13] = [
        ("not trusted", vec!["--api-url", &url, "--token-file", token_file], 7, "MS-U056"),
        ("another authority", with(&url, token_file, &stranger), 7, "MS-U056"),
        ("no authority", with(&url, token_file, &none), 2, "MS-U057"),
        ("closed", with(&closed, token_file, ca), 7, "MS-U002"),
        ("in the clear", with(&plain, token_file, ca), 2, "MS-U054"),
        (
            "in the clear, and it was said",
            [with(&plain, token_file, ca), vec!["--plain-http", "anywhere"]].concat(),
            2,
            "MS-A006",
        ),
        ("another secret", with(&url, &wrong, ca), 4, "MS-A002"),
        ("a join token", with(&url, &join, ca), 2, "MS-U055"),
        ("half an account", with(&url, &half, ca), 2, "MS-U055"),
        ("nobody", vec!["--api-url", &url, "--ca", ca], 4, "MS-U055"),
        ("no address", with("games.example", token_file, ca), 2, "MS-U053"),
        ("a page", with(&page, token_file, ca), 1, "MS-U058"),
        ("sent away", with(&elsewhere, token_file, ca), 1, "MS-U058"),
    ];
    for (what, flags, exit, code) in rows {
        let ended = laptop
            .command(&[&["fleet", "list"], &flags[..]].concat())
            .env("MAINSTAY_LOG", "trace")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(
            ended.status.code() == Some(exit) && said.contains(&format!("error {code}:")),
            "{what}: {said}"
        );
        assert!(said.contains("fix:"), "{what}: {said}");
        let basic = base64_of(&admin);
        for hidden in [&secret, &basic] {
            assert!(!said.contains(hidden.as_str()), "{what} tells a secret: {said}");
        }
        assert!(ended.stdout.is_empty(), "{what}: {ended:?}");
    }
    assert!(lured.try_recv().is_err(), "who sends callers away is followed");
    // On its own host it may be asked over TLS, or in the clear, by whichever URL.
    let here =
        laptop.json(&["fleet", "list", "--api-url", &over_loopback, "--token-file", token_file, "--ca", ca]);
    assert_eq!(here[0]["name"], "here");
    let clear = over_loopback.replace("https://", "http://");
    assert_eq!(
        laptop.json(&["fleet", "list", "--api-url", &clear, "--token-file", token_file])[0]["name"],
        "here"
    );
}

fn base64_of(credentials: &Value) -> String {
    use base64::Engine as _;
    let text = |field: &str| credentials[field].as_str().unwrap().to_owned();
    base64::engine::general_purpose::STANDARD.encode(format!("{}:{}", text("keyId"), text("secretKey")))
}
