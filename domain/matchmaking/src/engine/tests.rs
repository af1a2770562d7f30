//! The index and the walk through it, against a list that is sorted anew each time.

use core::ops::{Range, RangeInclusive};
use std::vec::Vec;

use mainstay_core::Timestamp;
use proptest::prelude::*;

use super::block::{Block, Entry, Filter, Mark, Marks, Texts};
use super::card::Card;
use super::census::Census;
use super::filling::Fillings;
use super::group::Group;
use super::index::Index;
use super::key::Key;
use super::plan::Plan;
use super::slab::{Company, Handle, Kind, Layout, Shape, Slab, WILD};
use super::spot::Spots;
use super::walk::Walk;
use super::{Engine, Look, Newcomer};
use crate::attribute::{Facts, Text};
use crate::spec::{
    Attribute, Declared, Enforced, Expansion, Gather, Missing, QueueSpec, Rule, RuleKind, Source, TeamSpec,
    Unread, Visibility, Weight,
};

/// What stands in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Listed {
    number: i64,
    arrival: u64,
    handle: Handle,
    players: u8,
    regions: u64,
    set: u64,
}

/// What is asked, and of whom it is true.
#[derive(Debug, Clone, Copy)]
struct Asked {
    room: u8,
    regions: u64,
    set: u64,
}

impl Asked {
    fn filter(self) -> Filter {
        Filter::new(
            self.room,
            self.regions,
            Some(self.set),
            self.text().map_or(Texts::NONE, Texts::of),
            Vec::new(),
        )
    }

    /// Rooms of three sizes ask for a text.
    fn text(self) -> Option<u64> {
        (self.room > 2).then_some(self.room.into())
    }
}

impl Listed {
    fn entry(&self) -> Entry {
        let Self { number, arrival, handle, players, regions, set } = *self;
        Entry {
            key: Key::new(number, arrival),
            handle,
            marks: Marks::new(players, regions, set, self.texts()),
        }
    }

    /// Of six one fits any text, and one none.
    fn texts(&self) -> Texts {
        match self.arrival % 6 {
            0 => Texts::ANY,
            1 => Texts::NONE,
            text => Texts::of(text),
        }
    }

    /// In the property below these allow no difference by number.
    fn is_exact(&self) -> bool {
        self.number != WILD && self.number % 3 == 0
    }

    fn passes(&self, asked: Asked) -> bool {
        let of_text = |text| [Texts::ANY, Texts::of(text)].contains(&self.texts());
        self.players <= asked.room
            && self.regions & asked.regions != 0
            && self.set & asked.set != 0
            && asked.text().is_none_or(of_text)
    }

    /// As the walk orders: by distance, then arrival.
    fn away(&self, from: i64) -> i64 {
        if self.number == WILD || from == WILD { 0 } else { (self.number - from).abs() }
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Insert { number: i64, players: u8, regions: u64, set: u64 },
    Remove(usize),
    Regions(usize, u64),
    Walk { from: i64, reach: i64, filter: (u8, u64, u64), narrow: (usize, u64) },
}

fn numbers() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -40_i64..40, 1 => Just(WILD), 1 => Just(7)]
}

fn masks() -> impl Strategy<Value = u64> {
    prop_oneof![1 => Just(u64::MAX), 3 => 1_u64..16]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (numbers(), 1_u8..6, masks(), masks())
            .prop_map(|(number, players, regions, set)| Step::Insert { number, players, regions, set }),
        5 => any::<usize>().prop_map(Step::Remove),
        1 => (any::<usize>(), masks()).prop_map(|(at, regions)| Step::Regions(at, regions)),
        2 => (numbers(), 0_i64..80, (1_u8..6, masks(), masks()), (0_usize..40, masks()))
            .prop_map(|(from, reach, filter, narrow)| Step::Walk { from, reach, filter, narrow }),
    ];
    proptest::collection::vec(step, 1..900)
}

fn plan() -> Plan {
    plan_of(2, Vec::new())
}

/// Of so many players, without rules.
fn plan_of(players: u32, teams: Vec<TeamSpec>) -> Plan {
    Plan::new(&spec_of(players..=players, teams, Vec::new()))
}

/// A queue for so many players, and rules of these kinds.
pub(super) fn spec_of(players: RangeInclusive<u32>, teams: Vec<TeamSpec>, rules: Vec<RuleKind>) -> QueueSpec {
    let rule = |(at, kind)| Rule { name: std::format!("{at}").into(), optional_after: None, kind };
    let declared = Declared {
        name: "q".into(),
        min_match_size: *players.start(),
        max_match_size: *players.end(),
        max_ticket_size: None,
        teams,
        rules: rules.into_iter().enumerate().map(rule).collect(),
        regions: Vec::new(),
        visibility: Visibility::default(),
        venue: None,
        gather: Gather::NONE,
        unread: Unread::default(),
    };
    QueueSpec::new(declared).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Whatever came and went, the index has what the list has, in its order, and a walk meets what the list would give.
    #[test]
    fn an_index_is_a_sorted_list(steps in steps()) {
        let plan = plan();
        let mut slab = Slab::new(Layout::new(&plan, &[], 0));
        let (mut index, mut exact) = (Index::new(0), Index::new(0));
        let mut list: Vec<Listed> = Vec::new();
        let mut arrival = 0;
        let mut told: Vec<Handle> = Vec::new();
        // Where those stood who were met, perhaps long ago.
        let mut spots = Spots::default();
        for step in steps {
            if !matches!(step, Step::Insert { .. }) {
                index.let_in(&slab, None);
                exact.let_in(&slab, Some(&mut told));
            }
            match step {
                Step::Insert { number, players, regions, set } => {
                    arrival += 1;
                    let shape = Shape { players, room: 9, step: 0, kind: Kind::Ordinary, any_sets: 0, company: Company::Alone };
                    let handle = slab.add(arrival, 0, shape).handle;
                    let listed = Listed { number, arrival, handle, players, regions, set };
                    if listed.is_exact() { &mut exact } else { &mut index }.expect(listed.entry());
                    list.push(listed);
                    list.sort_by_key(|it| (it.number, it.arrival));
                }
                Step::Remove(at) if !list.is_empty() => {
                    let gone = list.remove(at % list.len());
                    let index = if gone.is_exact() { &mut exact } else { &mut index };
                    index.remove(Key::new(gone.number, gone.arrival), spots.of(gone.handle), &slab);
                    slab.remove(gone.handle);
                    told.retain(|handle| *handle != gone.handle);
                }
                Step::Regions(at, regions) if !list.is_empty() => {
                    let at = at % list.len();
                    list[at].regions = regions;
                    let Entry { key, marks, .. } = list[at].entry();
                    if list[at].is_exact() { &mut exact } else { &mut index }.set_marks(key, marks);
                }
                Step::Remove(_) | Step::Regions(..) => {}
                Step::Walk { from, reach, filter: (room, regions, set), narrow: (after, narrowed) } => {
                    let asked = Asked { room, regions, set };
                    let near = |it: &&Listed| match it.is_exact() && from != WILD {
                        true => it.number == from,
                        false => it.away(from) <= reach,
                    };
                    let mut expected: Vec<Listed> =
                        list.iter().filter(|it| it.passes(asked)).filter(near).copied().collect();
                    if from != WILD {
                        expected.sort_by_key(|it| (it.away(from), it.arrival));
                    }
                    // Whoever is there is counted, lane by lane.
                    let window = if from == WILD { (i64::MIN, i64::MAX) } else { (from - reach, from + reach) };
                    let lanes = (0..4).flat_map(|region| (0..4).map(move |value| (region, value)));
                    let is_asked = |(region, value): &(u32, u32)| regions >> region & set >> value & 1 == 1;
                    for (region, value) in lanes.filter(is_asked) {
                        let here = |it: &&Listed| it.regions >> region & it.set >> value & 1 == 1;
                        let there: u32 = expected.iter().filter(|it| !it.is_exact()).filter(here).map(|it| u32::from(it.players)).sum();
                        let lane = (Some(Mark::of_region(region)), Some(Mark::of_value(value)));
                        if let Some(census) = Census::of(&index, window, &asked.filter(), &[lane], there) {
                            prop_assert!(census.enough().any(|lane| lane == 0));
                            let within = |it: &&Listed| (window.0..=window.1).contains(&it.number) && !it.is_exact();
                            let lane_of = list.iter().filter(within).filter(|it| it.passes(asked)).filter(here);
                            prop_assert_eq!(census.of_lane(lane).collect::<Vec<_>>(), lane_of.map(|it| it.handle).collect::<Vec<_>>());
                        }
                    }
                    let numbered = Walk::of_numbers(&index, window, asked.filter()).map(|met| met.handle).collect::<Vec<_>>();
                    let has_number = |it: &&Listed| it.number != WILD && it.number <= window.1 && !it.is_exact();
                    let those = list.iter().filter(|it| it.passes(asked)).filter(has_number);
                    prop_assert_eq!(numbered, those.map(|it| it.handle).collect::<Vec<_>>());
                    // A group always has something that all of it can play by.
                    let common = if regions & narrowed == 0 { regions } else { regions & narrowed };
                    let narrower = Asked { regions: common, ..asked };
                    let mut walk = Walk::new(&index, from, window, asked.filter());
                    walk.through(&exact);
                    let mut met = Vec::new();
                    for _ in 0..after {
                        let next = walk.next();
                        next.iter().for_each(|met| spots.keep(met.handle, met.spot));
                        met.extend(next.map(|met| met.handle));
                    }
                    let first: Vec<Handle> = expected.iter().take(after).map(|it| it.handle).collect();
                    prop_assert_eq!(met, first);
                    // Four may have been fetched ahead; from then on only what passes the narrower filter comes.
                    walk.narrow(narrower.filter(), window);
                    let later: Vec<Handle> = walk.map(|met| met.handle).collect();
                    let passing = |it: &&Listed| it.passes(narrower);
                    let rest: Vec<Handle> = expected.iter().skip(after).filter(passing).map(|it| it.handle).collect();
                    let kept: Vec<Handle> = later.iter().filter(|it| rest.contains(it)).copied().collect();
                    prop_assert_eq!(kept, rest);
                    prop_assert!(later.len() <= expected.iter().skip(after).filter(passing).count() + 4);
                }
            }
        }
        for (index, is_exact) in [(&mut index, false), (&mut exact, true)] {
            index.let_in(&slab, is_exact.then_some(&mut told));
            let here: Vec<&Listed> = list.iter().filter(|it| it.is_exact() == is_exact).collect();
            prop_assert_eq!(index.len(), here.len());
            prop_assert_eq!(index.handles().collect::<Vec<_>>(), here.iter().map(|it| it.handle).collect::<Vec<_>>());
            prop_assert_eq!(index.eldest(), here.iter().map(|it| it.arrival).min());
            for (at, it) in here.iter().enumerate() {
                let equals = here[at..].iter().take_while(|other| other.number == it.number);
                let found: Vec<Handle> = index.equals_from(Key::new(it.number, it.arrival)).collect();
                prop_assert_eq!(&found, &equals.map(|it| it.handle).collect::<Vec<_>>());
                // Whoever is not alone was told so, however many came together.
                prop_assert!(!is_exact || found.len() == 1 || found.iter().all(|handle| told.contains(handle)));
            }
        }
    }

    /// Two sets that meet, meet folded: a filter never refuses what fits.
    #[test]
    fn folding_loses_no_meeting(one in any::<u64>(), other in any::<u64>(), players in 0_u8..40, room in 1_u8..40, text in 0_u64..99) {
        let mut block = Block::new(0);
        let entry = Entry { key: Key::new(0, 0), handle: 0, marks: Marks::new(players, one, one, Texts::of(text)) };
        block.insert(&entry, |_| 0);
        let fits = one & other != 0 && players <= room;
        let filter = Filter::new(room, other, Some(other), Texts::of(text), Vec::new());
        prop_assert!(!fits || (block.candidates(&filter) == 1 && block.summary.admits(&filter)));
    }
}

/// What the steps of these cards allow.
const REACH: [i64; 2] = [10, 20];

fn cards() -> impl Strategy<Value = Card> {
    let number = prop_oneof![8 => 0_i64..30, 1 => Just(WILD)];
    (number, masks(), masks(), 0_u16..2, 1_u8..6, 4_u8..11).prop_map(
        |(number, regions, values, step, players, room)| Card {
            arrival: 0,
            number,
            reach: REACH[usize::from(step)],
            regions,
            values,
            handle: 0,
            need: u16::from(values != u64::MAX),
            step,
            players,
            room: room.max(players),
            kind: Kind::Ordinary,
            fits_any_list: values == u64::MAX,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// Of those in its step and within its window a lone ticket lets in whom its group admits, and nobody else.
    #[test]
    fn whoever_is_alike_is_judged_alike(seed in cards(), other in cards()) {
        let teams = ["red", "blue"].map(|name| TeamSpec { name: name.into(), min: 5, max: 5 });
        let plan = plan_of(10, teams.to_vec());
        let slab = Slab::new(Layout::new(&plan, &[], 0));
        let mut group = Group::default();
        group.reset(&plan, slab.layout());
        prop_assert!(group.push(&plan, &slab, &seed));
        let (low, high) = group.window();
        let likeness = group.likeness(&plan).unwrap();
        if other.number == WILD || (low..=high).contains(&other.number) {
            let (lets_in, admits) = (likeness.lets_in(&other), group.admits(&plan, &slab, &other));
            prop_assert!(admits || !lets_in);
            prop_assert!(lets_in || !admits || seed.step != other.step);
        }
    }

    /// Whoever is offered to a lane bit by bit is taken as a group would take them one by one.
    #[test]
    fn a_lane_takes_whom_a_group_takes(seed in cards(), others in proptest::collection::vec(cards(), 0..24), first in any::<usize>()) {
        let teams = ["red", "blue"].map(|name| TeamSpec { name: name.into(), min: 5, max: 5 });
        let plan = plan_of(10, teams.to_vec());
        let slab = Slab::new(Layout::new(&plan, &[], 0));
        let others: Vec<Card> = (1..).zip(others).map(|(handle, card)| Card { handle, ..card }).collect();
        let mut group = Group::default();
        group.reset(&plan, slab.layout());
        prop_assert!(group.push(&plan, &slab, &seed));
        let mut fillings = Fillings::default();
        let filling = fillings.of(3, group.frame());
        let places = |some: Range<usize>| (some.start as u16..).zip(&others[some]);
        let first = first % (others.len() + 1);
        for some in [0..first, first..others.len()] {
            group.offer(&plan, filling, places(some));
        }
        group.push_filling(filling, |place| others[usize::from(place)].handle);
        let taken = (group.members().to_vec(), group.window(), group.players(), group.eldest_step(), group.larges());
        group.shrink(1);
        for other in &others {
            if group.players() < group.room() {
                group.push(&plan, &slab, other);
            }
        }
        let expected = (group.members().to_vec(), group.window(), group.players(), group.eldest_step(), group.larges());
        prop_assert_eq!(taken, expected);
    }
}

/// However many are near who have another text than a rule allows: nobody of them is met, and whoever says none is.
#[test]
fn whoever_has_another_text_is_passed_by() {
    let (missing, weight) = (Missing::MatchAny, Weight::DEFAULT);
    let attribute = Attribute { source: Source::User, path: "build".into() };
    let enforced = Expansion::Fixed(Enforced);
    let rule = RuleKind::StringEquality { attribute, weight, missing, enforced };
    let mut engine = Engine::new(&spec_of(2..=2, Vec::new(), [rule].into()), Timestamp::EPOCH, 0);
    let mut insert = |arrival: u64, text: Text| {
        let facts = Facts { players: 1, texts: [text].into(), ..Facts::default() };
        let since = Timestamp::EPOCH;
        engine.insert(Newcomer { facts: &facts, room: 2, since, arrival, back: None, game: None }, None)
    };
    let old = insert(1, Text::Same("old".into()));
    (2..100).for_each(|arrival| {
        insert(arrival, Text::Same("new".into()));
    });
    let any = insert(100, Text::Any);
    let Look::Match(_, found) = engine.look(Timestamp::EPOCH) else { panic!("two fit each other") };
    assert_eq!(found.tickets, [(old, None), (any, None)]);
    assert_eq!(engine.judged()[0].1, 0, "nobody was asked in vain");
}
