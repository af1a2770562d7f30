//! Matching, by example and by law.

#![expect(clippy::unwrap_used, clippy::unwrap_in_result, reason = "a test may panic")]

mod again;
mod cursor;
mod draw;
mod gather;
mod gauges;
mod giving_way;
mod laws;
mod leases;
mod names;
mod numberless;
mod oracle;
mod pause;
mod placement;
mod placement_days;
mod places;
mod random;
mod rehearsal;
mod room;
mod rules;
mod seed_004;
mod tickets;
mod unmatchable;
mod weights;
mod why;
mod why_pairs;
mod why_together;
mod world;
