//! A game in an OCI image, run by runc(8) in a group of version 2.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::product::{Product, TOKEN, fleet, until};
use crate::{run as run_program, slots, wire};

/// The word that makes this program the game in the image.
pub const GAME: &str = "game";
const FLEET: &str = "contained";
const IMAGE: &str = "/var/lib/image";
/// What this program needs beside itself.
const LIBRARIES: [&str; 4] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/x86_64-linux-gnu/libm.so.6",
    "/lib/x86_64-linux-gnu/libgcc_s.so.1",
];
const SESSION: &str = "00000000-0000-4000-8000-000000000009";
const EXIT: i32 = 42;

pub fn builds() -> String {
    format!("  image: {{ executableName: game, image: \"oci:{IMAGE}:v1\" }}\n")
}

pub fn configurations() -> String {
    format!(
        "  {FLEET}:\n    build: image\n    queryType: sqp\n    binaryPath: bin/game\n    \
         commandLine: {GAME} --port $$port$$ --query-port $$query_port$$ --control-token {TOKEN}\n    \
         stop: {{ killTimeout: 5s }}\n    restart: {{ attempts: 9 }}\n{}",
        slots::CAPS
    )
}

pub fn fleets() -> String {
    fleet(FLEET, 1, "")
}

/// An image of this program, which is a game too, in a folder of the OCI layout.
pub fn make() {
    let root = Path::new("/var/lib/rootfs");
    let this = std::env::current_exe().expect("this program");
    let files = LIBRARIES.iter().map(|path| (Path::new(path), path.trim_start_matches('/')));
    for (from, to) in files.chain([(this.as_path(), "bin/game")]) {
        let to = root.join(to);
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        std::fs::copy(from, &to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o755)).expect("its own file");
    }
    let blobs = Path::new(IMAGE).join("blobs/sha256");
    std::fs::create_dir_all(&blobs).expect("a folder");
    let layer = blobs.join("layer");
    run_program(Command::new("tar").arg("-cf").arg(&layer).arg("-C").arg(root).arg("."));
    let layer = std::fs::read(&layer).expect("the layer");
    let keep = |bytes: &[u8], kind: &str| {
        let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        std::fs::write(blobs.join(&hash), bytes).expect("room");
        let media = format!("application/vnd.oci.image.{kind}");
        json!({ "mediaType": media, "digest": format!("sha256:{hash}"), "size": bytes.len() })
    };
    let layer = keep(&layer, "layer.v1.tar");
    std::fs::remove_file(blobs.join("layer")).expect("its own file");
    let config = json!({
        "architecture": "amd64", "os": "linux",
        "config": { "Env": ["FROM_IMAGE=yes"] },
        "rootfs": { "type": "layers", "diff_ids": [layer["digest"]] },
    });
    let config = keep(config.to_string().as_bytes(), "config.v1+json");
    let manifest = json!({ "schemaVersion": 2, "config": config, "layers": [layer] });
    let mut manifest = keep(manifest.to_string().as_bytes(), "manifest.v1+json");
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": "v1" });
    for (name, text) in [
        ("index.json", json!({ "schemaVersion": 2, "manifests": [manifest] })),
        ("oci-layout", json!({ "imageLayoutVersion": "1.0.0" })),
    ] {
        std::fs::write(Path::new(IMAGE).join(name), text.to_string()).expect("room");
    }
}

pub fn run(product: &Product) {
    product.allocate(FLEET, SESSION);
    let server = product.server_of(FLEET).id;
    let plays = |not: u32| {
        until("the contained game plays", || {
            let seen = product.server(server);
            let is_ours = seen["status"] == "ALLOCATED" && seen["allocationId"] == SESSION;
            let pid = seen["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
            pid.filter(|pid| is_ours && *pid != not)
        })
    };
    let ended = |before: u32, is: &dyn Fn(&Value) -> bool| {
        let incident = until("the game has ended as it was to", || {
            let incident = product.server(server)["lastIncident"].clone();
            is(&incident).then_some(incident)
        });
        (incident, plays(before))
    };
    let pid = plays(0);
    slots::capped(server, pid);
    let environment = std::fs::read(format!("/proc/{pid}/environ")).expect("it lives");
    assert!(environment.split(|byte| *byte == 0).any(|word| word == b"FROM_IMAGE=yes"), "it is of the image");

    product.command(server, &format!("exit={EXIT}"));
    let (incident, pid) = ended(pid, &|incident| incident["exitCode"] == EXIT);
    assert_ne!(incident["outOfMemory"], true, "{incident}");
    slots::capped(server, pid);
    product.command(server, "eat-memory=400M");
    let (incident, _) = ended(pid, &|incident| incident["outOfMemory"] == true);
    assert_eq!(incident["signal"], 9, "{incident}");
    wire::holds(
        "a game in an image is capped as any other, and its exit code and the kernel's kill are told",
    );
}
