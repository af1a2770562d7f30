//! What every store behind the port promises. [`contract!`] makes one test of each promise for a store.

use mainstay_journal::{
    AppendError, EVENT_BYTES_MAX, Epoch, FORGET_STEP_TURNS_MAX, Forgot, Journal, LEASE, LeadError, Lease,
    LeaseError, MaintainError, PAGE_BYTES_MAX, ReadError, Reader, Seq, Space,
};
use proptest::prelude::*;

use crate::fixture::{Nodes, Store, Teller, at, read_all, shard};

/// One test of each promise, for the store that an expression makes; or, with `run`, each promise at once, for stores that
/// a function of the promise's name makes.
macro_rules! contract {
    (run $make:expr) => { $crate::contract::contract!(@list run $make); };
    ($new:expr) => { $crate::contract::contract!(@list tests $new); };
    (@list $how:ident $new:expr) => {
        $crate::contract::contract!(@$how $new; starts_empty, reads_back_what_was_appended, refuses_other_sequences,
            refuses_other_epochs, writes_a_batch_whole_or_not_at_all, leading_again_fences_the_older_leadership,
            survives_closing, pages_by_turns_and_bytes, reads_from_within_a_turn, readers_see_what_is_durable,
            snapshots_come_in_chunks, snapshots_are_refused_out_of_order, forgets_in_steps_what_is_covered,
            a_newer_snapshot_replaces_the_older, an_unfinished_snapshot_is_not_seen, does_as_a_plain_list_does);
    };
    (@tests $new:expr; $($promise:ident),+) => {
        $(#[test]
        fn $promise() {
            let mut store = $new;
            $crate::contract::$promise(&mut store);
        })+
    };
    (@run $make:expr; $($promise:ident),+) => {
        $(
            eprintln!("{}", stringify!($promise));
            let mut store = ($make)(stringify!($promise));
            $crate::contract::$promise(&mut store);
        )+
    };
}
pub(crate) use contract;

/// The promises about nodes that share a store, in the same two ways.
macro_rules! takeover {
    (run $make:expr) => { $crate::contract::takeover!(@list run $make); };
    ($new:expr) => { $crate::contract::takeover!(@list tests $new); };
    (@list $how:ident $new:expr) => {
        $crate::contract::contract!(@$how $new; a_running_lease_keeps_others_out, a_takeover_ends_the_old_leader,
            a_new_life_of_a_node_ends_the_older);
    };
}
pub(crate) use takeover;

pub fn starts_empty(store: &mut impl Store) {
    let mut journal = store.open();
    assert_eq!(journal.heads().unwrap(), vec![]);
    assert_eq!(journal.head(&shard("fleet/1")).unwrap(), None);
    assert_eq!(journal.read(&shard("fleet/1"), Seq::FIRST, 10).unwrap(), vec![]);
    let head = journal.lead(&shard("fleet/1")).unwrap().head;
    assert_eq!((head.epoch, head.next, head.oldest, head.snapshot), (Epoch(1), Seq::FIRST, Seq::FIRST, None));
    assert_eq!(journal.heads().unwrap(), vec![head]);
}

pub fn reads_back_what_was_appended(store: &mut impl Store) {
    let mut journal = store.open();
    let mut fleet = Teller::of(&journal.lead(&shard("fleet/1")).unwrap());
    let mut queue = Teller::of(&journal.lead(&shard("queue/1")).unwrap());
    let mut batch = fleet.turns(&[1, 3]);
    batch.extend(queue.turns(&[2]));
    batch.extend(fleet.turns(&[5]));
    batch.push(queue.turn_with(1, vec![]));
    let appended = journal.append(&batch).unwrap();
    assert_eq!(appended.space, Space::Ample);
    for teller in [&fleet, &queue] {
        let expected: Vec<_> = batch.iter().filter(|turn| turn.shard == teller.shard).cloned().collect();
        assert_eq!(read_all(&mut journal, &teller.shard, Seq::FIRST, 100), expected);
        let head = journal.head(&teller.shard).unwrap().unwrap();
        assert_eq!((head.next, head.last_at), (teller.next, expected.last().unwrap().at));
    }
}

pub fn refuses_other_sequences(store: &mut impl Store) {
    let mut journal = store.open();
    let name = shard("fleet/1");
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let turns = teller.turns(&[2]);
    let _space = journal.append(&turns).unwrap();
    for first in [Seq(1), Seq(2), Seq(4)] {
        let turn = Teller { next: first, ..teller.clone() }.turn(1);
        match journal.append(&[turn]) {
            Err(AppendError::SequenceMismatch { shard, expected, found }) => {
                assert_eq!((shard, expected, found), (name.clone(), Seq(3), first));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(read_all(&mut journal, &name, Seq::FIRST, 10), turns);
}

pub fn refuses_other_epochs(store: &mut impl Store) {
    let mut journal = store.open();
    let name = shard("fleet/1");
    let teller = Teller::of(&journal.lead(&name).unwrap());
    for epoch in [Epoch(0), Epoch(2)] {
        let turn = Teller { epoch, ..teller.clone() }.turn(1);
        match journal.append(&[turn]) {
            Err(AppendError::Fenced { shard, held, current }) => {
                assert_eq!((shard, held, current), (name.clone(), epoch, Epoch(1)));
            }
            other => panic!("{other:?}"),
        }
    }
    let never_led = Teller { shard: shard("fleet/2"), ..teller }.turn(1);
    let refused = journal.append(&[never_led]);
    assert!(matches!(refused, Err(AppendError::Fenced { current: Epoch::NONE, .. })), "{refused:?}");
}

pub fn writes_a_batch_whole_or_not_at_all(store: &mut impl Store) {
    let mut journal = store.open();
    let mut one = Teller::of(&journal.lead(&shard("fleet/1")).unwrap());
    let mut two = Teller::of(&journal.lead(&shard("fleet/2")).unwrap());
    let good = one.turn(1);
    let _skipped = two.turn(1);
    let refused = journal.append(&[good.clone(), two.turn(1)]);
    assert!(matches!(refused, Err(AppendError::SequenceMismatch { .. })), "{refused:?}");
    assert_eq!(journal.read(&one.shard, Seq::FIRST, 10).unwrap(), vec![]);
    let _space = journal.append(std::slice::from_ref(&good)).unwrap();
    assert_eq!(journal.read(&one.shard, Seq::FIRST, 10).unwrap(), vec![good]);
}

pub fn leading_again_fences_the_older_leadership(store: &mut impl Store) {
    let mut journal = store.open();
    let name = shard("fleet/1");
    let mut old = Teller::of(&journal.lead(&name).unwrap());
    let _space = journal.append(&[old.turn(1)]).unwrap();
    let mut new = Teller::of(&journal.lead(&name).unwrap());
    assert_eq!((new.epoch, new.next), (Epoch(2), Seq(2)));
    let refused = journal.append(&[old.turn(1)]);
    assert!(matches!(refused, Err(AppendError::Fenced { .. })), "{refused:?}");
    let _space = journal.append(&[new.turn(1)]).unwrap();
}

pub fn survives_closing(store: &mut impl Store) {
    let name = shard("catalog");
    let mut journal = store.open();
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let mut all = teller.turns(&[1, 2, 3]);
    let _space = journal.append(&all).unwrap();
    drop(journal);

    let mut journal = store.open();
    let head = journal.head(&name).unwrap().unwrap();
    assert_eq!((head.epoch, head.next, head.last_at), (Epoch(1), Seq(7), all[2].at));
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    assert_eq!(teller.epoch, Epoch(2));
    all.push(teller.turn(1));
    let _space = journal.append(&all[3..]).unwrap();
    drop(journal);
    assert_eq!(read_all(&mut store.open(), &name, Seq::FIRST, 2), all);
}

pub fn pages_by_turns_and_bytes(store: &mut impl Store) {
    let mut journal = store.open();
    let name = shard("fleet/1");
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let turns = teller.turns(&[1, 2, 1, 4, 1]);
    let _space = journal.append(&turns).unwrap();
    for page in [1, 2, 3, 5, 6] {
        assert_eq!(read_all(&mut journal, &name, Seq::FIRST, page), turns, "pages of {page}");
    }
    assert_eq!(journal.read(&name, teller.next, 10).unwrap(), vec![]);
    assert_eq!(journal.read(&name, Seq(u64::MAX >> 21), 10).unwrap(), vec![]);

    let large: Vec<_> = (0..6).map(|fill| teller.turn_with(1, vec![fill; PAGE_BYTES_MAX / 4])).collect();
    for turn in &large {
        let _space = journal.append(std::slice::from_ref(turn)).unwrap();
    }
    let first = large[0].first;
    assert_eq!(journal.read(&name, first, 100).unwrap().len(), 4, "a page ends with the turn that fills it");
    assert_eq!(read_all(&mut journal, &name, first, 100), large);
}

pub fn reads_from_within_a_turn(store: &mut impl Store) {
    let mut journal = store.open();
    let name = shard("fleet/1");
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let turns = teller.turns(&[3, 3, 3]);
    let _space = journal.append(&turns).unwrap();
    for (from, holder) in [(1, 0), (3, 0), (4, 1), (5, 1), (6, 1), (7, 2), (9, 2)] {
        assert_eq!(journal.read(&name, Seq(from), 1).unwrap(), vec![turns[holder].clone()], "from {from}");
    }
}

pub fn readers_see_what_is_durable(store: &mut impl Store) {
    let mut journal = store.open();
    let mut reader = store.reader(&journal);
    let name = shard("fleet/1");
    assert_eq!(reader.heads().unwrap(), vec![]);
    assert_eq!(reader.read(&name, Seq::FIRST, 10).unwrap(), vec![]);
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let mut all = Vec::new();
    for _ in 0..5 {
        let turn = teller.turn(2);
        all.push(turn.clone());
        let _space = journal.append(&[turn]).unwrap();
        assert_eq!(read_all(&mut reader, &name, Seq::FIRST, 2), all);
        assert_eq!(reader.head(&name).unwrap(), journal.head(&name).unwrap());
        assert_eq!(reader.heads().unwrap(), journal.heads().unwrap());
    }
}

pub fn snapshots_come_in_chunks(store: &mut impl Store) {
    let mut journal = store.open();
    let name = shard("fleet/1");
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let turns = teller.turns(&[1, 1, 1]);
    let _space = journal.append(&turns).unwrap();
    let chunks = [vec![1; EVENT_BYTES_MAX], vec![], vec![3; 10]];
    for (index, chunk) in (0..).zip(&chunks) {
        journal.write_snapshot_chunk(&name, Seq(3), index, chunk).unwrap();
    }
    let snapshot = journal.finish_snapshot(&name, Seq(3), turns[1].at).unwrap();
    assert_eq!((snapshot.covers_below, snapshot.chunks, snapshot.at), (Seq(3), 3, turns[1].at));
    let mut reader = store.reader(&journal);
    assert_eq!(reader.head(&name).unwrap().unwrap().snapshot, Some(snapshot));
    drop((journal, reader));

    let mut journal = store.open();
    let head = journal.head(&name).unwrap().unwrap();
    assert_eq!((head.snapshot, head.replay_from()), (Some(snapshot), Seq(3)));
    for (index, chunk) in (0..).zip(&chunks) {
        assert_eq!(&journal.snapshot_chunk(&name, &snapshot, index).unwrap(), chunk);
    }
    assert!(matches!(journal.snapshot_chunk(&name, &snapshot, 3), Err(ReadError::Damaged { .. })));
    assert_eq!(read_all(&mut journal, &name, head.replay_from(), 10), turns[2..]);
}

pub fn snapshots_are_refused_out_of_order(store: &mut impl Store) {
    let mut journal = store.open();
    let name = shard("fleet/1");
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let _space = journal.append(&teller.turns(&[1, 2])).unwrap();
    let large = vec![0; EVENT_BYTES_MAX + 1];
    let refused = [
        journal.write_snapshot_chunk(&name, Seq(2), 1, b"x"),
        journal.write_snapshot_chunk(&name, Seq(5), 0, b"covers what is not there"),
        journal.write_snapshot_chunk(&name, Seq(2), 0, &large),
        journal.write_snapshot_chunk(&shard("nobody"), Seq(1), 0, b"x"),
        journal.finish_snapshot(&name, Seq(2), at(1)).map(|_| ()),
    ];
    for refusal in refused {
        assert!(matches!(refusal, Err(MaintainError::Misuse { .. })), "{refusal:?}");
    }
    journal.write_snapshot_chunk(&name, Seq(2), 0, b"good").unwrap();
    let gap = journal.write_snapshot_chunk(&name, Seq(2), 2, b"gap");
    assert!(matches!(gap, Err(MaintainError::Misuse { .. })), "{gap:?}");
    journal.write_snapshot_chunk(&name, Seq(3), 0, b"within a turn").unwrap();
    let within = journal.finish_snapshot(&name, Seq(3), at(1));
    assert!(matches!(within, Err(MaintainError::Misuse { .. })), "{within:?}");
    assert_eq!(journal.head(&name).unwrap().unwrap().snapshot, None);
}

pub fn forgets_in_steps_what_is_covered(store: &mut impl Store) {
    let mut journal = store.open();
    let name = shard("fleet/1");
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let turns: Vec<_> = (0..20).map(|_| teller.turn(2)).collect();
    let _space = journal.append(&turns).unwrap();
    let early = journal.forget(&name, Seq(3), 10);
    assert!(matches!(early, Err(MaintainError::NotCovered { covered: Seq(1), .. })), "{early:?}");
    journal.write_snapshot_chunk(&name, Seq(21), 0, b"ten turns").unwrap();
    let _head = journal.finish_snapshot(&name, Seq(21), turns[9].at).unwrap();

    assert_eq!(journal.forget(&name, Seq(21), 4).unwrap(), Forgot::Some);
    let head = journal.head(&name).unwrap().unwrap();
    assert_eq!(head.oldest, Seq(9));
    let gone = journal.read(&name, Seq(8), 1);
    assert!(matches!(gone, Err(ReadError::Compacted { oldest: Seq(9), .. })), "{gone:?}");
    assert_eq!(read_all(&mut journal, &name, Seq(9), 3), turns[4..]);

    let mut steps = 1;
    while journal.forget(&name, Seq(21), 4).unwrap() == Forgot::Some {
        steps += 1;
        assert!(steps < 10, "forgetting ends");
    }
    drop(journal);
    let mut journal = store.open();
    assert_eq!(journal.head(&name).unwrap().unwrap().oldest, Seq(21));
    assert_eq!(read_all(&mut journal, &name, Seq(21), 3), turns[10..]);
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let more = teller.turn(1);
    let _space = journal.append(std::slice::from_ref(&more)).unwrap();
    assert_eq!(journal.read(&name, more.first, 10).unwrap(), vec![more]);
}

pub fn a_newer_snapshot_replaces_the_older(store: &mut impl Store) {
    let mut journal = store.open();
    let name = shard("fleet/1");
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let mut below = Seq::FIRST;
    for round in 0..4_u8 {
        let turns: Vec<_> = (0..10).map(|_| teller.turn(1)).collect();
        let _space = journal.append(&turns).unwrap();
        below = teller.next;
        for index in 0..5 {
            journal
                .write_snapshot_chunk(&name, below, index, &[round, u8::try_from(index).unwrap()])
                .unwrap();
        }
        let snapshot = journal.finish_snapshot(&name, below, turns[9].at).unwrap();
        while journal.forget(&name, below, FORGET_STEP_TURNS_MAX).unwrap() == Forgot::Some {}
        assert_eq!(journal.snapshot_chunk(&name, &snapshot, 4).unwrap(), vec![round, 4]);
    }
    let head = journal.head(&name).unwrap().unwrap();
    assert_eq!((head.oldest, head.next), (below, below), "everything is compacted away");
    assert_eq!(journal.read(&name, below, 10).unwrap(), vec![]);
    let older = journal.write_snapshot_chunk(&name, Seq(11), 0, b"older");
    assert!(matches!(older, Err(MaintainError::Misuse { .. })), "{older:?}");
    drop(journal);
    let mut journal = store.open();
    assert_eq!(Teller::of(&journal.lead(&name).unwrap()).next, below);
}

pub fn an_unfinished_snapshot_is_not_seen(store: &mut impl Store) {
    let name = shard("fleet/1");
    let mut journal = store.open();
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let _space = journal.append(&teller.turns(&[1, 1])).unwrap();
    for index in 0..3 {
        journal.write_snapshot_chunk(&name, Seq(2), index, b"half").unwrap();
    }
    drop(journal);
    let mut journal = store.open();
    assert_eq!(journal.head(&name).unwrap().unwrap().snapshot, None);
    let on = journal.write_snapshot_chunk(&name, Seq(2), 3, b"on");
    assert!(matches!(on, Err(MaintainError::Misuse { .. })), "another life begins its snapshot anew: {on:?}");
    journal.write_snapshot_chunk(&name, Seq(2), 0, b"whole").unwrap();
    let snapshot = journal.finish_snapshot(&name, Seq(2), at(5)).unwrap();
    assert_eq!(snapshot.chunks, 1);
    assert_eq!(journal.snapshot_chunk(&name, &snapshot, 0).unwrap(), b"whole");
}

pub fn a_running_lease_keeps_others_out(store: &mut impl Nodes) {
    let name = shard("fleet/1");
    let mut one = store.open_as("one");
    let mut two = store.open_as("two");
    let mut teller = Teller::of(&one.lead(&name).unwrap());
    match two.lead(&name) {
        Err(LeadError::Held { shard, node, left_ms }) => {
            assert_eq!((shard, node.as_str()), (name.clone(), "one"));
            assert!(left_ms <= u64::try_from(LEASE.as_millis()).unwrap(), "{left_ms} ms");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(one.renew().unwrap(), Lease::Until { valid: LEASE });
    let _space = one.append(&teller.turns(&[1])).unwrap();
    assert_eq!(two.lead(&shard("fleet/2")).unwrap().head.epoch, Epoch(1), "another shard is free");
}

pub fn a_takeover_ends_the_old_leader(store: &mut impl Nodes) {
    let name = shard("fleet/1");
    let mut one = store.open_as("one");
    let mut two = store.open_as("two");
    let mut old = Teller::of(&one.lead(&name).unwrap());
    let turns = old.turns(&[1, 2]);
    let _space = one.append(&turns).unwrap();
    store.outlast_lease();
    let _alive = two.renew().unwrap();
    let mut new = Teller::of(&two.lead(&name).unwrap());
    assert_eq!((new.epoch, new.next), (Epoch(2), Seq(4)));

    let late = one.append(&old.turns(&[1]));
    assert!(matches!(late, Err(AppendError::Fenced { current: Epoch(2), .. })), "{late:?}");
    assert!(matches!(one.renew(), Err(LeaseError::Dead { .. })), "its incarnation is dead");
    assert!(matches!(one.lead(&name), Err(LeadError::Dead { .. })), "and leads nothing more");

    let more = new.turns(&[1]);
    let _space = two.append(&more).unwrap();
    let all: Vec<_> = turns.into_iter().chain(more).collect();
    assert_eq!(read_all(&mut one, &name, Seq::FIRST, 10), all, "it may still read");
}

pub fn a_new_life_of_a_node_ends_the_older(store: &mut impl Nodes) {
    let name = shard("fleet/1");
    let mut old = store.open_as("one");
    let mut teller = Teller::of(&old.lead(&name).unwrap());
    let mut new = store.open_as("one");
    assert!(matches!(old.renew(), Err(LeaseError::Dead { .. })));
    let _space = old.append(&teller.turns(&[1])).unwrap();
    let head = new.lead(&name).unwrap().head;
    assert_eq!((head.epoch, head.next), (Epoch(2), Seq(2)), "it need not wait for its own older lease");
    let late = old.append(&teller.turns(&[1]));
    assert!(matches!(late, Err(AppendError::Fenced { .. })), "{late:?}");
}

/// What a caller may do, by chance.
#[derive(Clone, Debug)]
enum Deed {
    Append(Vec<(usize, u32)>),
    Lead(usize),
    Snapshot(usize),
    Forget(usize, u32),
    Reopen,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        6 => prop::collection::vec((0..3_usize, 1..4_u32), 1..8).prop_map(Deed::Append),
        1 => (0..3_usize).prop_map(Deed::Lead),
        2 => (0..3_usize).prop_map(Deed::Snapshot),
        3 => (0..3_usize, 1..6_u32).prop_map(|(shard, step)| Deed::Forget(shard, step)),
        1 => Just(Deed::Reopen),
    ];
    prop::collection::vec(deed, 1..24)
}

/// The same deeds on the store and on a plain list give the same turns. All cases share one store, under shard names of
/// their own, so that a server starts once.
pub fn does_as_a_plain_list_does(store: &mut impl Store) {
    use proptest::test_runner::{Config, TestRunner};
    let mut case = 0;
    let store = std::cell::RefCell::new((store, &mut case));
    let config = Config { cases: 24, failure_persistence: None, max_shrink_iters: 64, ..Config::default() };
    let run = TestRunner::new(config).run(&deeds(), |deeds| {
        let (store, case) = &mut *store.borrow_mut();
        **case += 1;
        follow(*store, **case, &deeds);
        Ok(())
    });
    run.unwrap();
}

fn follow(store: &mut impl Store, case: u32, deeds: &[Deed]) {
    let names = [0, 1, 2].map(|index| shard(&format!("case/{case}/{index}")));
    let mut journal = store.open();
    let mut tellers: Vec<Teller> =
        names.iter().map(|name| Teller::of(&journal.lead(name).unwrap())).collect();
    let mut lists: [Vec<_>; 3] = [vec![], vec![], vec![]];
    for deed in deeds {
        match deed {
            Deed::Append(turns) => {
                let batch: Vec<_> = turns.iter().map(|&(index, count)| tellers[index].turn(count)).collect();
                let _space = journal.append(&batch).unwrap();
                for (turn, &(index, _)) in batch.into_iter().zip(turns) {
                    lists[index].push(turn);
                }
            }
            Deed::Lead(index) => tellers[*index] = Teller::of(&journal.lead(&names[*index]).unwrap()),
            Deed::Snapshot(index) => {
                let (name, below) = (&names[*index], tellers[*index].next);
                let snapshot = journal.head(name).unwrap().unwrap().snapshot;
                if below > snapshot.map_or(Seq::FIRST, |snapshot| snapshot.covers_below) {
                    journal.write_snapshot_chunk(name, below, 0, below.to_string().as_bytes()).unwrap();
                    let _head = journal.finish_snapshot(name, below, at(1)).unwrap();
                }
            }
            Deed::Forget(index, step) => {
                let covered = journal.head(&names[*index]).unwrap().unwrap().replay_from();
                let _forgot = journal.forget(&names[*index], covered, *step).unwrap();
            }
            Deed::Reopen => {
                drop(journal);
                journal = store.open();
                tellers = names.iter().map(|name| Teller::of(&journal.lead(name).unwrap())).collect();
            }
        }
        for ((name, list), teller) in names.iter().zip(&lists).zip(&tellers) {
            let head = journal.head(name).unwrap().unwrap();
            assert_eq!((head.next, head.epoch), (teller.next, teller.epoch));
            assert!(head.oldest <= head.replay_from().max(Seq::FIRST));
            let kept: Vec<_> = list.iter().filter(|turn| turn.first >= head.oldest).cloned().collect();
            assert_eq!(read_all(&mut journal, name, head.oldest, 3), kept);
            if let Some(snapshot) = head.snapshot {
                let text = journal.snapshot_chunk(name, &snapshot, 0).unwrap();
                assert_eq!(text, snapshot.covers_below.to_string().into_bytes());
            }
        }
    }
}
