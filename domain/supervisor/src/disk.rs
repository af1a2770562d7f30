//! Which files of a machine are deleted when they are more than its disk budget: one budget for old builds, cores, evidence
//! and logs, so that a machine never fills up by the one that nobody looked at.
//!
//! The order is what is lost by it: an old build is fetched again, a core is large and its evidence says the rest, evidence
//! explains an end that somebody may still ask about, and a log is the last that is known of a session. Within a kind, what
//! was used longest ago goes first. What is fresh goes last, and only so that the disk keeps free what it should: without that the
//! journal and the games would stop. What a running or ordered server needs is never deleted, whatever the budget says.

use alloc::vec::Vec;

use mainstay_core::Timestamp;

/// What can be deleted, in the order in which it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A build's install.
    Build,
    /// A core dump.
    Core,
    /// What is kept of a process that ended as nobody wished.
    Evidence,
    /// A log file.
    Log,
}

/// Whether something may be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A running or ordered server needs it, or writes it now.
    Needed,
    /// Nobody does, but it is of now: a log that somebody may just be reading. It goes for nothing but what the disk keeps free.
    Fresh,
    /// Nobody does.
    Spare,
}

/// Something that takes room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// How much room it takes, in bytes; what its deletion gives back.
    pub bytes: u64,
    /// When it was last used or written.
    pub used: Timestamp,
    /// Whether it may go.
    pub standing: Standing,
}

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// How many bytes all items together may take.
    pub budget: u64,
    /// How many bytes the disk has free now.
    pub free: u64,
    /// How many it keeps free, for the journal and the system.
    pub free_min: u64,
    /// How many bytes are about to come.
    pub incoming: u64,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What is deleted, in this order: places in the list that was given.
    pub delete: Vec<usize>,
    /// How many of the incoming bytes find no room even then. Nothing is deleted for their sake where they do not all fit.
    pub short: u64,
}

/// What is deleted so that `items` and what is incoming fit.
#[must_use]
pub fn plan(items: &[Item], room: Room) -> Plan {
    let with = evict(items, room);
    if with.short == 0 || room.incoming == 0 {
        return with;
    }
    let without = evict(items, Room { incoming: 0, ..room });
    Plan { delete: without.delete, short: with.short.min(room.incoming) }
}

fn evict(items: &[Item], room: Room) -> Plan {
    let taken = items.iter().fold(room.incoming, |sum, item| sum.saturating_add(item.bytes));
    let over_budget = taken.saturating_sub(room.budget);
    let over_disk = room.free_min.saturating_add(room.incoming).saturating_sub(room.free);
    let mut excess = over_budget.max(over_disk);
    let mut below_floor = room.free_min.saturating_sub(room.free);
    let mut delete = Vec::new();
    for standing in [Standing::Spare, Standing::Fresh] {
        let of_standing =
            items.iter().enumerate().filter(|(_, item)| item.standing == standing && item.bytes > 0);
        let mut spare: Vec<(usize, &Item)> = of_standing.collect();
        spare.sort_by_key(|(place, item)| (item.kind, item.used, *place));
        for (place, item) in spare {
            let goes = match standing {
                Standing::Spare => excess > 0,
                Standing::Fresh => below_floor > 0,
                Standing::Needed => false,
            };
            if !goes {
                break;
            }
            excess = excess.saturating_sub(item.bytes);
            below_floor = below_floor.saturating_sub(item.bytes);
            delete.push(place);
        }
    }
    Plan { delete, short: excess }
}
