//! Clients that allocate and deallocate until the power goes, and say what they were promised before anything else happens.

use std::fs::OpenOptions;
use std::io::Write as _;

use mainstay_lab::words::{Asked, SeenAllocation, Syncs, Word};

use crate::product::{Product, configuration, configure, fleet, lives, systemctl};
use crate::wire;

const FLEET: &str = "here";
const SLOTS: u32 = 6;
/// Clients at once, each with sessions of its own.
const CLIENTS: u64 = 2;
/// The most sessions of a client: together they leave slots free, so that no request is refused.
const SESSIONS_MAX: usize = 2;
/// Acknowledgements, written and never synced: what a power cut takes.
const UNSYNCED: &str = "/var/lib/unsynced";
/// Debian's library that swallows syncs.
const SWALLOWER: &str = "/usr/lib/x86_64-linux-gnu/libeatmydata.so";

pub fn run(seed: u64, boot: u32, syncs: Syncs) {
    // The kernel writes nothing back by itself, so that nothing reaches the disk but what somebody waited for.
    for (file, value) in
        [("dirty_writeback_centisecs", "0"), ("dirty_background_ratio", "90"), ("dirty_ratio", "95")]
    {
        std::fs::write(format!("/proc/sys/vm/{file}"), value).expect("the kernel obeys");
    }
    if boot == 1 {
        configure(
            &configuration(FLEET, "    limits: { cpu: 0.1, memoryMiB: 32 }\n"),
            &fleet(FLEET, SLOTS, ""),
        );
        match syncs {
            Syncs::Done => {}
            Syncs::Swallowed => swallow_syncs(),
        }
        // What an operator has set up is on the disk before anything of value is.
        crate::run(&mut std::process::Command::new("sync"));
    }
    systemctl(&["start", "mainstay"]);
    let product = Product::connect();
    let servers = product.settled(1);
    let allocations = product.allocations();
    if boot > 1 {
        for server in &servers {
            assert!(server.pid.is_none_or(lives), "{server:?}");
        }
        repeats_make_nothing_new(&product, &allocations);
        let unsynced_lines = std::fs::read_to_string(UNSYNCED).unwrap_or_default().lines().count();
        wire::say(&Word::Stands { allocations: allocations.clone(), servers, unsynced_lines });
    }
    let goes_on = |it: &SeenAllocation| it.state == "fulfilled";
    let mine: Vec<String> = allocations.into_iter().filter(goes_on).map(|it| it.allocation_id).collect();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let sessions =
                mine.iter().skip(usize::try_from(client).unwrap_or(0)).step_by(2).cloned().collect();
            let client = Client {
                product: &product,
                random: seed ^ (client << 32) ^ u64::from(boot),
                client,
                boot,
                sessions,
            };
            scope.spawn(|| client.play());
        }
    });
}

/// The product's calls to `fsync` and its like succeed and do nothing.
fn swallow_syncs() {
    let folder = "/etc/systemd/system/mainstay.service.d";
    std::fs::create_dir_all(folder).expect("a folder");
    let text = format!("[Service]\nEnvironment=LD_PRELOAD={SWALLOWER}\n");
    std::fs::write(format!("{folder}/careless.conf"), text).expect("a file");
    assert!(std::path::Path::new(SWALLOWER).exists(), "{SWALLOWER} is missing");
    systemctl(&["daemon-reload"]);
}

/// A repeat of an allocation that has ended is answered with what it was.
fn repeats_make_nothing_new(product: &Product, allocations: &[SeenAllocation]) {
    for ended in allocations.iter().filter(|it| it.state == "ended").take(3) {
        product.allocate(FLEET, &ended.allocation_id);
    }
    assert_eq!(product.allocations(), allocations, "repeats changed something");
}

struct Client<'a> {
    product: &'a Product,
    random: u64,
    client: u64,
    boot: u32,
    sessions: Vec<String>,
}

impl Client<'_> {
    /// Until the power goes.
    fn play(mut self) {
        for count in 1_u64.. {
            let choice = self.choose();
            let ends = self.sessions.len() >= SESSIONS_MAX
                || (choice.is_multiple_of(3) && !self.sessions.is_empty());
            if ends {
                let index = usize::try_from(choice >> 8).unwrap_or(0) % self.sessions.len();
                let id = self.sessions.swap_remove(index);
                wire::say(&Word::Asking { asked: Asked::Deallocate, id: id.clone() });
                self.product.deallocate(&id);
                acknowledged(Asked::Deallocate, id);
            } else {
                let id = format!("{:08x}-{:04x}-4000-8000-{count:012x}", self.boot, self.client);
                wire::say(&Word::Asking { asked: Asked::Allocate, id: id.clone() });
                self.product.allocate(FLEET, &id);
                self.sessions.push(id.clone());
                acknowledged(Asked::Allocate, id);
            }
        }
    }

    /// SplitMix64.
    fn choose(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

fn acknowledged(asked: Asked, id: String) {
    let mut file = OpenOptions::new().create(true).append(true).open(UNSYNCED).expect("a file");
    writeln!(file, "{asked:?} {id}").expect("room");
    wire::say(&Word::Acknowledged { asked, id });
}
