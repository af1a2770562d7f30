//! Random days of a queue whose matches are given servers, before a fleet that answers late, twice, or not until the queue was rebuilt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{MatchId, StateMachine, TicketId};
use mainstay_matchmaking::spec::{Declared, Expansion, Gather, QueueSpec, ServerAllocation, Venue};
use mainstay_matchmaking::{Caller, Command, Outcome, Owed, Rejection, ServerDetails, Target};
use proptest::prelude::*;

use crate::world::{
    World, declared, difference, growing, latencies, number_value, player, region, seated, selection,
};

#[derive(Debug, Clone, Copy)]
enum Step {
    /// A player of this skill, who gives up after so many seconds, and measured the regions of one of few providers besides: of all
    /// of them there are more than a queue has room for.
    Solo(u8, u8, u8),
    Game(u8),
    Cancel(u8),
    Pass(u16),
    /// The fleet hears of what is owed.
    Hear,
    /// It has a server for one that it heard of; or none.
    Serve(u8),
    Refuse(u8),
    /// An answer that was given before comes again.
    Repeat(u8),
    Configure(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0_u8..6, 1_u8..60, 0_u8..4).prop_map(|(skill, patience, of)| Step::Solo(skill, patience, of)),
        1 => (0_u8..6).prop_map(Step::Game),
        2 => any::<u8>().prop_map(Step::Cancel),
        4 => (0_u16..9_000).prop_map(Step::Pass),
        6 => Just(Step::Hear),
        3 => any::<u8>().prop_map(Step::Serve),
        2 => any::<u8>().prop_map(Step::Refuse),
        1 => any::<u8>().prop_map(Step::Repeat),
        1 => any::<bool>().prop_map(Step::Configure),
    ];
    proptest::collection::vec(step, 1..40)
}

/// One that gathers, or does not.
fn gathers() -> impl Strategy<Value = Gather> {
    prop_oneof![2 => Just(0), 1 => Just(100), 1 => Just(2_300)].prop_map(Gather::for_ms)
}

fn queue(wide: bool, gather: Gather) -> QueueSpec {
    let skill = difference("skill", growing(if wide { 2.0 } else { 1.0 }, 1.0, 5.0, 5));
    let allocation = ServerAllocation { fleet: "f".into(), build_configuration: "b".into(), build: None };
    let rules = vec![skill, selection(Expansion::Fixed(100))];
    let venue = Some(Venue::Server(allocation));
    QueueSpec::new(Declared { venue, gather, ..declared(2, 3, rules) }).unwrap()
}

/// What a fleet knows of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allocation {
    Asked,
    Serves,
    Over,
}

/// A day: the queue, and the fleet beside it, which survives whatever happens to the queue.
struct Day {
    world: World,
    fleet: BTreeMap<MatchId, Allocation>,
    made: Vec<TicketId>,
    players: u32,
    gather: Gather,
}

impl Day {
    fn new(gather: Gather) -> Self {
        let world = World::new(queue(false, gather));
        Self { world, fleet: BTreeMap::new(), made: Vec::new(), players: 0, gather }
    }

    fn owed(&self) -> Vec<Owed> {
        let ids = self.world.queue.holds().map(|hold| hold.asked()).chain(self.world.queue.undos());
        ids.filter_map(|id| self.world.queue.owed(&Target::Allocation(id))).collect()
    }

    /// The fleet hears of everything that is owed, as often as it is owed.
    fn hear(&mut self) {
        for owed in self.owed() {
            match owed {
                Owed::Allocate(ask) if ask.from <= self.world.now => {
                    self.fleet.entry(ask.id).or_insert(Allocation::Asked);
                }
                Owed::Allocate(_) => {}
                Owed::Undo { id, .. } => {
                    if let Some(known) = self.fleet.get_mut(&id) {
                        *known = Allocation::Over;
                    }
                    self.world.answer(id, Outcome::Undone);
                }
            }
        }
    }

    fn answer(&mut self, which: u8, becomes: Allocation) {
        let asked: Vec<MatchId> =
            self.fleet.iter().filter(|(_, known)| **known == Allocation::Asked).map(|(id, _)| *id).collect();
        if let Some(id) = asked.get(usize::from(which) % asked.len().max(1)) {
            self.fleet.insert(*id, becomes);
            self.tell(*id, becomes);
        }
    }

    fn tell(&mut self, id: MatchId, known: Allocation) {
        match known {
            Allocation::Serves => {
                let server = ServerDetails { server_id: Some("s".into()), ..region("eu") };
                self.world.answer(id, Outcome::Placed(Arc::new(server)));
            }
            Allocation::Over => {
                self.world.answer(id, Outcome::Refused { code: "MS-P006".into(), regions: 1 })
            }
            Allocation::Asked => {}
        }
    }

    fn step(&mut self, step: Step) {
        let values = |skill: u8, of: u8| {
            let others: Vec<String> = (0..24).map(|at| format!("{of}-{at}")).collect();
            let others = others.iter().map(|name| (name.as_str(), 90));
            let own: Vec<_> = [("eu", 20), ("us", 30)].into_iter().chain(others).collect();
            [number_value(f64::from(skill)), latencies(&own)]
        };
        match step {
            Step::Solo(skill, patience, of) => {
                self.players += 1;
                let name = format!("p{}", self.players);
                let (ticket, form) = (self.world.id(), self.world.queue.form());
                let command = Command::CreateTicket {
                    ticket,
                    caller: Caller::Player(player(&name)),
                    creator: crate::world::member(&name, &values(skill, of)),
                    invited: vec![],
                    give_up_after: patience.into(),
                    form,
                };
                match self.world.run(command) {
                    Ok(_) => self.made.push(ticket),
                    Err(refused) => assert_eq!(refused, Rejection::TooManyValues),
                }
            }
            Step::Game(skill) => {
                self.players += 1;
                let own = [number_value(f64::from(skill)), None];
                self.world.backfill(vec![seated(&format!("g{}", self.players), "", &own)], region("eu"));
            }
            Step::Cancel(which) => {
                if let Some(ticket) = self.made.get(usize::from(which) % self.made.len().max(1)) {
                    // It may be over.
                    let _either = self.world.cancel(*ticket, Caller::Title);
                }
            }
            Step::Pass(ms) => self.world.pass(Duration::from_millis(ms.into())),
            Step::Hear => self.hear(),
            Step::Serve(which) => self.answer(which, Allocation::Serves),
            Step::Refuse(which) => self.answer(which, Allocation::Over),
            Step::Repeat(which) => {
                let known: Vec<_> = self.fleet.iter().map(|(id, known)| (*id, *known)).collect();
                if let Some((id, known)) = known.get(usize::from(which) % known.len().max(1)) {
                    self.tell(*id, *known);
                }
            }
            Step::Configure(wide) => {
                self.world.run(Command::Configure(Arc::new(queue(wide, self.gather)))).unwrap();
            }
        }
    }

    /// Servers that play for nobody: neither for a match, nor owed an end, nor asked for.
    fn stray(&self) -> Vec<MatchId> {
        let formed: BTreeSet<MatchId> = self.world.formed_ids().collect();
        let owed: BTreeSet<MatchId> = self
            .owed()
            .iter()
            .map(|owed| match owed {
                Owed::Allocate(ask) => ask.id,
                Owed::Undo { id, .. } => *id,
            })
            .collect();
        let live = self.fleet.iter().filter(|(_, known)| **known != Allocation::Over).map(|(id, _)| *id);
        live.filter(|id| !formed.contains(id) && !owed.contains(id)).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Never more servers than matches, at any moment of any day; and once the fleet has heard of all, none is left over.
    #[test]
    fn a_server_plays_for_a_match_or_is_undone(steps in steps(), gather in gathers()) {
        let mut day = Day::new(gather);
        for it in steps {
            day.step(it);
            prop_assert_eq!(day.stray(), vec![]);
        }
        day.world.seconds(61);
        day.hear();
        day.hear();
        prop_assert_eq!(day.owed(), vec![]);
        let serving: BTreeSet<MatchId> =
            day.fleet.iter().filter(|(_, known)| **known == Allocation::Serves).map(|(id, _)| *id).collect();
        // Those of games have theirs already.
        let formed: BTreeSet<MatchId> = day.world.formed_ids().collect();
        prop_assert!(serving.is_subset(&formed), "{serving:?} {formed:?}");
    }

    /// Same input, same story: with the engine forgotten, the queue rebuilt from its snapshot, or from its journal, at any moment.
    #[test]
    fn a_rebuilt_queue_holds_and_releases_the_same(steps in steps(), cuts in any::<u64>(), gather in gathers()) {
        let mut days = [(); 4].map(|()| Day::new(gather));
        for (at, it) in steps.into_iter().enumerate() {
            if cuts >> (at % 64) & 1 == 1 {
                days[1].world.forget();
                days[2].world.queue = days[2].world.rebuilt();
                days[3].world.queue = days[3].world.replayed();
            }
            for day in &mut days {
                day.step(it);
            }
            for other in 1..4 {
                prop_assert_eq!(&days[0].world.journal, &days[other].world.journal, "world {}", other);
            }
        }
        prop_assert_eq!(days[0].world.queue.snapshot(), days[0].world.rebuilt().snapshot());
        prop_assert_eq!(days[0].world.queue.snapshot(), days[0].world.replayed().snapshot());
    }
}
