//! The thread that carries packets: read, judged by the line they take, written when their time has come.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use tun_rs::SyncDevice;

use crate::host::{BROADCAST, PACKET_BYTES_MAX, index};
use crate::line::Passage;
use crate::random::Random;
use crate::{Failure, Weather, lock};

/// The most packets on their way at once; more are lost, as in a router whose buffer is full. At 25 ms a line this is
/// four million packets a second.
pub const IN_FLIGHT_MAX: usize = 100_000;

/// The most packets read of one host before the others have their turn.
const READ_AT_ONCE_MAX: usize = 64;

/// Packets are read and written so often at the most, and so much later: a thread that wakes for each of sixty-four players' packets
/// takes a fifth of a core, which the players then do not have.
const STEP: Duration = Duration::from_millis(1);

/// Before everybody else, as `nice` counts it.
const FOREMOST: i32 = -20;

/// The most hosts told of at once that have sent something; the others are told of next.
const READY_MAX: usize = 64;

/// What the event to end by is called among what is waited for, where hosts have their places.
const END: u64 = u64::MAX;

/// Where an IPv4 header has its receiver.
const RECEIVER: std::ops::Range<usize> = 16..20;

/// What a network carried.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets written to hosts.
    pub delivered: u64,
    /// Of those, packets that others from the same host had overtaken on their way.
    pub overtaken: u64,
    /// Packets that their line lost, or that were cut.
    pub lost: u64,
    /// Packets for nobody here, and such as are not IPv4.
    pub stray: u64,
    /// Packets lost because too many were on their way.
    pub overflowed: u64,
    /// Bytes that each host has sent, IP headers included, whether they arrived or not.
    pub sent_bytes: Vec<u64>,
    /// The longest that a packet was written after its time: how far the network itself fell behind.
    pub latest: Duration,
}

impl Counts {
    pub(crate) fn of(hosts: usize) -> Self {
        Self { sent_bytes: vec![0; hosts], ..Self::default() }
    }
}

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Carrier {
    end: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl Carrier {
    pub(crate) fn start(
        devices: Vec<SyncDevice>,
        weather: Arc<Mutex<Weather>>,
        seed: u64,
    ) -> Result<Self, Failure> {
        let failed = Failure::to("make an event to end by");
        let end = eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
        let waits = wait_for(&devices, &end).map_err(Failure::to("wait for hosts"))?;
        let mut carry = Carry {
            devices,
            weather,
            random: Random::new(seed),
            under_way: BinaryHeap::new(),
            taken: 0,
            newest: BTreeMap::new(),
            buffer: vec![0; usize::from(PACKET_BYTES_MAX)],
        };
        let thread = std::thread::Builder::new()
            .name("wan".to_owned())
            .spawn(move || carry.run(&waits))
            .map_err(Failure::to("start a thread"))?;
        Ok(Self { end, thread: Some(thread) })
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        if let Err(error) = rustix::io::write(&self.end, &1_u64.to_ne_bytes()) {
            eprintln!("a network cannot be told to end: {error}");
            return;
        }
        if let Some(Err(_panic)) = self.thread.take().map(JoinHandle::join) {
            eprintln!("a network has ended by a bug of ours");
        }
    }
}

/// A packet on its way; the order taken keeps those of one moment in order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct UnderWay {
    due: Instant,
    taken: u64,
    from: usize,
    to: usize,
    bytes: Box<[u8]>,
}

/// What tells that a host has sent something, by its place, or that all ends.
fn wait_for(devices: &[SyncDevice], end: &OwnedFd) -> io::Result<OwnedFd> {
    let waits = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (place, device) in (0..).zip(devices) {
        epoll::add(&waits, device, epoll::EventData::new_u64(place), epoll::EventFlags::IN)?;
    }
    epoll::add(&waits, end, epoll::EventData::new_u64(END), epoll::EventFlags::IN)?;
    Ok(waits)
}

struct Carry {
    devices: Vec<SyncDevice>,
    weather: Arc<Mutex<Weather>>,
    random: Random,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    taken: u64,
    /// The last taken of those that each host has had from each.
    newest: BTreeMap<(usize, usize), u64>,
    buffer: Vec<u8>,
}

impl Carry {
    fn run(&mut self, waits: &OwnedFd) {
        // A network does not slow down because those who use it compute.
        if let Err(error) = rustix::process::setpriority_process(None, FOREMOST) {
            eprintln!("a network waits for processors as its hosts do: {error}");
        }
        loop {
            let ready = match self.wait(waits) {
                Ok(Some(ready)) => ready,
                Ok(None) => return,
                Err(error) => {
                    eprintln!("a network carries nothing more: {error}");
                    return;
                }
            };
            for from in ready {
                self.take(from);
            }
            self.deliver();
            std::thread::sleep(STEP);
        }
    }

    /// Waits until hosts have sent something, or a packet is due; `None` at the end.
    fn wait(&self, waits: &OwnedFd) -> io::Result<Option<Vec<usize>>> {
        let left =
            self.under_way.peek().map(|Reverse(next)| next.due.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 }));
        let mut events = [const { MaybeUninit::uninit() }; READY_MAX];
        let events = match epoll::wait(waits, &mut events, left.as_ref()) {
            Ok((events, _)) => events,
            Err(rustix::io::Errno::INTR) => return Ok(Some(Vec::new())),
            Err(error) => return Err(error.into()),
        };
        let names = events.iter().map(|event| event.data.u64());
        Ok(names.map(|name| (name != END).then(|| usize::try_from(name).unwrap_or(usize::MAX))).collect())
    }

    /// Takes what a host has sent.
    fn take(&mut self, from: usize) {
        let now = Instant::now();
        let weather = Arc::clone(&self.weather);
        let mut weather = lock(&weather);
        for _ in 0..READ_AT_ONCE_MAX {
            let length = match self.devices[from].recv(&mut self.buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    eprintln!("host {from} of a network cannot be read: {error}");
                    return;
                }
            };
            let Some(bytes) = self.buffer.get(..length) else { return };
            weather.counts.sent_bytes[from] += u64::try_from(length).unwrap_or(u64::MAX);
            let receiver = bytes.get(RECEIVER).filter(|_| bytes.first().is_some_and(|first| first >> 4 == 4));
            let Some(receiver) = receiver.and_then(|it| <[u8; 4]>::try_from(it).ok()) else {
                weather.counts.stray += 1;
                continue;
            };
            // Multicast and broadcast reach all, each by its own line.
            let to_all = receiver[0] >> 4 == 0xe || receiver == BROADCAST;
            let hosts = match index(receiver) {
                _ if to_all => 0..self.devices.len(),
                Some(to) if to < self.devices.len() => to..to + 1,
                Some(_) | None => {
                    weather.counts.stray += 1;
                    continue;
                }
            };
            for to in hosts.filter(|&to| to != from) {
                let line = match weather.lines[from][to] {
                    Passage::Open(line) if !self.random.hits(line.lost_per_mille) => line,
                    Passage::Open(_) | Passage::Cut => {
                        weather.counts.lost += 1;
                        continue;
                    }
                };
                if self.under_way.len() >= IN_FLIGHT_MAX {
                    weather.counts.overflowed += 1;
                    continue;
                }
                let due = now + line.delay + self.random.up_to(line.jitter);
                self.taken += 1;
                let packet = UnderWay { due, taken: self.taken, from, to, bytes: bytes.into() };
                self.under_way.push(Reverse(packet));
            }
        }
    }

    /// Writes what is due.
    fn deliver(&mut self) {
        let now = Instant::now();
        let (mut delivered, mut overtaken, mut latest) = (0, 0, Duration::ZERO);
        while self.under_way.peek().is_some_and(|Reverse(next)| next.due <= now) {
            let Some(Reverse(packet)) = self.under_way.pop() else { break };
            // A device whose queue is full loses it, as a real one would.
            if self.devices[packet.to].send(&packet.bytes).is_ok() {
                delivered += 1;
                let newest = self.newest.entry((packet.from, packet.to)).or_default();
                overtaken += u64::from(packet.taken < *newest);
                *newest = packet.taken.max(*newest);
                latest = latest.max(now.saturating_duration_since(packet.due));
            }
        }
        if delivered > 0 {
            let counts = &mut lock(&self.weather).counts;
            counts.delivered += delivered;
            counts.overtaken += overtaken;
            counts.latest = counts.latest.max(latest);
        }
    }
}
