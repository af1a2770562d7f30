//! What holds of every queue on every day: judged by an oracle that tries everything.

use std::fmt::Write as _;
use std::sync::Arc;

use mainstay_core::{StateMachine, TicketId, Timestamp};
use mainstay_matchmaking::spec::QueueSpec;
use mainstay_matchmaking::{
    BackfillStage, BackfillTicket, Caller, Command, Event, Queue, Stage, Ticket, laws,
};
use proptest::prelude::*;

use crate::draw::{Dice, gathering, queue};
use crate::oracle::{Waiting, looked_at, missed_among, waiting, why_not};
use crate::random::{Step, step};
use crate::world::World;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => any::<u64>().prop_map(Step::Solo),
        3 => any::<u64>().prop_map(Step::Party),
        2 => any::<u64>().prop_map(Step::Group),
        3 => any::<u64>().prop_map(Step::Game),
        3 => any::<u64>().prop_map(Step::Kept),
        1 => any::<u8>().prop_map(Step::Over),
        1 => any::<u8>().prop_map(Step::Cancel),
        1 => any::<u8>().prop_map(Step::Twice),
        4 => (0_u16..9_000).prop_map(Step::Pass),
        1 => any::<u64>().prop_map(Step::Configure),
    ];
    proptest::collection::vec(step, 1..24)
}

/// How many tickets may wait for the oracle to try everything in bearable time.
const TRIED_MAX: usize = 9;

/// The story of a day, each match judged as it is told.
struct Judge {
    shadow: Queue,
    told: usize,
}

impl Judge {
    fn judge(&mut self, world: &World) -> Result<(), TestCaseError> {
        for (at, event) in &world.journal[self.told..] {
            if let Event::MatchFormed { tickets, backfill, .. } = event {
                let spec = self.shadow.spec().unwrap().clone();
                let game = backfill.as_ref().map(|filled| filled.ticket);
                let all: Vec<TicketId> = tickets.iter().map(|(ticket, _)| *ticket).chain(game).collect();
                let mut group = waiting(&self.shadow);
                group.retain(|it| all.contains(&it.id()));
                prop_assert_eq!(group.len(), all.len(), "whoever is matched was waiting");
                prop_assert_eq!(why_not(&spec, &group, *at), None, "at {:?}: {:#?}", at, group);
            }
            self.shadow.apply(*at, event);
            if let Event::MatchFormed { id, backfill, .. } = event {
                self.judge_seats((*id, *at), backfill.is_some())?;
            }
        }
        self.told = world.journal.len();
        Ok(())
    }

    /// The teams of a match as it stands: sizes, wholes, and the seats that were taken before.
    fn judge_seats(
        &self,
        (id, at): (mainstay_core::MatchId, Timestamp),
        has_game: bool,
    ) -> Result<(), TestCaseError> {
        let spec = self.shadow.spec().unwrap();
        let formed = self.shadow.formed_match(id, &Caller::Title, at).unwrap();
        if spec.teams.is_empty() {
            prop_assert!(formed.members.iter().all(|seated| seated.team.is_none()));
            return Ok(());
        }
        for team in &spec.teams {
            let players =
                formed.members.iter().filter(|seated| seated.team.as_ref() == Some(&team.name)).count();
            prop_assert!((team.min as usize..=team.max as usize).contains(&players), "{formed:#?}");
        }
        prop_assert_eq!(formed.server.is_some(), has_game);
        let matched =
            |ticket: &&Arc<Ticket>| matches!(ticket.stage, Stage::Matched { id: in_it, .. } if in_it == id);
        for ticket in self.shadow.tickets().filter(matched) {
            let teams: Vec<_> = ticket
                .members
                .iter()
                .filter_map(|member| formed.members.iter().find(|seated| seated.member == *member))
                .map(|seated| seated.team.clone())
                .collect();
            prop_assert!(teams.windows(2).all(|pair| pair[0] == pair[1]), "a ticket is not divided");
        }
        let filled = |game: &&Arc<BackfillTicket>| matches!(game.stage, BackfillStage::Matched { id: in_it, .. } if in_it == id);
        for game in self.shadow.backfills().filter(filled) {
            for seated in game.members.iter().filter(|seated| seated.team.is_some()) {
                prop_assert!(formed.members.contains(seated), "a team was changed");
            }
        }
        Ok(())
    }
}

fn told(journal: &[(Timestamp, Event)]) -> String {
    journal.iter().fold(String::new(), |mut text, (at, event)| {
        writeln!(text, "{at:?} {event:?}").unwrap();
        text
    })
}

/// A group that was a match when anybody was looked at last.
fn missed(spec: &QueueSpec, world: &World) -> Option<Vec<Waiting>> {
    let configured =
        |(at, event): &(Timestamp, Event)| matches!(event, Event::Configured { .. }).then_some(*at);
    let configured = world.journal.iter().rev().find_map(configured).unwrap();
    let (all, at) = looked_at(spec, &world.queue, configured, world.now);
    if all.len() <= TRIED_MAX { missed_among(spec, &all, at) } else { None }
}

/// Four queues live the same days: one untouched, one whose engine is forgotten, one rebuilt from its snapshot and one from its journal.
fn live_alike(queue: impl Fn() -> QueueSpec, steps: Vec<Step>, cuts: u64) -> Result<(), TestCaseError> {
    let mut worlds = [(); 4].map(|()| World::new(queue()));
    let mut specs = [(); 4].map(|()| queue());
    let mut made = [const { Vec::new() }; 4];
    for (at, it) in steps.into_iter().enumerate() {
        if cuts >> (at % 64) & 1 == 1 {
            worlds[1].forget();
            worlds[2].queue = worlds[2].rebuilt();
            worlds[3].queue = worlds[3].replayed();
        }
        for world in 0..4 {
            step(&mut worlds[world], &mut specs[world], &mut made[world], it);
        }
        for other in 1..4 {
            prop_assert_eq!(told(&worlds[0].journal), told(&worlds[other].journal), "world {}", other);
        }
    }
    prop_assert_eq!(laws::all(&worlds[0].rebuilt()), Ok(()));
    prop_assert_eq!(worlds[0].queue.snapshot(), worlds[0].rebuilt().snapshot());
    prop_assert_eq!(worlds[0].queue.snapshot(), worlds[0].replayed().snapshot());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Every match keeps every rule at the moment it is formed, and where few wait none is missed.
    #[test]
    fn every_match_is_one_and_none_is_missed(seed in any::<u64>(), steps in steps()) {
        let mut spec = queue(&mut Dice(seed));
        let mut world = World::new(spec.clone());
        let mut judge = Judge { shadow: Queue::new(3), told: 0 };
        let mut made = Vec::new();
        for it in steps {
            step(&mut world, &mut spec, &mut made, it);
            judge.judge(&world)?;
            let left = missed(&spec, &world);
            prop_assert!(left.is_none(), "missed at {:?}: {:#?}\n{:#?}", world.now, left, spec);
        }
    }

    /// What trying everything passes over is no match: where a queue is paused and none is formed, it finds one whenever there is any.
    #[test]
    fn trying_everything_passes_over_no_match(seed in any::<u64>(), steps in steps()) {
        let mut spec = queue(&mut Dice(seed));
        let mut world = World::new(spec.clone());
        world.run(Command::Pause).unwrap();
        let mut made = Vec::new();
        for it in steps {
            step(&mut world, &mut spec, &mut made, it);
            let all = waiting(&world.queue);
            if all.len() > TRIED_MAX {
                break;
            }
            let mut groups = (0..1_u32 << all.len()).map(|group| {
                let inside = all.iter().enumerate().filter(|(at, _)| group >> at & 1 == 1);
                inside.map(|(_, it)| it.clone()).collect::<Vec<Waiting>>()
            });
            let any = groups.any(|group| why_not(&spec, &group, world.now).is_none());
            prop_assert_eq!(missed_among(&spec, &all, world.now).is_some(), any, "{:#?}\n{:#?}", all, spec);
        }
    }

    /// Same input, same matches: also with the engine forgotten at any moment, and with the queue rebuilt from its snapshot
    /// or its journal.
    #[test]
    fn a_rebuilt_queue_forms_the_same_matches(seed in any::<u64>(), steps in steps(), cuts in any::<u64>()) {
        live_alike(|| queue(&mut Dice(seed)), steps, cuts)?;
    }

    /// The same of queues that gather, where a match is missed if it was one when anybody was looked at last.
    #[test]
    fn every_match_of_a_queue_that_gathers_is_one_and_none_is_missed(seed in any::<u64>(), steps in steps()) {
        let mut spec = gathering(&mut Dice(seed));
        let mut world = World::new(spec.clone());
        let mut judge = Judge { shadow: Queue::new(3), told: 0 };
        let mut made = Vec::new();
        for it in steps {
            step(&mut world, &mut spec, &mut made, it);
            judge.judge(&world)?;
            let left = missed(&spec, &world);
            prop_assert!(left.is_none(), "missed at {:?}: {:#?}\n{:#?}", world.now, left, spec);
        }
    }

    #[test]
    fn a_rebuilt_queue_that_gathers_forms_the_same_matches(seed in any::<u64>(), steps in steps(), cuts in any::<u64>()) {
        live_alike(|| gathering(&mut Dice(seed)), steps, cuts)?;
    }
}
