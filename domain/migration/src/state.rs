//! The game as it goes along: a chain of snapshots and what changed since, of which everyone is told the newest name and the
//! best two standbys hold the parts.
//!
//! Each part's name holds the hash of itself and of the part before it, so whoever has heard a name cannot be told another
//! past by a later host: see [`crate::Output::Rewritten`]. The newest name is signed by the host that wrote it, so nobody can
//! hand on a state that no host wrote (decision 0060).

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use sha2::{Digest, Sha256};

use crate::descent::{Ancestor, Descent};
use crate::{PeerId, Signature, Stamp, Tick};

/// The longest state of a game, its snapshot and what changed since together, in bytes: what two standbys of a home uplink
/// (5 Mbit/s) take in a second.
pub const STATE_BYTES_MAX: usize = 256 * 1024;

/// The most parts that are kept since a snapshot: at ten a second a game has to give one every 25 s.
pub const PARTS_MAX: usize = 256;

/// Of how many peers a state names the last input: every member of the largest session, and half as many who left and may come
/// back. All parts of the longest state fit into one packet with them.
pub const PLAYERS_MAX: usize = crate::MEMBERS_MAX + crate::MEMBERS_MAX / 2;

/// In place of an input's number: its peer is forgotten. Inputs are numbered from 1 on.
const FORGOTTEN: u64 = 0;

/// The running hash of a chain: the first half of a SHA-256. 0 is the hash of no part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StateHash(pub u128);

impl fmt::Debug for StateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0 >> 96)
    }
}

/// The name of a state, and of the part that led to it. Those of a later host are newer, whatever their tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateId {
    /// Whose host wrote it.
    pub stamp: Stamp,
    /// Its place in the chain, which goes on from host to host.
    pub number: u64,
    /// Which moment of the game it is.
    pub tick: Tick,
    /// Everything up to it.
    pub hash: StateHash,
}

impl StateId {
    /// Of no state.
    pub const NONE: Self = Self { stamp: Stamp::NOBODY, number: 0, tick: Tick(0), hash: StateHash(0) };
}

impl StateId {
    /// Whether a host wrote it whom nobody certified.
    #[must_use]
    pub const fn is_of_side(self) -> bool {
        self.stamp.fork > 0
    }

    /// Less than the name of whatever that host writes next, and more than that of anything before.
    pub(crate) const fn before_next(self, stamp: Stamp) -> Self {
        Self { stamp, number: self.number.saturating_add(1), tick: Tick(0), hash: StateHash(0) }
    }
}

impl Default for StateId {
    fn default() -> Self {
        Self::NONE
    }
}

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The whole game: nothing before it is needed.
    Snapshot,
    /// What changed since the part before.
    Delta,
    /// Something that must not be lost once it was shown: see [`Level::DurableEvents`].
    Event,
}

/// What a host's game gives of itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Piece {
    /// How far the game is: never less than before.
    pub tick: Tick,
    /// What `bytes` are.
    pub kind: Kind,
    /// In a form that only the game reads.
    pub bytes: Vec<u8>,
}

/// A [`Piece`] in its chain.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Part {
    /// Its name.
    pub id: StateId,
    /// Of a side's: the newest state of a certified host that it goes back to. Else [`Ancestor::NONE`].
    pub ancestor: Ancestor,
    /// The hash of the part before.
    pub previous: StateHash,
    /// What `bytes` are.
    pub kind: Kind,
    /// The last input of each member that came with it, or 0 for who is forgotten; a snapshot's, of all. At most [`PLAYERS_MAX`].
    pub inputs: Arc<BTreeMap<PeerId, u64>>,
    /// The game's.
    pub bytes: Vec<u8>,
}

impl Part {
    fn after(previous: Descent, stamp: Stamp, piece: Piece, inputs: Arc<BTreeMap<PeerId, u64>>) -> Self {
        let Piece { tick, kind, bytes } = piece;
        let number = previous.id().number.saturating_add(1);
        let id = StateId { stamp, number, tick, hash: StateHash::default() };
        let ancestor = if id.is_of_side() { previous.ancestor() } else { Ancestor::NONE };
        let mut part = Self { id, ancestor, previous: previous.id().hash, kind, inputs, bytes };
        part.id.hash = part.reckon();
        part
    }

    /// Whether its name is its own, and its ancestor can be one.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let has_ancestor = self.ancestor != Ancestor::NONE;
        let may_have = self.id.is_of_side() && self.ancestor.epoch <= self.id.stamp.epoch;
        (may_have || !has_ancestor) && self.id.hash == self.reckon()
    }

    /// What it goes back to.
    const fn descent(&self) -> Descent {
        Descent::of(self.id, self.ancestor)
    }

    fn reckon(&self) -> StateHash {
        let kind: u8 = match self.kind {
            Kind::Snapshot => 0,
            Kind::Delta => 1,
            Kind::Event => 2,
        };
        let mut hash = Sha256::new();
        hash.update(b"mainstay state 2");
        hash.update(self.previous.0.to_be_bytes());
        hash.update(self.id.stamp.epoch.0.to_be_bytes());
        hash.update(self.id.stamp.fork.to_be_bytes());
        hash.update(self.id.number.to_be_bytes());
        hash.update(self.id.tick.0.to_be_bytes());
        // Its stamp tells whether there is one.
        if self.id.is_of_side() {
            hash.update(self.ancestor.epoch.0.to_be_bytes());
            hash.update(self.ancestor.number.to_be_bytes());
        }
        hash.update([kind]);
        hash.update((self.inputs.len() as u64).to_be_bytes());
        for (peer, number) in self.inputs.iter() {
            hash.update(peer.0.to_be_bytes());
            hash.update(number.to_be_bytes());
        }
        hash.update(&self.bytes);
        let hash: [u8; 32] = hash.finalize().into();
        let half = hash.iter().take(16).fold(0_u128, |half, byte| half << 8 | u128::from(*byte));
        StateHash(half)
    }
}

/// Why a piece of a game is no part of its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// It would make the state longer than [`STATE_BYTES_MAX`] or [`PARTS_MAX`]; or more than [`PLAYERS_MAX`] have come, gone and played since the part before.
    #[error(
        "{bytes} bytes in {parts} parts since the snapshot, at most {STATE_BYTES_MAX} in {PARTS_MAX}: give a snapshot"
    )]
    TooLong {
        /// How long it would be.
        bytes: usize,
        /// In how many parts.
        parts: usize,
    },
    /// There is no snapshot before it.
    #[error("what changed is of use only after a snapshot: give one first")]
    NoSnapshot,
    /// This peer is no host whose game steps now: the next piece has to be a snapshot.
    #[error("it is not this peer's turn to write: give a snapshot when its game steps again")]
    NotNow,
    /// The piece before it was not taken, so what changed since is of no use.
    #[error("the piece before this one was not taken: give a snapshot")]
    Gap,
    /// It is of an earlier moment than the part before.
    #[error("{given} after {newest}: a game's ticks never fall")]
    Earlier {
        /// What was given.
        given: Tick,
        /// What there is.
        newest: Tick,
    },
}

/// A snapshot and what came after it. A part is never changed once it is in a state, so every standby's message and every copy shares it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct State {
    parts: Vec<Arc<Part>>,
    /// What all of them together say.
    inputs: Arc<BTreeMap<PeerId, u64>>,
    seal: Signature,
}

/// Parts of a state as one peer sends them to another, in order, and what shows who wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Excerpt {
    /// The newest of them is the newest of the state that they are of.
    pub parts: Vec<Arc<Part>>,
    /// That one's name, signed by the host of its stamp ([`StateId::words`]). Its hash stands for all before it, so none of
    /// those needs one.
    pub seal: Signature,
}

/// What came of an [`Excerpt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The state is newer now.
    Newer,
    /// It is older than what is held, or more than a state may be.
    NoNews,
    /// It is newer, and does not follow on what is held: what comes before it is on its way.
    Early,
    /// A part's name is not its own, or the newest is not signed by whoever was to write it: whoever sent it has made it up.
    Forged,
}

impl Excerpt {
    /// What the state goes back to that it is of.
    #[must_use]
    pub fn descent(&self) -> Descent {
        self.parts.last().map_or(Descent::NONE, |part| part.descent())
    }
}

impl State {
    /// The newest part's name.
    #[must_use]
    pub fn id(&self) -> StateId {
        self.parts.last().map_or(StateId::NONE, |part| part.id)
    }

    /// What it goes back to.
    #[must_use]
    pub fn descent(&self) -> Descent {
        self.parts.last().map_or(Descent::NONE, |part| part.descent())
    }

    /// A snapshot, then what changed, in order. Empty: there is no state.
    #[must_use]
    pub fn parts(&self) -> &[Arc<Part>] {
        &self.parts
    }

    /// The last input of each member that it holds, of [`PLAYERS_MAX`] at most: of a new host they want to know which ones to
    /// say again.
    #[must_use]
    pub fn inputs(&self) -> Arc<BTreeMap<PeerId, u64>> {
        Arc::clone(&self.inputs)
    }

    /// One more part. Before a snapshot nothing is needed.
    fn push(&mut self, part: Arc<Part>) {
        if part.kind == Kind::Snapshot {
            self.parts.clear();
            self.inputs = Arc::default();
        }
        let inputs = Arc::make_mut(&mut self.inputs);
        for (peer, number) in part.inputs.iter() {
            if *number == FORGOTTEN {
                inputs.remove(peer);
            } else {
                inputs.insert(*peer, *number);
            }
        }
        self.parts.push(part);
    }

    /// What a part has to say that is to lead to these inputs.
    fn changes(&self, kind: Kind, inputs: &Arc<BTreeMap<PeerId, u64>>) -> Arc<BTreeMap<PeerId, u64>> {
        match kind {
            Kind::Snapshot => Arc::clone(inputs),
            Kind::Delta | Kind::Event => {
                let forgotten = self.inputs.keys().filter(|peer| !inputs.contains_key(peer));
                let news = inputs.iter().filter(|(peer, number)| self.inputs.get(peer) != Some(number));
                let news = news.map(|(peer, number)| (*peer, *number));
                forgotten.map(|peer| (*peer, FORGOTTEN)).chain(news).collect::<BTreeMap<_, _>>().into()
            }
        }
    }

    /// The parts after that one; all of them where it is none of these.
    #[must_use]
    pub fn after(&self, id: StateId) -> Excerpt {
        let known = self.parts.iter().position(|part| part.id == id);
        let parts = self.parts[known.map_or(0, |at| at + 1)..].to_vec();
        Excerpt { parts, seal: self.seal.clone() }
    }

    /// The newest part alone.
    #[must_use]
    pub fn newest(&self) -> Excerpt {
        Excerpt { parts: self.parts.last().cloned().into_iter().collect(), seal: self.seal.clone() }
    }

    /// Whether that one is among its parts.
    #[must_use]
    pub fn holds(&self, id: StateId) -> bool {
        self.parts.iter().any(|part| part.id == id)
    }

    /// What it has under the number of that one, where it is another: as whoever wrote it, who was told by nobody, or whose standby heard no beat with it.
    /// Two sides without a majority may give the same number to different states.
    pub(crate) fn instead_of(&self, told: StateId) -> Option<StateId> {
        let is_another = |id: &StateId| (id.stamp, id.number) == (told.stamp, told.number) && *id != told;
        self.parts.iter().map(|part| part.id).find(is_another).filter(|id| id.stamp.fork == 0)
    }

    /// The host's game goes on, and holds these inputs. Its newest name is to be signed: [`State::sign`].
    ///
    /// # Errors
    /// A piece that does not follow.
    pub fn write(
        &mut self,
        stamp: Stamp,
        piece: Piece,
        inputs: Arc<BTreeMap<PeerId, u64>>,
    ) -> Result<&Part, StateError> {
        let newest = self.descent();
        if piece.tick < newest.id().tick {
            return Err(StateError::Earlier { given: piece.tick, newest: newest.id().tick });
        }
        if piece.kind != Kind::Snapshot && self.parts.is_empty() {
            return Err(StateError::NoSnapshot);
        }
        let (bytes, parts) = match piece.kind {
            Kind::Snapshot => (piece.bytes.len(), 1),
            Kind::Delta | Kind::Event => (self.bytes() + piece.bytes.len(), self.parts.len() + 1),
        };
        let changes = self.changes(piece.kind, &inputs);
        if bytes > STATE_BYTES_MAX || parts > PARTS_MAX || changes.len() > PLAYERS_MAX {
            return Err(StateError::TooLong { bytes, parts });
        }
        self.push(Arc::new(Part::after(newest, stamp, piece, changes)));
        self.seal = Signature::default();
        Ok(&self.parts[self.parts.len() - 1])
    }

    /// Its writer signs its newest name.
    pub fn sign(&mut self, seal: Signature) {
        self.seal = seal;
    }

    /// Takes what another sent: what follows on what is held, or a snapshot and what follows on it. Parts that are held or do
    /// not follow are left out, and it is taken to its newest part or not at all: only that one's name is signed.
    ///
    /// `is_by_its_writer` says of a name whether that is its seal. It is asked last, and only of what would be news.
    pub fn take(
        &mut self,
        sent: &Excerpt,
        is_by_its_writer: impl FnOnce(StateId, &Signature) -> bool,
    ) -> Taken {
        if !sent.parts.iter().all(|part| part.is_whole()) {
            return Taken::Forged;
        }
        // A snapshot needs nothing before it: not even a lost side's state that this peer holds, and whose names are the higher.
        let is_whole = sent.parts.first().is_some_and(|first| first.kind == Kind::Snapshot);
        let mut newer = if is_whole { Self::default() } else { self.clone() };
        for part in &sent.parts {
            let follows = match part.kind {
                Kind::Snapshot => true,
                Kind::Delta | Kind::Event => !newer.parts.is_empty() && part.previous == newer.id().hash,
            };
            if newer.holds(part.id) || part.id < newer.id() || !follows {
                continue;
            }
            newer.push(Arc::clone(part));
        }
        let fits = newer.bytes() <= STATE_BYTES_MAX
            && newer.parts.len() <= PARTS_MAX
            && newer.inputs.len() <= PLAYERS_MAX;
        let last = sent.parts.last().map_or(StateId::NONE, |last| last.id);
        if last <= self.id() || !fits {
            return Taken::NoNews;
        }
        if last != newer.id() {
            return Taken::Early;
        }
        if !is_by_its_writer(newer.id(), &sent.seal) {
            return Taken::Forged;
        }
        newer.seal = sent.seal.clone();
        *self = newer;
        Taken::Newer
    }

    pub(crate) fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.bytes.len()).sum()
    }
}

/// How much of the game goes along (reference, section 5.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// Nothing, as in CRYENGINE: a new host goes on from what it has as a client.
    None,
    /// The standbys are sent all of it, and nobody waits for them.
    Asynchronous,
    /// An event is told once it is held; everything else at once. See [`crate::Session::waits_for`].
    DurableEvents,
    /// Nothing is told before it is held.
    Synchronous,
}
