//! A peer-hosted game on a wide-area network: each player a process in a namespace of its own, and whoever comes in for one
//! whose power was cut.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use mainstay_tugboat::peers::crew::{Crew, Life, Player, Stamp, text};
use mainstay_wan::Network;
use mainstay_wan::line::{Line, Passage};
use mainstay_wan::nat::Place;

use crate::Failure;
use crate::migrate::Cause;

/// Where each player's socket is, on a host of its own.
const PORT: u16 = 5555;
/// Through how many members somebody new comes in, who may dial any of them.
const DOORS: usize = 2;

/// How many come in at once: each makes a link to every other, and on a small machine 2,000 handshakes take longer than anybody
/// waits to be let in.
const AT_ONCE: usize = 8;

/// Players and the network they play over.
pub struct Field {
    /// The players, dead ones included.
    pub crew: Crew,
    /// What lies between them.
    pub network: Network,
    /// On which host each of the crew plays.
    places: Vec<usize>,
    program: PathBuf,
    line: Line,
    arguments: Vec<String>,
}

/// How long what is under way may take to be heard: longer than a link that carries nothing is kept.
const WORDS_WITHIN: Duration = Duration::from_secs(15);
/// And how long until one more is: what was said to a host whose power was cut never comes.
const WORD_WITHIN: Duration = Duration::from_secs(3);

/// Whether a majority stands behind a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mandate {
    /// One does.
    Confirmed,
    /// Of two players, one is none.
    Unconfirmed,
}

/// What a host's end has cost.
pub struct Move {
    /// Of each survivor, from the last state of the old host to the first of the new one, in milliseconds; where it moved more than once, all its gaps.
    pub gaps_ms: Vec<u64>,
    /// What it had been told was safe and was not there, of the player that lost most.
    pub acked_lost: u64,
    /// How many ticks it had heard and the new host played anew, of the player of whom most were.
    pub ticks_lost: u64,
    /// How many survivors moved more than once.
    pub moved_twice: usize,
    /// The epoch that it ended in.
    pub epoch: u64,
    /// Who did not come along.
    pub left_behind: usize,
    /// Whether a majority stands behind the new host.
    pub mandate: Mandate,
}

/// What became of words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Words {
    /// How many members said to their hosts.
    pub said: u64,
    /// How many nobody heard, members' and hosts'.
    pub lost: u64,
    /// How many were heard again.
    pub twice: u64,
}

impl Words {
    /// Of who plays, all that were missed; of who has gone, those that could hardly be under way as it told last.
    fn of(player: &Player) -> Self {
        let number = |name: &str| player.stands[name].as_u64().unwrap_or_default();
        let (said, heard) = (number("hailed"), number("hails"));
        let missed = if player.life == Life::Plays { "bellsMissed" } else { "bellsOverdue" };
        Self {
            said,
            lost: said.saturating_sub(heard) + number(missed),
            twice: heard.saturating_sub(said) + number("bellsTwice"),
        }
    }

    pub const fn and(self, other: Self) -> Self {
        Self { said: self.said + other.said, lost: self.lost + other.lost, twice: self.twice + other.twice }
    }
}

impl Field {
    /// So many players who play together.
    pub fn new(players: usize, line: Line, seed: u64, arguments: &[String]) -> Result<Self, Failure> {
        let mut field = Self {
            crew: Crew::default(),
            network: Network::new(&vec![Place::Public; players], line, seed)?,
            places: Vec::new(),
            program: std::env::current_exe()?,
            line,
            arguments: arguments.to_vec(),
        };
        let places: Vec<usize> = (0..players).collect();
        for some in places.chunks(AT_ONCE) {
            some.iter().try_for_each(|place| field.enter(*place))?;
            field.crew.settled()?;
        }
        Ok(field)
    }

    /// The host of the session, and where it plays.
    pub fn host(&self) -> Result<(usize, usize), Failure> {
        let host = self.crew.host().ok_or("the players have no host")?;
        Ok((host, self.places[host]))
    }

    fn enter(&mut self, place: usize) -> Result<(), Failure> {
        let address = |place: usize| SocketAddr::from((self.network.host(place).address(), PORT));
        let playing = self.crew.players.iter().zip(&self.places).filter(|(it, _)| it.life == Life::Plays);
        let doors: Vec<String> = playing.map(|(_, place)| address(*place).to_string()).take(DOORS).collect();
        let mut command = self.network.host(place).command(&self.program);
        command.args(["demo", "peer"]);
        self.crew.start(command, address(place), &self.arguments, &doors)?;
        self.places.push(place);
        Ok(())
    }

    /// Makes the host go away, and waits until everybody else plays on under another.
    pub fn break_host(&mut self, cause: Cause) -> Result<Move, Failure> {
        let host = self.crew.settled()?;
        let before = Stamp::of(&self.crew.players[host].stands);
        match cause {
            Cause::PowerCut => {
                // The line first: what is on its way arrives, nothing after it does.
                self.network.set_all(self.places[host], Passage::Cut);
                self.crew.stop(host)?;
            }
            Cause::Graceful => self.crew.ask_to_leave(host)?,
        }
        let moves = self.crew.moved(before)?;
        match cause {
            Cause::PowerCut => {}
            Cause::Graceful => self.crew.see_off(host)?,
        }
        let number = |name: &'static str| moves.iter().filter_map(move |(_, it)| it[name].as_u64());
        let players = &self.crew.players;
        // Of each, over all its moves since: what the first of two cost is not hidden by the second.
        let summed = |name: &'static str| {
            moves.iter().filter_map(move |(index, _)| {
                players[*index]
                    .moves_after(before)
                    .filter_map(|it| it[name].as_u64())
                    .reduce(|sum, it| sum + it)
            })
        };
        let others = self.crew.playing().count();
        Ok(Move {
            gaps_ms: summed("gapMs").collect(),
            acked_lost: summed("ackedLost").max().unwrap_or_default(),
            ticks_lost: summed("ticksLost").max().unwrap_or_default(),
            moved_twice: moves
                .iter()
                .filter(|(index, _)| players[*index].moves_after(before).count() > 1)
                .count(),
            epoch: number("epoch").max().unwrap_or_default(),
            left_behind: others - moves.len(),
            mandate: if number("fork").all(|fork| fork == 0) {
                Mandate::Confirmed
            } else {
                Mandate::Unconfirmed
            },
        })
    }

    /// Somebody new plays on the host of whoever went, and all play together again.
    pub fn replace(&mut self, gone: usize) -> Result<(), Failure> {
        let place = self.places[gone];
        self.crew.bury(gone)?;
        self.network.set_all(place, Passage::Open(self.line));
        self.enter(place)?;
        self.crew.settled()?;
        Ok(())
    }

    /// What of the words that were said over streams was not heard, or was heard again: by whoever plays on, who says no more from now on, once nothing is
    /// under way; and by hosts that are gone, when they said so last.
    pub fn words(&mut self) -> Result<Words, Failure> {
        let until = Instant::now() + WORDS_WITHIN;
        let playing = self.crew.players.iter().enumerate().filter(|(_, it)| it.life == Life::Plays);
        let playing: Vec<usize> = playing.map(|(index, _)| index).collect();
        playing.iter().try_for_each(|index| self.crew.enter(*index, "hush"))?;
        let of = |crew: &Crew, counted: &dyn Fn(&Player) -> bool| {
            let counted = crew.players.iter().filter(|player| counted(player));
            counted.map(Words::of).fold(Words::default(), Words::and)
        };
        let lives = |player: &Player| player.life == Life::Plays;
        let (mut lost, mut heard) = (u64::MAX, Instant::now());
        loop {
            let now = of(&self.crew, &lives).lost;
            if now < lost {
                (lost, heard) = (now, Instant::now());
            }
            let until = until.min(heard + WORD_WITHIN);
            if lost == 0 || Instant::now() >= until {
                break;
            }
            self.crew.line(until);
        }
        Ok(of(&self.crew, &|player| lives(player) || player.stands["is"] == "HOST"))
    }

    /// Whose words were not heard, or heard again, and how many of which kind.
    pub fn unheard(&self) -> Vec<String> {
        let counts = |player: &Player| {
            let words = Words::of(player);
            let number = |name: &str| player.stands[name].as_u64().unwrap_or_default();
            let [said, heard] = ["hailed", "hails"].map(number);
            let [missed, twice] = ["bellsMissed", "bellsTwice"].map(number);
            (words.lost + words.twice > 0).then(|| {
                let (peer, is) = (&player.peer, text(&player.stands, "is"));
                format!(
                    "{peer} ({is}): said {said}, of which {heard} were heard; of the hosts' {missed} missed, {twice} twice"
                )
            })
        };
        let is_counted = |player: &&Player| player.life == Life::Plays || player.stands["is"] == "HOST";
        self.crew.players.iter().filter(is_counted).filter_map(counts).collect()
    }

    /// How many moves players have told of.
    pub fn moves(&self) -> usize {
        self.crew.players.iter().map(|player| player.moves.len()).sum()
    }

    /// How often any of them came to lead, the founder's first time included.
    pub fn reigns(&self) -> usize {
        self.crew.players.iter().map(|player| player.led.len()).sum()
    }
}
