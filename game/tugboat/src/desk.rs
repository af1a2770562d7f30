//! What the game knows from its host, and asks of it: the SDK, as a game uses it that ticks on one thread.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use mainstay_sdk::{
    Backfill, BackfillPolicy, Daemon, Error, Event, Hold, HoldPolicy, KeptHeld, Need, ServerJson, Sessions,
    Stands,
};

use crate::fault::{FaultError, duration};

/// Something to ask of the host, by command (a `control` message).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// `hold=TIME`: holds the server once.
    Hold(Duration),
    /// `keep-held=TIME`: holds it, checks that, and refreshes it.
    KeepHeld(Duration),
    /// `held`: asks whether it is.
    Held,
    /// `release`: ends the hold; one that is kept is kept no longer.
    Release,
    /// `reserve`: takes the server out of its pool.
    Reserve,
    /// `unreserve`: gives it back.
    Unreserve,
    /// `ready`: the session's players may come.
    Ready,
    /// `unready`: they may not.
    Unready,
    /// `payload`: reads what the session's caller sent.
    Payload,
}

impl FromStr for Wish {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        match text.split_once('=') {
            Some(("hold", time)) => Ok(Self::Hold(duration(time)?)),
            Some(("keep-held", time)) => Ok(Self::KeepHeld(duration(time)?)),
            Some(_) => Err(FaultError::Unknown(text.to_owned())),
            None => match text {
                "held" => Ok(Self::Held),
                "release" => Ok(Self::Release),
                "reserve" => Ok(Self::Reserve),
                "unreserve" => Ok(Self::Unreserve),
                "ready" => Ok(Self::Ready),
                "unready" => Ok(Self::Unready),
                "payload" => Ok(Self::Payload),
                _unknown => Err(FaultError::Unknown(text.to_owned())),
            },
        }
    }
}

/// What happens by itself when a session comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnAllocation {
    /// Nothing is said.
    Silent,
    /// The host is told that players may come.
    SayReady,
}

/// Whether the places of a match's players are kept filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Places {
    /// Who leaves is not replaced.
    Left,
    /// Who leaves is replaced.
    Kept,
}

/// The game's desk towards its host.
pub(crate) struct Desk {
    known: ServerJson,
    allocation: Option<String>,
    sessions: Option<Sessions>,
    daemon: Option<Daemon>,
    kept: Option<KeptHeld>,
    on_allocation: OnAllocation,
    places: Places,
    backfill: Option<Backfill>,
    /// Who plays: players may be here before their session is heard of.
    here: BTreeSet<String>,
    /// What calls came to, for the log: each is made on a thread of its own, since the game must tick.
    notes: (Sender<String>, Receiver<String>),
}

impl Desk {
    /// Reads `server.json` in this home, and listens from then on. Without one the game runs all the same.
    pub(crate) fn open(home: Option<OsString>, on_allocation: OnAllocation, places: Places) -> Self {
        let notes = mpsc::channel();
        let home = home.map(PathBuf::from);
        let mut desk = Self {
            known: ServerJson::default(),
            allocation: None,
            sessions: None,
            daemon: None,
            kept: None,
            on_allocation,
            places,
            backfill: None,
            here: BTreeSet::new(),
            notes,
        };
        let Some(home) = home else { return desk };
        match ServerJson::read(&home) {
            Ok(known) => desk.known = known,
            // No host, or a file that is being written: the SDK looks again.
            Err(error @ (Error::File { .. } | Error::Malformed { .. })) => desk.say(format_args!("{error}")),
            Err(error) => desk.say(format_args!("cannot read server.json: {error}")),
        }
        desk.daemon = Daemon::of(&desk.known).ok();
        match Sessions::follow(&home, &desk.known) {
            Ok(sessions) => desk.sessions = Some(sessions),
            Err(error) => desk.say(format_args!("cannot follow sessions: {}", crate::chain(&error))),
        }
        desk.allocation = desk.known.allocation().map(str::to_owned);
        desk
    }

    /// What `server.json` said at the start.
    pub(crate) const fn known(&self) -> &ServerJson {
        &self.known
    }

    /// The session the server is for.
    pub(crate) fn allocation(&self) -> Option<&str> {
        self.allocation.as_deref()
    }

    /// Takes what has come since, and gives what there is to note.
    pub(crate) fn poll(&mut self) -> Vec<String> {
        while let Some(event) = self.sessions.as_ref().and_then(Sessions::next) {
            match event {
                Event::Allocated(id) => {
                    // The one that stood in the file at the start has been noted.
                    if self.allocation.as_ref() != Some(&id) {
                        self.say(format_args!("allocation id={id}"));
                    }
                    match self.places {
                        Places::Left => {}
                        Places::Kept => self.keep_filled(&id),
                    }
                    self.allocation = Some(id);
                    match self.on_allocation {
                        OnAllocation::Silent => {}
                        OnAllocation::SayReady => self.ask(Wish::Ready),
                    }
                }
                Event::Deallocated(id) => {
                    self.say(format_args!("allocation none ended={id}"));
                    (self.allocation, self.backfill) = (None, None);
                }
            }
        }
        self.notes.1.try_iter().collect()
    }

    /// Asks for something; what comes of it is noted.
    pub(crate) fn ask(&mut self, wish: Wish) {
        let Some(daemon) = self.daemon.clone() else {
            self.say(format_args!("asked {wish:?}: server.json names no daemon"));
            return;
        };
        match wish {
            Wish::KeepHeld(time) => self.keep_held(daemon, time),
            Wish::Release => match &self.kept {
                Some(kept) => kept.need(Need::Nothing),
                None => self.call(daemon, wish),
            },
            Wish::Hold(_)
            | Wish::Held
            | Wish::Reserve
            | Wish::Unreserve
            | Wish::Ready
            | Wish::Unready
            | Wish::Payload => self.call(daemon, wish),
        }
    }

    /// A player came into the game.
    pub(crate) fn joined(&mut self, player: &str) {
        self.here.insert(player.to_owned());
        if let Some(backfill) = &self.backfill {
            backfill.joined(player);
        }
    }

    /// A player left it.
    pub(crate) fn left(&mut self, player: &str) {
        self.here.remove(player);
        if let Some(backfill) = &self.backfill {
            backfill.left(player);
        }
    }

    fn keep_filled(&mut self, allocation: &str) {
        let Some(daemon) = self.daemon.clone() else { return };
        let notes = self.notes.0.clone();
        let tell = move |came: Result<Stands, Error>| {
            // The game has ended, and with it its log.
            let _ended = notes.send(match came {
                Ok(stands) => format!("backfill {}", filled(&stands)),
                Err(error) => format!("backfill no: {}", crate::chain(&error)),
            });
        };
        match Backfill::start(daemon, allocation, BackfillPolicy::default(), tell) {
            Ok(backfill) => {
                self.here.iter().for_each(|player| backfill.joined(player));
                self.backfill = Some(backfill);
            }
            Err(error) => self.say(format_args!("cannot keep places filled: {}", crate::chain(&error))),
        }
    }

    fn keep_held(&mut self, daemon: Daemon, time: Duration) {
        let notes = self.notes.0.clone();
        let tell = move |checked: Result<Hold, Error>| {
            // The game has ended, and with it its log.
            let _ended = notes.send(told("keep-held", checked.map(hold)));
        };
        match KeptHeld::start(daemon, HoldPolicy::lasting(time), tell) {
            Ok(kept) => self.kept = Some(kept),
            Err(error) => self.say(format_args!("cannot keep held: {}", crate::chain(&error))),
        }
    }

    fn call(&self, daemon: Daemon, wish: Wish) {
        let notes = self.notes.0.clone();
        let allocation = self.allocation.clone().unwrap_or_default();
        let asking = move || {
            let (what, came) = match wish {
                Wish::Hold(time) | Wish::KeepHeld(time) => ("hold", daemon.hold(time).map(hold)),
                Wish::Held => ("held", daemon.held().map(hold)),
                Wish::Release => ("release", daemon.release().map(|()| "done".to_owned())),
                Wish::Reserve => ("reserve", daemon.reserve().map(|it| format!("reservation={}", it.id))),
                Wish::Unreserve => ("unreserve", daemon.unreserve().map(|()| "done".to_owned())),
                Wish::Ready => ("ready", daemon.ready(&allocation).map(|()| "done".to_owned())),
                Wish::Unready => ("unready", daemon.unready().map(|()| "done".to_owned())),
                Wish::Payload => ("payload", daemon.payload(&allocation).map(|text| format!("{text:?}"))),
            };
            // The game has ended, and with it its log.
            let _ended = notes.send(told(what, came));
        };
        if let Err(error) = std::thread::Builder::new().name("tugboat-call".to_owned()).spawn(asking) {
            self.say(format_args!("cannot ask: {error}"));
        }
    }

    fn say(&self, note: std::fmt::Arguments<'_>) {
        // We hold the other end.
        let _kept = self.notes.0.send(note.to_string());
    }
}

fn hold(hold: Hold) -> String {
    match hold {
        Hold::Until(until) => format!("until={until}"),
        Hold::No => "none".to_owned(),
    }
}

fn filled(stands: &Stands) -> String {
    match stands {
        Stands::Searching { places } => format!("searching places={places}"),
        Stands::Filled { joiners } => {
            let named =
                |it: &mainstay_sdk::Joiner| format!("{}/{}", it.player, it.team.as_deref().unwrap_or("-"));
            format!("filled {}", joiners.iter().map(named).collect::<Vec<_>>().join(" "))
        }
        Stands::Closed => "closed".to_owned(),
    }
}

fn told(what: &str, came: Result<String, Error>) -> String {
    match came {
        Ok(came) => format!("asked {what}: {came}"),
        Err(error) => format!("asked {what}: no: {}", crate::chain(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_wishes() {
        let minute = Duration::from_secs(60);
        for (text, wish) in [
            ("hold=1m", Wish::Hold(minute)),
            ("keep-held=60s", Wish::KeepHeld(minute)),
            ("held", Wish::Held),
            ("release", Wish::Release),
            ("reserve", Wish::Reserve),
            ("unreserve", Wish::Unreserve),
            ("ready", Wish::Ready),
            ("unready", Wish::Unready),
            ("payload", Wish::Payload),
        ] {
            assert_eq!(text.parse(), Ok(wish));
        }
        for wrong in ["", "hold", "hold=", "hold=soon", "reserve=1", "crash"] {
            assert!(wrong.parse::<Wish>().is_err(), "{wrong}");
        }
    }
}
