//! The smallest game whose state can be judged: how far it is, and the last input of each player that it holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_migration::{Kind, Part, PeerId, Piece, Tick};

/// After how many ticks a game gives a snapshot; between them it gives what changed.
const SNAPSHOT_EVERY: u64 = 16;
/// And something happens.
const EVENT_EVERY: u64 = 5;

/// One world of the game.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Game {
    pub tick: Tick,
    /// The last input of each player.
    pub inputs: Arc<BTreeMap<PeerId, u64>>,
    /// What the last piece said.
    told: Arc<BTreeMap<PeerId, u64>>,
    /// Whether a piece was given since this game began or was taken over.
    has_told: bool,
}

impl Game {
    /// What there is to give: a snapshot now and then, else what changed.
    pub(super) fn piece(&mut self) -> Piece {
        let whole = !self.has_told || self.tick.0.is_multiple_of(SNAPSHOT_EVERY);
        self.has_told = true;
        let changed =
            self.inputs.iter().filter(|(peer, number)| whole || self.told.get(peer) != Some(number));
        let mut bytes = Vec::new();
        for (peer, number) in changed {
            bytes.extend_from_slice(&peer.0.to_be_bytes());
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        self.told = Arc::clone(&self.inputs);
        let kind = if whole {
            Kind::Snapshot
        } else if self.tick.0.is_multiple_of(EVENT_EVERY) {
            Kind::Event
        } else {
            Kind::Delta
        };
        Piece { tick: self.tick, kind, bytes }
    }

    /// What a client has of it that is given none of its state.
    pub(super) fn of_client(tick: Tick) -> Self {
        Self { tick, ..Self::default() }
    }

    /// The last piece was not taken: the next is a snapshot.
    pub(super) const fn begin_anew(&mut self) {
        self.has_told = false;
    }

    /// The game as these parts have it.
    pub(super) fn of(parts: &[Arc<Part>]) -> Self {
        let mut game = Self::default();
        for part in parts {
            if part.kind == Kind::Snapshot {
                game.inputs = Arc::default();
            }
            game.tick = part.id.tick;
            let (entries, _) = part.bytes.as_chunks::<24>();
            for entry in entries {
                let (peer, number) = entry.split_at(16);
                let wide = |bytes: &[u8]| bytes.iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
                Arc::make_mut(&mut game.inputs)
                    .insert(PeerId(wide(peer)), u64::try_from(wide(number)).unwrap_or(u64::MAX));
            }
        }
        game
    }
}
