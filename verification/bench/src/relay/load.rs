//! Packets at a fixed rate, how long each was on its way, and what the control plane spent meanwhile.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use mainstay_wire::relay::{FRAME_BYTES_MAX, Frame};

use super::members::Pair;
use crate::Failure;

/// How often whoever sends looks what is due: packets go out in small bundles, as games send them.
const TICK: Duration = Duration::from_micros(500);
/// How long what is on its way is waited for at the end.
const TAIL: Duration = Duration::from_millis(300);

/// How packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Direct,
    Relayed,
}

/// What is sent.
pub(super) struct Load {
    /// Packets a second, of all together.
    pub(super) rate: u64,
    /// Of each packet, without the frame.
    pub(super) bytes: usize,
    pub(super) lasts: Duration,
}

/// What came of it.
pub(super) struct Run {
    sent: u64,
    took: Duration,
    /// In nanoseconds.
    latencies: Histogram<u64>,
    cpu: Duration,
}

impl Load {
    /// Sends, in turn from each first member to its second.
    pub(super) fn run(&self, control: u32, pairs: &[Pair], number: u64, way: Way) -> Result<Run, Failure> {
        let (began, spent) = (Instant::now(), cpu(control)?);
        let is_over = AtomicBool::new(false);
        let (sent, took, latencies) = thread::scope(|scope| {
            let hearing: Vec<_> = pairs
                .iter()
                .map(|pair| &pair.to.socket)
                .map(|socket| scope.spawn(|| hear(socket, began, number, &is_over)))
                .collect();
            let sent = self.send(pairs, began, number, way);
            let took = began.elapsed();
            thread::sleep(TAIL);
            is_over.store(true, Ordering::Relaxed);
            let mut all = nanoseconds()?;
            for heard in hearing {
                all.add(heard.join().map_err(|_| "a receiver panicked")??)?;
            }
            Ok::<_, Failure>((sent?, took, all))
        })?;
        Ok(Run { sent, took, latencies, cpu: cpu(control)?.saturating_sub(spent) })
    }

    fn send(&self, pairs: &[Pair], began: Instant, number: u64, way: Way) -> Result<u64, Failure> {
        let mut packet = vec![0; self.bytes];
        packet[..8].copy_from_slice(&number.to_be_bytes());
        let addresses =
            pairs.iter().map(|pair| pair.to.socket.local_addr()).collect::<Result<Vec<_>, _>>()?;
        let mut sent = 0_u64;
        while began.elapsed() < self.lasts {
            let due = u64::try_from(began.elapsed().as_nanos() * u128::from(self.rate) / 1_000_000_000)?;
            while sent < due {
                let at = usize::try_from(sent)? % pairs.len();
                let pair = &pairs[at];
                packet[8..16].copy_from_slice(&nanos_since(began).to_be_bytes());
                let frame = Frame::Carry { seat: pair.seat(), packet: &packet }.encode();
                let to = match way {
                    Way::Direct => addresses[at],
                    Way::Relayed => pair.from.relay(),
                };
                pair.from.socket.send_to(&frame, to)?;
                sent += 1;
            }
            thread::sleep(TICK);
        }
        Ok(sent)
    }
}

/// How long each packet of this run took.
fn hear(
    socket: &UdpSocket,
    began: Instant,
    number: u64,
    is_over: &AtomicBool,
) -> Result<Histogram<u64>, Failure> {
    socket.set_read_timeout(Some(TAIL / 3))?;
    let (mut latencies, mut buffer) = (nanoseconds()?, [0; FRAME_BYTES_MAX]);
    while !is_over.load(Ordering::Relaxed) {
        let length = match socket.recv(&mut buffer) {
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(error) => return Err(error.into()),
        };
        let now = nanos_since(began);
        if let Some(Frame::Carry { packet, .. }) = Frame::decode(&buffer[..length])
            && let Some((of, rest)) = packet.split_first_chunk::<8>()
            && u64::from_be_bytes(*of) == number
            && let Some(sent) = rest.first_chunk::<8>()
        {
            latencies.saturating_record(now.saturating_sub(u64::from_be_bytes(*sent)).max(1));
        }
    }
    Ok(latencies)
}

fn nanos_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn nanoseconds() -> Result<Histogram<u64>, Failure> {
    Ok(Histogram::new_with_bounds(1, 60_000_000_000, 3)?)
}

/// What a process and its threads have used of the processor: the kernel counts in hundredths of a second.
fn cpu(pid: u32) -> Result<Duration, Failure> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The program's name, which may hold anything, ends at the last bracket.
    let fields = stat.rsplit_once(") ").ok_or("/proc/PID/stat has another form")?.1.split(' ');
    let ticks = fields.skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}

#[expect(clippy::cast_precision_loss, reason = "counts of a benchmark are far below 2^52")]
impl Run {
    pub(super) fn arrived(&self) -> f64 {
        self.latencies.len() as f64
    }

    pub(super) fn rate(&self) -> f64 {
        self.arrived() / self.took.as_secs_f64()
    }

    pub(super) fn lost_percent(&self) -> f64 {
        100.0 * (1.0 - self.arrived() / self.sent as f64)
    }

    pub(super) fn latency_us(&self, quantile: f64) -> f64 {
        self.latencies.value_at_quantile(quantile) as f64 / 1_000.0
    }

    /// What the control plane spent.
    pub(super) fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1_000_000.0
    }

    pub(super) fn line(&self) -> String {
        format!(
            "{:>7.0} a second   {:>6.2} % lost   p50 {:>7.0} us   p99 {:>7.0} us   max {:>8.0} us   control plane {:>5.1} % of a core",
            self.rate(),
            self.lost_percent(),
            self.latency_us(0.5),
            self.latency_us(0.99),
            self.latencies.max() as f64 / 1_000.0,
            self.cpu.as_secs_f64() / self.took.as_secs_f64() * 100.0,
        )
    }
}
