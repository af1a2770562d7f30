//! Failure detection that adapts to its link (B12: a fixed time-out is slow or wrong).

use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{BEAT, Rhythm, SUSPECT_MAX, SUSPECT_MIN};

/// Beats as they come, and whether the other was ever suspected meanwhile.
fn suspected(rhythm: &mut Rhythm, now: &mut Timestamp, gaps: impl IntoIterator<Item = Duration>) -> usize {
    let mut suspected = 0;
    for gap in gaps {
        *now = *now + gap;
        suspected += usize::from(rhythm.is_suspect(*now));
        rhythm.beat_of_host(*now);
    }
    suspected
}

/// Beats of ten seconds, the last of which comes so late.
fn ten_seconds(pause: Duration) -> impl Iterator<Item = Duration> {
    (0..100).map(move |beat| if beat == 99 { pause } else { BEAT })
}

#[test]
fn a_calm_link_is_suspected_after_the_least_silence() {
    let (mut rhythm, mut now) = (Rhythm::starting(Timestamp::EPOCH), Timestamp::EPOCH);
    // One packet of fifty is lost.
    let gaps = (0..600).map(|beat| if beat % 50 == 0 { BEAT * 2 } else { BEAT });
    assert_eq!(suspected(&mut rhythm, &mut now, gaps), 0);
    assert_eq!(rhythm.patience(), SUSPECT_MIN);
    assert!(!rhythm.is_suspect(now + Duration::from_millis(799)) && rhythm.is_suspect(now + SUSPECT_MIN));
}

/// A radio that pauses for a second every ten: after the first time it is known, and a silence that is longer than any is still suspected.
#[test]
fn a_link_that_pauses_is_waited_for_once_it_has() {
    let (mut rhythm, mut now) = (Rhythm::starting(Timestamp::EPOCH), Timestamp::EPOCH);
    let pause = Duration::from_millis(1_100);
    assert_eq!(suspected(&mut rhythm, &mut now, ten_seconds(pause)), 1, "nobody could know");
    let minutes = (0..30).flat_map(|_| ten_seconds(pause));
    assert_eq!(suspected(&mut rhythm, &mut now, minutes), 0);
    suspected(&mut rhythm, &mut now, (0..20).map(|_| BEAT));
    assert!(rhythm.is_suspect(now + Duration::from_secs(2)));
    let calm = (0..6).flat_map(|_| ten_seconds(BEAT));
    assert_eq!(suspected(&mut rhythm, &mut now, calm), 0);
    let half = rhythm.patience().as_millis();
    assert!((850..950).contains(&half), "half of it is forgotten after a minute: {half} ms");
    let calm = (0..6).flat_map(|_| ten_seconds(BEAT));
    suspected(&mut rhythm, &mut now, calm);
    assert_eq!(rhythm.patience(), SUSPECT_MIN, "and all of it that counts after two");
}

/// Members beat to each other while one of them is a standby, and not before: how long they did not is no pause of their link.
#[test]
fn whoever_begins_to_beat_has_not_paused() {
    let (mut rhythm, mut now) =
        (Rhythm::starting(Timestamp::EPOCH), Timestamp::EPOCH + Duration::from_secs(4));
    for _ in 0..20 {
        rhythm.beat(now);
        now = now + BEAT;
    }
    assert_eq!(rhythm.patience(), SUSPECT_MIN);
}

/// A link on which every gap is another.
#[test]
fn a_link_that_stutters_is_given_the_time_that_its_stutter_takes() {
    let (mut rhythm, mut now) = (Rhythm::starting(Timestamp::EPOCH), Timestamp::EPOCH);
    let stutter =
        |beat: u64| Duration::from_millis([100, 500, 100, 300, 700, 100][usize::try_from(beat % 6).unwrap()]);
    assert_eq!(suspected(&mut rhythm, &mut now, (0..600).map(stutter)), 0);
    assert!(rhythm.patience() > Duration::from_millis(1_050), "{:?}", rhythm.patience());
    assert!(rhythm.patience() < SUSPECT_MAX);
}

/// However a link has been, nobody plays on without a host for longer.
#[test]
fn no_silence_is_waited_for_longer_than_the_longest() {
    let (mut rhythm, mut now) = (Rhythm::starting(Timestamp::EPOCH), Timestamp::EPOCH);
    suspected(&mut rhythm, &mut now, (0..50).map(|_| Duration::from_secs(3_600)));
    assert_eq!(rhythm.patience(), SUSPECT_MAX);
}
