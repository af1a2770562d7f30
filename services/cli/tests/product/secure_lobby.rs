//! A lobby that other hosts reach: over https alone, and for players that somebody vouches for. Real processes come in, and the
//! session outlives its host; who cannot prove that it is the lobby is told nothing.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::far::beyond;
use crate::peers::Player;
use crate::product::{Home, Product, until};

/// What the studio's backend gives a player of its title: the file of its entity token.
#[track_caller]
fn vouched(home: &Home, up: &Product<'_>, player: &str) -> String {
    let (ports, credentials) = (up.file("ports.json"), up.file("credentials.json"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let url = format!("{}/Server/LoginWithServerCustomId", text(&ports["playfab"]));
    let body = json!({ "ServerCustomId": player, "CreateAccount": true });
    let request = ureq::post(url).header("X-SecretKey", text(&credentials["playfabSecretKey"]));
    let answer: Value = request.send_json(&body).unwrap().body_mut().read_json().unwrap();
    let file = home.path().with_file_name(format!("{player}.token"));
    std::fs::write(&file, answer["data"]["EntityToken"]["EntityToken"].as_str().unwrap()).unwrap();
    file.to_str().unwrap().to_owned()
}

/// What a player's process says that does not come in.
#[track_caller]
fn is_kept_out(way: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
    let ended = command.args(["demo", "peer", "--bot"]).args(way).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && said.contains("MS-S221"), "{said}");
    said
}

fn is_reached_at(up: &Product<'_>) -> String {
    let ports = up.file("ports.json");
    let all = ports["listening"]["api"].as_array().unwrap();
    all.iter().filter_map(Value::as_str).find(|url| url.starts_with("https://")).unwrap().to_owned()
}

/// A lobby that other hosts reach, and three players that are vouched for.
pub struct Beyond<'a> {
    home: &'a Home,
    pub up: Product<'a>,
    pub lobby: String,
    /// The file of who vouches for it.
    pub ca: String,
    /// The files of their entity tokens.
    pub tokens: [String; 3],
}

impl<'a> Beyond<'a> {
    #[track_caller]
    pub fn new(home: &'a Home) -> Self {
        Self::of(home, "version: 1.0\n")
    }

    #[track_caller]
    pub fn of(home: &'a Home, configuration: &str) -> Self {
        let file = home.path().with_file_name("mainstay.yaml");
        std::fs::write(&file, configuration).unwrap();
        let up = home.up(&[file.to_str().unwrap(), "--listen", &beyond()]);
        let lobby = is_reached_at(&up);
        let ca = home.path().join("tls/ca.pem").to_str().unwrap().to_owned();
        let tokens = ["ann", "ben", "cat"].map(|player| vouched(home, &up, player));
        Self { home, up, lobby, ca, tokens }
    }

    /// Three players of [`MATCHING`]'s queue.
    #[track_caller]
    pub fn matched(&self) -> Match {
        let studio = self.up.caller();
        let tickets = ["dan", "eve", "fay"].map(|player| {
            let body = json!({ "players": [{ "player": player }], "giveUpAfterSeconds": 600 });
            let made = studio.send("/v1/queues/trio/tickets", &body);
            assert_eq!(made.status, 201, "{made:?}");
            format!("/v1/queues/trio/tickets/{}", made.json()["id"].as_str().unwrap())
        });
        let matched = until("the match has its session", || {
            let seen = studio.get(&tickets[0]).json();
            (seen["status"] == "Matched").then(|| seen["matchId"].as_str().unwrap().to_owned())
        });
        let seats = studio.get(&format!("/v1/sessions/{matched}/seats")).json();
        let file = |seat: &Value| {
            let player = seat["player"].as_str().unwrap().rsplit('!').next().unwrap().to_owned();
            let file = self.home.path().with_file_name(format!("{player}.seat"));
            std::fs::write(&file, seat["token"].as_str().unwrap()).unwrap();
            file.to_str().unwrap().to_owned()
        };
        let seats = seats["items"].as_array().unwrap().iter().map(file).collect();
        Match { session: uuid::Uuid::parse_str(&matched).unwrap().simple().to_string(), seats }
    }
}

/// A queue whose matches of three end in a session.
pub const MATCHING: &str =
    "version: 1.0\nqueues:\n  - { name: trio, minMatchSize: 3, maxMatchSize: 3, session: online }\n";

/// A match of three players that have no login.
pub struct Match {
    /// Its session, as a peer names it.
    pub session: String,
    /// The files of its seats' tokens, as the studio's service reads them.
    pub seats: Vec<String>,
}

/// Two files of an authority that nobody has heard of, and of none.
pub fn strangers(home: &Home) -> [String; 2] {
    let [other, none] = ["other.pem", "none.pem"].map(|name| home.path().with_file_name(name));
    authority(&other);
    std::fs::write(&none, "nothing").unwrap();
    [other, none].map(|path| path.to_str().unwrap().to_owned())
}

fn authority(path: &Path) {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap();
    std::fs::write(path, certificate.pem()).unwrap();
}

/// Issue 5, sections 4 and 5: "HTTP and event stream for games"; "encrypted". Issue 3, section 4: "The HTTP faces beyond loopback:
/// TLS with a given certificate or the generated one".
#[test]
fn a_session_of_a_lobby_over_https_outlives_its_host_and_nobody_else_is_taken_for_the_lobby() {
    let home = Home::new();
    let Beyond { up: _up, lobby, ca, tokens, .. } = Beyond::new(&home);
    let ca = ca.as_str();
    let way = |token| ["--lobby", &lobby, "--lobby-ca", ca, "--entity-token-file", token];
    let first = Player::with(&way(&tokens[0]), None);
    let session = first.session.clone();
    let others = [1, 2].map(|at: usize| Player::with(&way(&tokens[at]), Some(&session)));
    let is_settled = |line: &Value| {
        line["members"] == 3 && line["voters"] == 3 && line["linked"] == 2 && line["epoch"] == 1
    };
    first.says("somebody could follow", |line| is_settled(line) && !line["anticipated"].is_null());
    for player in &others {
        player.says("all are linked", is_settled);
    }
    drop(first);
    for player in &others {
        let moved = player.says("it moved", |line| line["event"] == "moved");
        assert_eq!((&moved["epoch"], &moved["fork"]), (&json!(2), &json!(0)), "certified: {moved}");
    }

    // A player that nobody vouches for is refused by the lobby itself, over a line that both trust.
    let said = is_kept_out(&["--lobby", &lobby, "--lobby-ca", ca]);
    assert!(said.contains("the lobby refused") && said.contains("MS-A"), "{said}");
    // Neither this system nor another authority has ever heard of this one.
    let [other, none] = strangers(&home);
    for way in [&["--lobby", &lobby][..], &["--lobby", &lobby, "--lobby-ca", &other]] {
        let said = is_kept_out(way);
        assert!(said.contains("cannot prove that it is the lobby") && said.contains(&lobby), "{said}");
        assert!(said.contains("name that authority's certificate"), "{said}");
    }
    let said = is_kept_out(&["--lobby", &lobby, "--lobby-ca", &none]);
    assert!(said.contains("there is no certificate"), "{said}");
    // Nothing readable crosses a network, be it that somebody asks for it.
    let said = is_kept_out(&["--lobby", &lobby.replace("https://", "http://")]);
    assert!(said.contains("MS-A006"), "{said}");
}

/// Issue 5, section 4: "a matchmaking queue may end in a lobby session whose members and tokens come from the match". The studio's
/// service matches three players that have no login, and hands each the token of its seat; their games need nothing else. All come
/// at once, and one of them is the first host.
#[test]
fn the_players_of_a_match_come_into_its_session_by_their_seats_and_it_outlives_its_host() {
    let home = Home::new();
    let players = Beyond::of(&home, MATCHING);
    let Match { session, seats: files } = players.matched();
    let Beyond { up: _up, lobby, ca, .. } = players;
    let comes = |file: &String| {
        let way = ["--lobby", lobby.as_str(), "--lobby-ca", ca.as_str(), "--seat-token-file", file];
        Player::with(&way, Some(&session))
    };
    let players: Vec<Player> = std::thread::scope(|scope| {
        let coming: Vec<_> = files.iter().map(|file| scope.spawn(|| comes(file))).collect();
        coming.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let is_settled = |line: &Value| {
        line["members"] == 3 && line["voters"] == 3 && line["linked"] == 2 && line["epoch"] == 1
    };
    let stands: Vec<Value> = players
        .iter()
        .map(|player| {
            player.says("they play together", |line| is_settled(line) && !line["anticipated"].is_null())
        })
        .collect();
    let hosts: Vec<usize> = (0..3).filter(|at| stands[*at]["is"] == "HOST").collect();
    let [host] = hosts[..] else { panic!("one host: {stands:?}") };

    // A seat is one of its session alone, and its player's.
    let elsewhere = ["--lobby", lobby.as_str(), "--lobby-ca", ca.as_str(), "--seat-token-file", &files[0]];
    let other = "f".repeat(32);
    let said = is_kept_out(&[&elsewhere[..], &["--session", &other]].concat());
    assert!(said.contains("the lobby refused"), "{said}");

    let mut players = players;
    drop(players.remove(host));
    for player in &players {
        let moved = player.says("it moved", |line| line["event"] == "moved");
        assert_eq!((&moved["epoch"], &moved["fork"]), (&json!(2), &json!(0)), "certified: {moved}");
    }
}
