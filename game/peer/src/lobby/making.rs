//! A session is made once, also where an answer is lost: with a key of its own it is asked for again, and whoever is not answered then leaves
//! it as soon as the lobby answers at all. Otherwise it would stand there without its host until the lobby counted that as lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mainstay_core::SessionId;
use mainstay_wire::native::{MemberAnswer, SessionRequest};
use serde::Deserialize;

use super::door::{Answered, As, Door, is_passing};
use super::{LobbyError, Token};

/// Where sessions are made.
const SESSIONS: &str = "/v1/lobbies/online/sessions";
/// How long it is tried to leave: by then the lobby has counted as lost whom it has never heard again.
const UNDO_WITHIN: Duration = Duration::from_secs(30);
/// How often.
const UNDO_EVERY: Duration = Duration::from_secs(2);

/// What it takes to leave a session.
#[derive(Deserialize)]
struct Made {
    session: Named,
    token: String,
}

#[derive(Deserialize)]
struct Named {
    id: SessionId,
}

/// Makes a session there, as the process of that key.
pub(super) fn make(door: &Door, me: &str, request: &SessionRequest) -> Result<MemberAnswer, LobbyError> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    // The lobby takes it together with the process's own.
    let key = format!("session {}", MADE.fetch_add(1, Ordering::Relaxed));
    let ask = || door.make(As::Player, SESSIONS, &key, request);
    let answered = ask().or_else(|error| if is_lost(&error) { ask() } else { Err(error) });
    if answered.as_ref().is_err_and(is_lost) {
        let (door, me, request) = (door.clone(), me.to_owned(), request.clone());
        let undoing = thread::Builder::new().name("mainstay-lobby".to_owned());
        if let Err(error) = undoing.spawn(move || undo(&door, &me, &key, &request)) {
            tracing::warn!(%error, "no thread to leave what the lobby may have made");
        }
    }
    answered?.granted()
}

/// Whether it may be made all the same.
const fn is_lost(error: &LobbyError) -> bool {
    match error {
        LobbyError::Unreachable { .. } | LobbyError::Unreadable { .. } => true,
        LobbyError::Unaskable { .. } | LobbyError::Untrusted { .. } | LobbyError::Refused { .. } => false,
    }
}

/// Asks for it once more, to leave it.
fn undo(door: &Door, me: &str, key: &str, request: &SessionRequest) {
    let until = Instant::now() + UNDO_WITHIN;
    while Instant::now() < until {
        match door.make::<Made>(As::Player, SESSIONS, key, request) {
            Ok(Answered::Yes(Made { session, token })) => {
                let own = format!("/v1/sessions/{}/members/{me}", session.id);
                if door.delete(As::Member(&Token::from(token.as_str())), &own).is_ok() {
                    return;
                }
            }
            // There is none, and there will be none.
            Ok(Answered::No(status, _)) if !is_passing(status) => return,
            Ok(Answered::No(..)) | Err(_) => {}
        }
        thread::sleep(UNDO_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::{Receiver, channel};

    use super::super::door::Longest;
    use super::super::{Online, Trust};
    use super::*;
    use crate::key::provider;

    /// The head of a request, and its body is read.
    fn head(stream: &TcpStream) -> String {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            reader.read_line(&mut head).unwrap();
        }
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body).unwrap();
        head
    }

    /// Something that answers so, where it answers at all, one call after the other; and tells what it was asked.
    fn answers(answers: Vec<Option<String>>) -> (Door, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (heard, is_heard) = channel();
        thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                heard.send(head(&stream)).unwrap();
                if let Some(answer) = answer {
                    stream.write_all(answer.as_bytes()).unwrap();
                }
            }
        });
        let online = Online {
            url,
            trust: Trust::System,
            entity_token: None,
            seat_token: None,
            player: None,
            addresses: Vec::new(),
        };
        (Door::new(&online, provider(), Longest(65_536)), is_heard)
    }

    fn answer(status: &str, body: &str) -> Option<String> {
        let length = body.len();
        Some(format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"))
    }

    fn request() -> SessionRequest {
        let member = serde_json::json!({ "peer": "me", "proof": "" });
        serde_json::from_value(serde_json::json!({ "size": 2, "member": member })).unwrap()
    }

    fn key(head: &str) -> &str {
        head.lines().find_map(|line| line.strip_prefix("idempotency-key: ")).unwrap()
    }

    #[test]
    fn what_is_not_answered_is_asked_once_more_under_the_same_key() {
        let refusal = r#"{"status":409,"code":"MS-G007","title":"","detail":"no","docs":"","instance":""}"#;
        let (door, heard) =
            answers(vec![None, answer("409 Conflict", refusal), answer("409 Conflict", refusal)]);
        let refused = |made: Result<MemberAnswer, LobbyError>| matches!(made, Err(LobbyError::Refused { code, .. }) if code == "MS-G007");
        assert!(refused(make(&door, "me", &request())));
        let [first, second] = [heard.recv().unwrap(), heard.recv().unwrap()];
        assert_eq!(key(&first), key(&second));
        assert!(refused(make(&door, "me", &request())));
        assert_ne!(key(&heard.recv().unwrap()), key(&first), "another session");
        assert!(heard.recv().is_err(), "a refusal is an answer");
    }

    /// A lobby that stood still made the session when it went on, and its host was not there.
    #[test]
    fn what_is_never_answered_is_left_once_the_lobby_answers() {
        let id = SessionId::LOWEST;
        let made = format!(r#"{{"session":{{"id":"{id}"}},"token":"Secret"}}"#);
        let (door, heard) =
            answers(vec![None, None, answer("201 Created", &made), answer("204 No Content", "")]);
        assert!(matches!(make(&door, "me", &request()), Err(LobbyError::Unreachable { .. })));
        let next = || heard.recv_timeout(Duration::from_secs(10)).ok();
        let heads: Vec<String> = std::iter::from_fn(next).collect();
        assert_eq!(heads.len(), 4, "{heads:?}");
        assert!(heads[..3].iter().all(|head| head.starts_with("post ") && key(head) == key(&heads[0])));
        assert!(heads[3].starts_with(&format!("delete /v1/sessions/{id}/members/me ")), "{}", heads[3]);
        assert!(heads[3].contains("authorization: bearer secret"), "{}", heads[3]);
    }
}
