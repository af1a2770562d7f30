//! A core of a misbehaving game, written by the kernel where its setting says, and read through the admin API.

use serde_json::{Value, json};

use crate::product::{Product, configuration, fleet, main_pid, until};
use crate::wire;

const FLEET: &str = "loud";
/// Checks at their fastest, and the first failure counts.
const KEYS: &str = "    checks: { every: 1s, failures: 1, within: 1m, cpuTolerance: 1000% }\n    \
                    query: { timeout: 3s }\n    limits: { cpu: 0.25, memoryMiB: 64 }\n";
/// What `docs/reference/config.md` advises: a folder that every slot's user may write, on the machine's own disk.
const FOLDER: &str = "/var/tmp";
const PATTERN: &str = "/var/tmp/core.%p";
const SIGSEGV: i32 = 11;
/// How an ELF file begins, and where its type stands; 4 is a core's.
const ELF: &[u8] = b"\x7fELF";
const TYPE: std::ops::Range<usize> = 16..18;
const CORE: [u8; 2] = [4, 0];

pub fn configurations() -> String {
    configuration(FLEET, KEYS)
}

pub fn fleets() -> String {
    fleet(FLEET, 1, "    startOnProvision: true\n")
}

/// As an operator would with sysctl(8), before the first game.
pub fn allow() {
    std::fs::create_dir_all(FOLDER).expect("a folder");
    crate::run(std::process::Command::new("chmod").args(["1777", FOLDER]));
    std::fs::write("/proc/sys/kernel/core_pattern", PATTERN).expect("the kernel obeys");
}

pub fn run(product: &Product) {
    let server = product.server_of(FLEET).id;
    until("the game runs", || product.server(server)["pid"].as_u64());
    product.command(server, "hang");
    let incident = until("its end by SIGSEGV", || {
        let incident = product.server(server)["lastIncident"].clone();
        (incident["signal"] == SIGSEGV).then_some(incident)
    });
    assert_eq!(
        (&incident["kind"], &incident["check"]),
        (&"misbehaviour".into(), &"query".into()),
        "{incident}"
    );
    let path = incident["core"].as_str().expect("a core was kept").to_owned();
    let size = std::fs::metadata(&path).expect("it is there").len();

    let asked = json!({ "serverIds": [server], "pathFilter": "core" });
    let listed: Value =
        serde_json::from_str(&product.post(&product.admin("files", "/files"), &asked)).expect("JSON");
    let [core] = listed.as_array().expect("a list").as_slice() else { panic!("one core: {listed}") };
    assert_eq!((&core["filename"], &core["fileSize"]), (&"core".into(), &size.into()), "{core}");
    let wanted = json!({ "path": core["path"], "serverId": server });
    let link: Value =
        serde_json::from_str(&product.post(&product.admin("files", "/files/download"), &wanted))
            .expect("JSON");
    let bytes = product.download(link["url"].as_str().expect("a link"));
    assert!(bytes.starts_with(ELF) && bytes.get(TYPE) == Some(&CORE), "no core: {:?}", bytes.get(..32));
    assert!(bytes == std::fs::read(&path).expect("it is there"), "other bytes came than are kept");
    // As the unit sees it: it has a folder of its own there.
    let seen = format!("/proc/{}/root{FOLDER}", main_pid("mainstay"));
    let left: Vec<_> = std::fs::read_dir(seen).expect("a folder").collect();
    assert!(left.is_empty(), "moved to the evidence, and not copied: {left:?}");
    wire::holds("a misbehaving game's core is kept, listed and downloaded");
}
