//! Sessions of a lobby that can be joined, found by what they are like.

use std::collections::VecDeque;

use mainstay_migration::{Epoch, Migratable, SessionId};
use mainstay_wire::native::{Page, SessionView};

use super::door::{As, Door, Longest};
use super::{AttributeError, Attributes, Joining, LobbyError, Online};
use crate::key::provider;

/// How many sessions a page lists: what a person looks at.
const LISTED: usize = 50;
/// The longest page that is read: each of its sessions may have 64 members with long names.
const PAGE_BYTES_MAX: Longest = Longest(4 * 1024 * 1024);
/// How many pages in a row may be empty: for each a lobby looks at 10,000 of 50,000 sessions at most.
const EMPTY_MAX: usize = 8;

/// What a session is to be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// With room for so many more; 0 finds full and closed ones, too.
    pub free: u32,
    /// With these attributes, each of this value.
    pub attributes: Attributes,
}

impl Default for Wanted {
    /// Whatever has room for one more.
    fn default() -> Self {
        Self { free: 1, attributes: Attributes::default() }
    }
}

/// A session that a lobby lists, as it stood then. [`crate::Peer::join_online`] joins it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    /// Which.
    pub session: SessionId,
    /// For people.
    pub name: String,
    /// How many play.
    pub members: usize,
    /// How many it has at most.
    pub size: u32,
    /// How many more there is room for: seats of players who are on their way are taken.
    pub free: usize,
    /// Whether newcomers are let in.
    pub joining: Joining,
    /// How many hosts it has had.
    pub epoch: Epoch,
    /// Whether it goes on with another host.
    pub migratable: Migratable,
    /// What it was found by.
    pub attributes: Attributes,
}

impl ListedSession {
    fn of(view: &SessionView) -> Result<Self, AttributeError> {
        let mut attributes = Attributes::default();
        view.attributes.iter().try_for_each(|(name, value)| attributes.set(name, value))?;
        Ok(Self {
            session: SessionId(view.id.0.as_u128()),
            name: view.name.clone(),
            members: view.members.len(),
            size: view.size,
            free: view.free,
            joining: view.joining.into(),
            epoch: Epoch(view.epoch),
            migratable: if view.migrates { Migratable::Yes } else { Migratable::No },
            attributes,
        })
    }
}

/// Where the next page begins.
#[derive(Debug)]
enum Next {
    First,
    Behind(String),
    /// There is none.
    End,
}

/// A search of a lobby, which asks for a page at a time. A lobby takes 60 pages of one caller a minute.
#[derive(Debug)]
pub struct OnlineSearch {
    door: Door,
    query: Vec<(String, String)>,
    listed: VecDeque<ListedSession>,
    next: Next,
}

impl OnlineSearch {
    /// Searches a lobby, which is asked by [`OnlineSearch::find`].
    #[must_use]
    pub fn new(online: &Online, wanted: &Wanted) -> Self {
        let attributes =
            wanted.attributes.iter().map(|(name, value)| (format!("attr.{name}"), value.to_owned()));
        let limits = [("free", wanted.free.to_string()), ("limit", LISTED.to_string())];
        let limits = limits.map(|(name, value)| (name.to_owned(), value));
        Self {
            door: Door::new(online, provider(), PAGE_BYTES_MAX),
            query: limits.into_iter().chain(attributes).collect(),
            listed: VecDeque::new(),
            next: Next::First,
        }
    }

    /// The next session that fits, in no order that means anything; `None` once all were told. Waits for the lobby's answer where a
    /// new page is needed. What failed may be asked again.
    ///
    /// # Errors
    /// Where the lobby does not answer, or refuses.
    pub fn find(&mut self) -> Result<Option<ListedSession>, LobbyError> {
        for _ in 0..=EMPTY_MAX {
            if let Some(found) = self.listed.pop_front() {
                return Ok(Some(found));
            }
            let mut query = self.query.clone();
            match &self.next {
                Next::First => {}
                Next::Behind(cursor) => query.push(("cursor".to_owned(), cursor.clone())),
                Next::End => return Ok(None),
            }
            let answer = self.door.search(As::Player, "/v1/lobbies/online/sessions", &query)?;
            let page: Page<SessionView> = answer.granted()?;
            let listed = page.items.iter().map(ListedSession::of).collect::<Result<_, _>>();
            self.listed = listed.map_err(|_| self.door.unreadable("an attribute of a session is none"))?;
            self.next = page.next_cursor.map_or(Next::End, Next::Behind);
        }
        Err(self.door.unreadable("its list of sessions does not end"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::lobby::Trust;

    /// Whoever it is, it says the same to everybody.
    fn says(body: String) -> (OnlineSearch, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (url, asked) =
            (format!("http://{}", listener.local_addr().unwrap()), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&asked);
        let answer = move |mut caller: TcpStream| {
            let head = BufReader::new(caller.try_clone()?).lines();
            head.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            count.fetch_add(1, Ordering::Relaxed);
            write!(
                caller,
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
        };
        // Whoever has heard enough hangs up.
        std::thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(|it| drop(answer(it))));
        let online = Online {
            url,
            trust: Trust::System,
            entity_token: None,
            seat_token: None,
            player: None,
            addresses: Vec::new(),
        };
        (OnlineSearch::new(&online, &Wanted::default()), asked)
    }

    #[test]
    fn nobody_is_led_from_page_to_page_for_ever() {
        let (mut search, asked) = says(r#"{"items":[],"nextCursor":"again"}"#.to_owned());
        let told = search.find().unwrap_err().to_string();
        assert!(told.contains("its list of sessions does not end"), "{told}");
        assert_eq!(asked.load(Ordering::Relaxed), 9);
    }

    #[test]
    fn a_page_without_an_end_is_not_read() {
        let (mut search, _) = says(format!(r#"{{"items":[],"nextCursor":"{}"}}"#, "a".repeat(5 << 20)));
        assert!(matches!(search.find(), Err(LobbyError::Unreachable { .. })));
        let (mut search, _) = says("[]".to_owned());
        assert!(matches!(search.find(), Err(LobbyError::Unreadable { .. })));
    }
}
