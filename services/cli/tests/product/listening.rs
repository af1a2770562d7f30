//! What is heard beyond loopback: TLS alone, with a certificate of ours or a given one; and both versions of IP.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

use crate::far::{beyond, listening};
use crate::product::{Home, Product, until};

/// One request over an open connection; the whole answer as text.
fn exchange(mut wire: impl std::io::Read + std::io::Write, host: &str, path: &str, basic: &str) -> String {
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Basic {basic}\r\nconnection: close\r\n\r\n"
    );
    wire.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A peer may close without TLS's own farewell; what it said counts.
    let _ended = wire.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A TLS connection that trusts one file of certificates.
fn tls(address: SocketAddr, name: &str, trusted: &Path) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(trusted).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    StreamOwned::new(connection, TcpStream::connect(address).unwrap())
}

fn basic(up: &Product<'_>) -> String {
    let credentials = up.file("credentials.json");
    let text = |field: &str| credentials[field].as_str().unwrap().to_owned();
    base64::engine::general_purpose::STANDARD.encode(format!("{}:{}", text("keyId"), text("secretKey")))
}

fn address(url: &str) -> SocketAddr {
    url.split_once("://").unwrap().1.parse().unwrap()
}

fn urls(up: &Product<'_>, what: &str) -> Vec<String> {
    let ports = up.file("ports.json");
    let all = ports["listening"][what].as_array().unwrap();
    all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Issue 3, section 4: "everything listens dual-stack".
#[test]
fn everything_is_heard_on_both_versions_of_ip_and_named_in_ports_json() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        eprintln!("SKIPPED: this host has no IPv6");
        return;
    }
    for what in ["api", "agents", "multiplay"] {
        let heard = urls(&up, what);
        assert!(heard.iter().any(|url| url.starts_with("http://127.0.0.1:")), "{what}: {heard:?}");
        assert!(heard.iter().any(|url| url.starts_with("http://[::1]:")), "{what}: {heard:?}");
        for url in heard {
            TcpStream::connect(address(&url)).unwrap_or_else(|error| panic!("{what} {url}: {error}"));
        }
    }
    let v6 = urls(&up, "api").into_iter().find(|url| url.contains("[::1]")).unwrap();
    let answer = exchange(TcpStream::connect(address(&v6)).unwrap(), "[::1]", "/v1/status", &basic(&up));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// "The HTTP faces beyond loopback: TLS with a given certificate or the generated one"; "h2c stays for loopback only".
#[test]
fn beyond_loopback_the_api_speaks_tls_of_its_own_authority_and_nothing_else() {
    let home = Home::new();
    let host = beyond();
    let up = listening(&home, &host);
    let api = urls(&up, "api").into_iter().find(|url| url.starts_with("https://")).unwrap();
    let ca = home.path().join("tls/ca.pem");
    for name in [host.as_str(), "localhost"] {
        let answer = exchange(tls(address(&api), name, &ca), name, "/v1/status", &basic(&up));
        assert!(answer.starts_with("HTTP/1.1 200"), "{name}: {answer}");
    }
    // A link to a file leads back the way it was asked for.
    let credentials = up.file("credentials.json");
    let text = |field: &str| credentials[field].as_str().unwrap().to_owned();
    let (project, environment) = (text("projectId"), text("environmentId"));
    let place = format!("/multiplay/servers/v1/projects/{project}/environments/{environment}/servers");
    let server = up.json(&["server", "list"])[0]["id"].to_string();
    up.json(&["allocation", "create", "--fleet", "here"]);
    let path = format!("{place}/{server}/logs");
    let link = format!("https://{host}/v1/files/");
    until("what the server wrote is linked to", || {
        exchange(tls(address(&api), &host, &ca), &host, &path, &basic(&up)).contains(&link).then_some(())
    });
    for what in ["api", "agents"] {
        let door = urls(&up, what).into_iter().find(|url| url.starts_with("https://")).unwrap();
        let answer = exchange(TcpStream::connect(address(&door)).unwrap(), &host, "/v1/status", &basic(&up));
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("MS-A006"), "{what}: {answer}");
    }
    // The compatible face says so in its own shape, which its SDKs read.
    let door = urls(&up, "playfab").into_iter().find(|url| url.starts_with("https://")).unwrap();
    let answer = exchange(TcpStream::connect(address(&door)).unwrap(), &host, "/Match/GetMatch", &basic(&up));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("mainstay-code: MS-A006"), "{head}");
    let told: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&told["code"], &told["error"]), (&400.into(), &"InvalidRequest".into()), "{told}");
    assert!(told["errorMessage"].as_str().unwrap().contains("https://"), "{told}");
    // On loopback it answers in the clear, and over TLS as well.
    let here = up.file("ports.json")["api"].as_str().unwrap().to_owned();
    let answer =
        exchange(TcpStream::connect(address(&here)).unwrap(), "127.0.0.1", "/v1/status", &basic(&up));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let answer = exchange(tls(address(&here), "127.0.0.1", &ca), "127.0.0.1", "/v1/status", &basic(&up));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn a_given_certificate_is_shown_to_callers_of_the_api() {
    let (home, host) = (Home::new(), beyond());
    let key = rcgen::KeyPair::generate().unwrap();
    let names = vec!["games.example".to_owned()];
    let certificate = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let (given, its_key) = (home.path().with_file_name("given.pem"), home.path().with_file_name("given.key"));
    std::fs::write(&given, certificate.pem()).unwrap();
    std::fs::write(&its_key, key.serialize_pem()).unwrap();
    let (shown, kept) = (given.to_str().unwrap(), its_key.to_str().unwrap());
    let up = home.up(&["--demo", "--listen", &host, "--tls-cert", shown, "--tls-key", kept]);
    let api = urls(&up, "api").into_iter().find(|url| url.starts_with("https://")).unwrap();
    let answer =
        exchange(tls(address(&api), "games.example", &given), "games.example", "/v1/status", &basic(&up));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(up);

    // What is no certificate stops the start, and says so.
    std::fs::write(&given, "nonsense").unwrap();
    let mut command =
        home.command(&["up", "--demo", "--ports", "auto", "--tls-cert", shown, "--tls-key", kept]);
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && said.contains("MS-U124"), "{said}");
}

/// "a non-loopback listener without TLS is refused with a code and the mend".
#[test]
fn a_listener_beyond_loopback_without_tls_is_refused() {
    let home = Home::new();
    let mut command =
        home.command(&["up", "--demo", "--ports", "auto", "--tls", "off", "--listen", "0.0.0.0"]);
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains("MS-U022") && said.contains("fix:"), "{said}");
}
