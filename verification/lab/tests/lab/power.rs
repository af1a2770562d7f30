//! Power cuts, one after the other on the same disk, at moments chosen by seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::sleep;
use std::time::Duration;

use mainstay_lab::machine::Machine;
use mainstay_lab::words::{Asked, Scenario, SeenAllocation, SeenServer, Syncs, Word};

use crate::Lab;

/// A cut each, and a last start that looks at what the last cut left.
const SEEDS: [u64; 3] = [1, 2, 3];
/// Slots of the machine's fleet.
const SLOTS: usize = 6;

/// What the clients were promised, over all starts.
#[derive(Debug, Default)]
struct Promises {
    /// Requests that were about to be sent, by allocation.
    asked: BTreeMap<String, BTreeSet<&'static str>>,
    /// Those whose answer was heard.
    acknowledged: BTreeMap<String, BTreeSet<&'static str>>,
    /// How many acknowledgements were heard.
    count: usize,
}

impl Promises {
    fn hear(&mut self, word: &Word) {
        match word {
            Word::Asking { asked, id } => {
                self.asked.entry(id.clone()).or_default().insert(name(*asked));
            }
            Word::Acknowledged { asked, id } => {
                self.count += 1;
                self.acknowledged.entry(id.clone()).or_default().insert(name(*asked));
            }
            Word::Holds { .. } | Word::Stands { .. } | Word::Done | Word::Failed { .. } => {
                panic!("out of turn: {word:?}")
            }
        }
    }

    fn was(&self, which: &BTreeMap<String, BTreeSet<&'static str>>, id: &str, asked: Asked) -> bool {
        which.get(id).is_some_and(|it| it.contains(name(asked)))
    }

    /// Everything acknowledged is there, and nothing is that nobody asked for.
    fn are_kept_by(&self, allocations: &[SeenAllocation], servers: &[SeenServer]) {
        let mut stand: BTreeMap<&str, &SeenAllocation> = BTreeMap::new();
        for seen in allocations {
            assert!(stand.insert(&seen.allocation_id, seen).is_none(), "twice: {seen:?}");
            assert!(self.was(&self.asked, &seen.allocation_id, Asked::Allocate), "nobody asked for {seen:?}");
        }
        for id in self.acknowledged.keys() {
            let seen = stand.get(id.as_str()).unwrap_or_else(|| panic!("acknowledged and gone: {id}"));
            let ended_by_its_caller = self.was(&self.acknowledged, id, Asked::Deallocate);
            let may_have_been_ended = self.was(&self.asked, id, Asked::Deallocate);
            match seen.state.as_str() {
                "ended" => assert!(may_have_been_ended, "nobody ended {seen:?}"),
                // Its process went with the power, or an order that was still owed started it afterwards.
                "failed" => assert!(!ended_by_its_caller && is_lost(seen), "{seen:?}"),
                "fulfilled" => assert!(!ended_by_its_caller, "it plays on after its end: {seen:?}"),
                other => panic!("{other}: {seen:?}"),
            }
        }
        assert_eq!(servers.len(), SLOTS);
        let claimed: BTreeMap<&str, &SeenServer> =
            servers.iter().filter_map(|server| Some((server.allocation_id.as_deref()?, server))).collect();
        let playing: BTreeSet<&str> = allocations
            .iter()
            .filter(|seen| seen.state == "fulfilled")
            .map(|seen| seen.allocation_id.as_str())
            .collect();
        let claims = servers.iter().filter(|server| server.allocation_id.is_some()).count();
        assert_eq!(claimed.len(), claims, "an allocation on two servers: {servers:?}");
        assert_eq!(claimed.keys().copied().collect::<BTreeSet<_>>(), playing, "{servers:?}");
        for (id, server) in claimed {
            assert_eq!(stand[id].server_id, Some(server.id));
            assert!(server.pid.is_some(), "{server:?}");
        }
        let pids: Vec<u32> = servers.iter().filter_map(|server| server.pid).collect();
        assert_eq!(pids.iter().collect::<BTreeSet<_>>().len(), pids.len(), "{servers:?}");
    }
}

const fn name(asked: Asked) -> &'static str {
    match asked {
        Asked::Allocate => "allocate",
        Asked::Deallocate => "deallocate",
    }
}

fn is_lost(seen: &SeenAllocation) -> bool {
    seen.end_reason.as_deref().is_some_and(|reason| reason.to_lowercase().contains("lost"))
}

/// Issue 3, "Proof": "a real power cut (SIGKILL of QEMU) after which everything acknowledged is there".
#[test]
fn everything_acknowledged_outlives_power_cuts() {
    let Some(lab) = Lab::new() else { return };
    let mut promises = Promises::default();
    for (boot, seed) in (1..).zip(SEEDS) {
        let mut machine = lab.boot(Scenario::Power { seed, boot, syncs: Syncs::Done });
        if boot > 1 {
            stand(&promises, &mut machine, boot);
        }
        cut(&mut promises, machine, seed);
    }
    let boot = u32::try_from(SEEDS.len()).unwrap() + 1;
    let mut machine = lab.boot(Scenario::Power { seed: 0, boot, syncs: Syncs::Done });
    stand(&promises, &mut machine, boot);
}

/// A proof that cannot fail is none: the same cut, for a product whose syncs are swallowed, breaks a promise.
#[test]
fn a_product_that_forgot_to_sync_is_found_out() {
    let Some(lab) = Lab::new() else { return };
    let mut promises = Promises::default();
    let machine = lab.boot(Scenario::Power { seed: 1, boot: 1, syncs: Syncs::Swallowed });
    cut(&mut promises, machine, 1);
    let mut machine = lab.boot(Scenario::Power { seed: 1, boot: 2, syncs: Syncs::Swallowed });
    let looked = catch_unwind(AssertUnwindSafe(|| stand(&promises, &mut machine, 2)));
    let found = looked.expect_err("promises, and no sync: all kept");
    let found = found.downcast::<String>().expect("an assertion with a text");
    let ways = ["acknowledged and gone", "nobody asked for", "mainstay does not start"];
    assert!(ways.iter().any(|way| found.contains(way)), "{found}");
}

/// Cuts the power after so many words as the seed says, and a little later, so that every stage of a request has its turn.
fn cut(promises: &mut Promises, mut machine: Machine, seed: u64) {
    let words = 10 + seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 40;
    for _ in 0..words {
        promises.hear(&machine.hear().unwrap_or_else(|error| panic!("{error}")));
    }
    sleep(Duration::from_millis(seed.wrapping_mul(0xbf58_476d_1ce4_e5b9) % 50));
    let last = machine.cut().unwrap_or_else(|error| panic!("{error}"));
    last.iter().for_each(|word| promises.hear(word));
    eprintln!("seed {seed}: cut after {} acknowledgements in all", promises.count);
}

/// What the machine says first after a cut, held against what was promised before.
fn stand(promises: &Promises, machine: &mut Machine, boot: u32) {
    let word = machine.hear().unwrap_or_else(|error| panic!("{error}"));
    let Word::Stands { allocations, servers, unsynced_lines } = word else { panic!("out of turn: {word:?}") };
    let count = |state: &str| allocations.iter().filter(|seen| seen.state == state).count();
    eprintln!(
        "start {boot}: {} ended, {} lost, {} play on",
        count("ended"),
        count("failed"),
        count("fulfilled")
    );
    promises.are_kept_by(&allocations, &servers);
    assert_eq!(unsynced_lines, 0, "lines that were never synced outlived the cut: it was none");
}
