//! The order, step by step.

use std::time::Duration;

use mainstay_core::Timestamp;

use super::*;
use crate::port::Head;
use crate::types::Epoch;

const NOW: Duration = Duration::from_secs(100);
const AMPLE: Appended = Appended { space: Space::Ample };

fn name(text: &str) -> ShardName {
    ShardName::new(text).unwrap()
}

fn leadership(text: &str, epoch: u64, next: u64) -> Leadership {
    Leadership {
        head: Head {
            shard: name(text),
            epoch: Epoch(epoch),
            next: Seq(next),
            last_at: Timestamp::EPOCH,
            oldest: Seq::FIRST,
            snapshot: None,
        },
    }
}

fn writer(limits: Limits) -> Writer<&'static str> {
    let mut writer = Writer::new(limits);
    writer.renewed(NOW, Lease::Exclusive);
    for shard in ["a", "b"] {
        assert!(writer.lead(&leadership(shard, 1, 1)).is_empty());
    }
    writer
}

fn turn(count: u32) -> Turn {
    Turn { count, at: Timestamp::EPOCH, bytes: vec![7; 10] }
}

fn lost<R>(shard: &str, why: LostWhy, release: R) -> Settled<R> {
    Settled::Lost { shard: name(shard), why, release }
}

fn numbers(batch: &Batch) -> Vec<(&str, u64)> {
    batch.turns.iter().map(|turn| (turn.shard.as_str(), turn.first.0)).collect()
}

#[test]
fn nothing_is_released_before_its_sync_and_all_in_order() {
    let mut writer = writer(Limits::STANDARD);
    assert_eq!(writer.accept(&name("a"), turn(2), "a1").unwrap(), Seq(2));
    let first = writer.next_batch().unwrap();
    assert_eq!(numbers(&first), [("a", 1)]);
    assert_eq!(writer.wait_for(NOW, &name("a"), Seq(2), "read a2"), Wait::Queued);
    assert_eq!(writer.wait_for(NOW, &name("b"), Seq(0), "read b0"), Wait::Now("read b0"));
    assert_eq!(writer.accept(&name("b"), turn(1), "b1").unwrap(), Seq(1));
    assert_eq!(writer.accept(&name("a"), turn(1), "a3").unwrap(), Seq(3));
    assert_eq!(writer.wait_for(NOW, &name("b"), Seq(1), "read b1"), Wait::Queued);
    assert_eq!(writer.accept(&name("a"), turn(1), "a4").unwrap(), Seq(4));
    assert!(writer.next_batch().is_none(), "one batch at a time");

    let durable = writer.synced(NOW, first.number, AMPLE);
    assert_eq!(durable.settled, [Settled::Durable("a1"), Settled::Durable("read a2")]);
    assert_eq!(durable.tail.len(), 1);
    let second = writer.next_batch().unwrap();
    assert_eq!(numbers(&second), [("b", 1), ("a", 3), ("a", 4)]);
    let durable = writer.synced(NOW, second.number, AMPLE);
    let order = ["b1", "a3", "read b1", "a4"].map(Settled::Durable);
    assert_eq!(durable.settled, order);
    assert!(writer.is_idle());
    let at = Standing::Leading { epoch: Epoch(1), next: Seq(5), durable: Seq(4) };
    assert_eq!(writer.standing(&name("a")), at);
}

#[test]
fn batches_are_bounded_in_turns_and_bytes() {
    let limits = Limits { batch_turns_max: 3, batch_bytes_max: 25, ..Limits::STANDARD };
    let mut writer = writer(limits);
    for _ in 0..3 {
        let _seq = writer.accept(&name("a"), turn(1), "x").unwrap();
    }
    let _seq = writer.accept(&name("a"), Turn { bytes: vec![0; 100], ..turn(1) }, "large").unwrap();
    for expected in [2, 1, 1] {
        let batch = writer.next_batch().unwrap();
        assert_eq!(batch.turns.len(), expected);
        let _durable = writer.synced(NOW, batch.number, AMPLE);
    }
    assert!(writer.next_batch().is_none());
}

#[test]
fn too_much_unsynced_means_wait() {
    for limits in [
        Limits { unsynced_turns_max: 2, ..Limits::STANDARD },
        Limits { unsynced_bytes_max: 20, ..Limits::STANDARD },
    ] {
        let mut writer = writer(limits);
        let _seq = writer.accept(&name("a"), turn(1), "x").unwrap();
        assert_eq!(writer.admission(), Admission::Open);
        let batch = writer.next_batch().unwrap();
        let _seq = writer.accept(&name("a"), turn(1), "y").unwrap();
        assert_eq!(writer.admission(), Admission::Wait);
        let _durable = writer.synced(NOW, batch.number, AMPLE);
        assert_eq!(writer.admission(), Admission::Open);
    }
    let mut writer = writer(Limits { waits_max: 1, ..Limits::STANDARD });
    let _seq = writer.accept(&name("a"), turn(1), "x").unwrap();
    assert_eq!(writer.wait_for(NOW, &name("a"), Seq(1), "read"), Wait::Queued);
    assert_eq!(writer.admission(), Admission::Wait);
}

#[test]
fn a_fenced_shard_is_lost_and_the_others_go_on() {
    let mut writer = writer(Limits::STANDARD);
    let _seq = writer.accept(&name("a"), turn(1), "a1").unwrap();
    let _seq = writer.accept(&name("b"), turn(1), "b1").unwrap();
    let batch = writer.next_batch().unwrap();
    let _seq = writer.accept(&name("a"), turn(1), "a2").unwrap();
    let _seq = writer.accept(&name("b"), turn(1), "b2").unwrap();
    assert_eq!(writer.wait_for(NOW, &name("a"), Seq(1), "read a1"), Wait::Queued);

    let (held, current) = (Epoch(1), Epoch(2));
    let why = LostWhy::Fenced { current };
    let settled = writer.failed(batch.number, &AppendError::Fenced { shard: name("a"), held, current });
    assert_eq!(settled, ["a1", "a2", "read a1"].map(|release| lost("a", why, release)));
    assert_eq!(writer.standing(&name("a")), Standing::Lost(why));
    let refused = writer.accept(&name("a"), turn(1), "a3").unwrap_err();
    assert_eq!(refused, Refused { why: RefusedWhy::NotLeading, release: "a3" });
    assert_eq!(writer.wait_for(NOW, &name("a"), Seq(0), "r"), Wait::Lost { why, release: "r" });

    let again = writer.next_batch().unwrap();
    assert_eq!(numbers(&again), [("b", 1)]);
    assert_eq!(writer.synced(NOW, again.number, AMPLE).settled, [Settled::Durable("b1")]);
    assert_eq!(numbers(&writer.next_batch().unwrap()), [("b", 2)]);

    assert!(writer.lead(&leadership("a", 3, 9)).is_empty());
    assert_eq!(writer.accept(&name("a"), turn(1), "a9").unwrap(), Seq(9));
}

#[test]
fn an_unknown_outcome_ends_the_leadership_of_every_shard_in_the_batch() {
    let mut writer = writer(Limits::STANDARD);
    let _seq = writer.accept(&name("a"), turn(1), "a1").unwrap();
    let batch = writer.next_batch().unwrap();
    let _seq = writer.accept(&name("b"), turn(1), "b1").unwrap();
    let settled = writer.failed(batch.number, &AppendError::UnknownOutcome { cause: "cut".into() });
    assert_eq!(settled, [lost("a", LostWhy::UnknownOutcome, "a1")]);
    assert_eq!(numbers(&writer.next_batch().unwrap()), [("b", 1)], "a shard not in the batch is still led");
}

#[test]
fn a_failed_sync_ends_everything() {
    let mut writer = writer(Limits::STANDARD);
    let _seq = writer.accept(&name("a"), turn(1), "a1").unwrap();
    let batch = writer.next_batch().unwrap();
    let _seq = writer.accept(&name("b"), turn(1), "b1").unwrap();
    let settled = writer.failed(batch.number, &AppendError::Io { cause: "EIO".into() });
    assert_eq!(settled, [lost("a", LostWhy::SyncFailed, "a1"), lost("b", LostWhy::SyncFailed, "b1")]);
    assert_eq!(writer.admission(), Admission::Ended);
    assert!(writer.next_batch().is_none());
    assert_eq!(writer.accept(&name("a"), turn(1), "x").unwrap_err().why, RefusedWhy::Ended);
    let read = writer.wait_for(NOW, &name("a"), Seq(0), "r");
    assert_eq!(read, Wait::Lost { why: LostWhy::SyncFailed, release: "r" });
}

#[test]
fn an_unavailable_store_holds_the_batch_until_tried_again() {
    let mut writer = writer(Limits::STANDARD);
    let _seq = writer.accept(&name("a"), turn(1), "a1").unwrap();
    let batch = writer.next_batch().unwrap();
    assert_eq!(writer.failed(batch.number, &AppendError::Unavailable { cause: "away".into() }), []);
    assert!(writer.next_batch().is_none());
    assert_eq!(writer.admission(), Admission::Open, "what fits the queue may still be decided");
    writer.try_again();
    let batch = writer.next_batch().unwrap();
    assert_eq!(writer.synced(NOW, batch.number, AMPLE).settled, [Settled::Durable("a1")]);
}

#[test]
fn reads_are_answered_inside_the_lease_alone() {
    let mut writer = writer(Limits::STANDARD);
    let sent = Duration::from_secs(10);
    writer.renewed(sent, Lease::Until { valid: Duration::from_secs(2) });
    let (inside, outside) = (Duration::from_millis(11_999), Duration::from_secs(12));
    assert_eq!(writer.wait_for(inside, &name("a"), Seq(0), "r"), Wait::Now("r"));
    let late = Wait::Lost { why: LostWhy::LeaseRanOut, release: "r" };
    assert_eq!(writer.wait_for(outside, &name("a"), Seq(0), "r"), late);

    let _seq = writer.accept(&name("a"), turn(1), "a1").unwrap();
    assert_eq!(writer.wait_for(inside, &name("a"), Seq(1), "read a1"), Wait::Queued);
    let batch = writer.next_batch().unwrap();
    let durable = writer.synced(outside, batch.number, AMPLE);
    let expected = [Settled::Durable("a1"), lost("a", LostWhy::LeaseRanOut, "read a1")];
    assert_eq!(durable.settled, expected, "an append proves the leadership, a read does not");

    let mut never: Writer<&str> = Writer::new(Limits::STANDARD);
    assert!(never.lead(&leadership("a", 1, 1)).is_empty());
    assert_eq!(never.wait_for(NOW, &name("a"), Seq(0), "r"), late);
}

#[test]
fn stepping_down_while_a_batch_is_out_releases_nothing_twice() {
    let mut writer = writer(Limits::STANDARD);
    let _seq = writer.accept(&name("a"), turn(1), "a1").unwrap();
    let _seq = writer.accept(&name("b"), turn(1), "b1").unwrap();
    let batch = writer.next_batch().unwrap();
    assert_eq!(writer.step_down(&name("a")), [lost("a", LostWhy::SteppedDown, "a1")]);
    let durable = writer.synced(NOW, batch.number, AMPLE);
    assert_eq!(durable.settled, [Settled::Durable("b1")]);
    assert_eq!(durable.tail.len(), 2, "the tail tells what is durable, whoever leads");
    assert_eq!(writer.standing(&name("a")), Standing::Lost(LostWhy::SteppedDown));
    assert_eq!(writer.declared_dead(), []);
    assert_eq!(writer.standing(&name("b")), Standing::Lost(LostWhy::DeclaredDead));
    assert!(writer.is_idle());
}

#[test]
fn the_end_of_an_older_leadership_does_not_touch_the_newer() {
    let fenced = AppendError::Fenced { shard: name("a"), held: Epoch(1), current: Epoch(2) };
    let unknown = AppendError::UnknownOutcome { cause: "cut".into() };
    for error in [fenced, unknown] {
        let mut writer = writer(Limits::STANDARD);
        let _seq = writer.accept(&name("a"), turn(1), "old").unwrap();
        let batch = writer.next_batch().unwrap();
        assert_eq!(writer.lead(&leadership("a", 2, 1)), [lost("a", LostWhy::SteppedDown, "old")]);
        assert_eq!(writer.accept(&name("a"), turn(1), "new").unwrap(), Seq(1));
        assert_eq!(writer.failed(batch.number, &error), []);
        let batch = writer.next_batch().unwrap();
        assert_eq!(batch.turns.iter().map(|turn| turn.epoch).collect::<Vec<_>>(), [Epoch(2)]);
        assert_eq!(writer.synced(NOW, batch.number, AMPLE).settled, [Settled::Durable("new")]);
    }
}

#[test]
#[should_panic(expected = "batch 7 was reported on")]
fn reports_on_another_batch_are_a_bug() {
    let mut writer = writer(Limits::STANDARD);
    let _durable = writer.synced(NOW, 7, AMPLE);
}
