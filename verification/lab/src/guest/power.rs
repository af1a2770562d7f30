//! Clients that allocate and deallocate, games that hold and reserve their servers, and an operator (see [`crate::office`]), until
//! the power goes; they say what they were promised before anything else happens.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Duration;

use mainstay_lab::words::{Asked, Fleet, SeenAllocation, SeenServer, Syncs, Word};

use crate::office::Office;
use crate::product::{Product, configuration, configure, fleet, lives, systemctl, until};
use crate::wire;

/// Clients at once, each with sessions of its own.
const CLIENTS: u64 = 2;
/// The most sessions of a client: together they leave slots free, so that no request is refused.
const SESSIONS_MAX: usize = 2;
/// A client's pause between two requests: the games' own have to come through on the same emulated core.
pub const THINKS: Duration = Duration::from_millis(100);
/// For how long servers are held, in minutes, at least: no hold of a test runs out.
const HELD_MINUTES_MIN: u64 = 300;
/// Acknowledgements, written and never synced: what a power cut takes.
const UNSYNCED: &str = "/var/lib/unsynced";
/// Debian's library that swallows syncs.
const SWALLOWER: &str = "/usr/lib/x86_64-linux-gnu/libeatmydata.so";

pub fn run(seed: u64, boot: u32, syncs: Syncs, account: Option<&str>) {
    // The kernel writes nothing back by itself, so that nothing reaches the disk but what somebody waited for.
    for (file, value) in
        [("dirty_writeback_centisecs", "0"), ("dirty_background_ratio", "90"), ("dirty_ratio", "95")]
    {
        std::fs::write(format!("/proc/sys/vm/{file}"), value).expect("the kernel obeys");
    }
    if boot == 1 {
        let limits = "    limits: { cpu: 0.1, memoryMiB: 32 }\n";
        let configurations = Fleet::ALL.map(|fleet| configuration(fleet.name(), limits)).concat();
        let fleets = Fleet::ALL.map(|of| fleet(of.name(), of.slots(), keys(of))).concat();
        configure("", &configurations, &fleets);
        match syncs {
            Syncs::Done => {}
            Syncs::Swallowed => swallow_syncs(),
        }
        // What an operator has set up is on the disk before anything of value is.
        crate::run(&mut std::process::Command::new("sync"));
    }
    systemctl(&["start", "mainstay"]);
    let product = Product::connect();
    // Each fleet has a machine of its own here, and games that idle run in two of them.
    // One that went with the power is first known to be lost, and then started again: on a busy host that is seen.
    let servers = until("what is held runs", || {
        let servers = product.settled(Fleet::ALL.len());
        let is_held = |server: &&SeenServer| server.fleet_name == Fleet::Held.name();
        servers.iter().filter(is_held).all(|server| server.pid.is_some()).then_some(servers)
    });
    let allocations = product.allocations();
    let one_of = |fleet: Fleet| product.server_of(fleet.name());
    let office = Office::open(&product);
    let work = office.work(account);
    if boot > 1 {
        for server in &servers {
            assert!(server.pid.is_none_or(lives), "{server:?}");
        }
        repeats_make_nothing_new(&product, &allocations);
        let unsynced_lines = std::fs::read_to_string(UNSYNCED).unwrap_or_default().lines().count();
        let reservations = product.reservations(one_of(Fleet::Pool).id);
        wire::say(&Word::Stands {
            allocations: allocations.clone(),
            servers,
            reservations,
            work: work.clone(),
            unsynced_lines,
        });
    }
    let random = |client: u64| Random(seed ^ (client << 32) ^ u64::from(boot));
    let (product, office, work) = (&product, &office, &work);
    std::thread::scope(|scope| {
        let goes_on = allocations.iter().filter(|it| it.state == "fulfilled");
        let mine: Vec<String> = goes_on.map(|it| it.allocation_id.clone()).collect();
        for number in 0..CLIENTS {
            let first = usize::try_from(number).unwrap_or(0);
            let sessions = mine.iter().skip(first).step_by(2).cloned().collect();
            let client = Client { product, random: random(number), number, boot, sessions };
            scope.spawn(|| client.play());
        }
        scope.spawn(|| hold(product, &one_of(Fleet::Held), random(CLIENTS)));
        scope.spawn(|| reserve(product, &one_of(Fleet::Pool)));
        scope.spawn(|| office.upload(boot, work));
        scope.spawn(|| office.change(boot));
        scope.spawn(|| office.admit(work));
        scope.spawn(|| office.invite(work));
        scope.spawn(|| office.search(work));
    });
}

/// What else a fleet says of itself.
const fn keys(fleet: Fleet) -> &'static str {
    match fleet {
        Fleet::Sessions => "",
        Fleet::Held => "    startOnProvision: true\n",
        Fleet::Pool => "    startOnProvision: true\n    allocationType: RESERVATION\n",
    }
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
        product.allocate(Fleet::Sessions.name(), &ended.allocation_id);
    }
    assert_eq!(product.allocations(), allocations, "repeats changed something");
}

struct Client<'a> {
    product: &'a Product,
    random: Random,
    number: u64,
    boot: u32,
    sessions: Vec<String>,
}

impl Client<'_> {
    /// Until the power goes.
    fn play(mut self) {
        for count in 1_u64.. {
            let choice = self.random.next();
            let ends = self.sessions.len() >= SESSIONS_MAX
                || (choice.is_multiple_of(3) && !self.sessions.is_empty());
            if ends {
                let index = usize::try_from(choice >> 8).unwrap_or(0) % self.sessions.len();
                let id = self.sessions.swap_remove(index);
                wire::say(&Word::Asking { asked: Asked::Deallocate, id: id.clone() });
                self.product.deallocate(&id);
                acknowledged(Asked::Deallocate, id, None);
            } else {
                let id = format!("{:08x}-{:04x}-4000-8000-{count:012x}", self.boot, self.number);
                wire::say(&Word::Asking { asked: Asked::Allocate, id: id.clone() });
                self.product.allocate(Fleet::Sessions.name(), &id);
                self.sessions.push(id.clone());
                acknowledged(Asked::Allocate, id, None);
            }
            std::thread::sleep(THINKS);
        }
    }
}

/// A game holds its server, for another time each time, and lets it go; until the power goes.
fn hold(product: &Product, server: &SeenServer, mut random: Random) {
    for asked in [Asked::Hold, Asked::Release].into_iter().cycle() {
        let minutes = HELD_MINUTES_MIN + random.next() % 600;
        let (command, word) = if asked == Asked::Hold {
            (format!("hold={minutes}m"), "hold")
        } else {
            ("release".to_owned(), "release")
        };
        wire::say(&Word::Asking { asked, id: server.id.to_string() });
        product.wish(server.id, &command, word);
        let held_until = product.server(server.id)["heldUntil"].as_str().map(str::to_owned);
        assert_eq!(held_until.is_some(), asked == Asked::Hold, "{command}");
        acknowledged(asked, server.id.to_string(), held_until);
    }
}

/// A game takes its server out of the pool and puts it back, until the power goes.
fn reserve(product: &Product, server: &SeenServer) {
    for (asked, word) in [(Asked::Reserve, "reserve"), (Asked::Unreserve, "unreserve")].into_iter().cycle() {
        wire::say(&Word::Asking { asked, id: server.id.to_string() });
        product.wish(server.id, word, word);
        acknowledged(asked, server.id.to_string(), None);
    }
}

/// Has an answer, and says so.
pub fn acknowledged(asked: Asked, id: String, told: Option<String>) {
    let mut file = OpenOptions::new().create(true).append(true).open(UNSYNCED).expect("a file");
    writeln!(file, "{asked:?} {id}").expect("room");
    wire::say(&Word::Acknowledged { asked, id, told });
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
