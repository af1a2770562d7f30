//! What the relay of a control plane adds to a packet's way, and what a packet costs it: members of real sessions, on loopback, send to
//! each other at a fixed rate, by turns directly and through the relay, in one run.

mod load;
mod members;

use std::time::Duration;

use self::load::{Load, Run, Way};
use self::members::{PACKET_BYTES_MAX, PACKET_BYTES_MIN, Pair, RATE_OF_ONE, pairs};
use crate::instance::Instance;
use crate::report::median;
use crate::{Failure, option};

/// Longer, and the relay would forget members between two hails.
const SECONDS_MAX: u64 = 20;
/// The relay takes 600 hails of one address a minute: three of each member, and as many at first.
const PAIRS_MAX: u64 = 48;

struct Settings {
    pairs: u64,
    load: Load,
    runs: u64,
}

impl Settings {
    fn read(arguments: &[String]) -> Result<Self, Failure> {
        let number = |name: &str, unasked: u64| option(arguments, name).map(|given| given.unwrap_or(unasked));
        let pairs = number("--pairs", 16)?;
        let (rate, bytes, seconds) =
            (number("--rate", 10_000)?, number("--bytes", 200)?, number("--seconds", 10)?);
        if !(1..=PAIRS_MAX).contains(&pairs) || !(1..=SECONDS_MAX).contains(&seconds) {
            return Err(format!("--pairs takes 1 to {PAIRS_MAX}, --seconds 1 to {SECONDS_MAX}").into());
        }
        let bytes = usize::try_from(bytes)?;
        if !(PACKET_BYTES_MIN..=PACKET_BYTES_MAX).contains(&bytes) {
            return Err(format!("--bytes takes {PACKET_BYTES_MIN} to {PACKET_BYTES_MAX}").into());
        }
        let most = RATE_OF_ONE * pairs / u64::try_from(bytes)?;
        if !(1..=most).contains(&rate) {
            return Err(format!(
                "--rate takes 1 to {most}: the relay lets each of {pairs} senders send {RATE_OF_ONE} bytes a second"
            )
            .into());
        }
        let load = Load { rate, bytes, lasts: Duration::from_secs(seconds) };
        Ok(Self { pairs, load, runs: number("--runs", 5)?.max(1) })
    }
}

/// Measures.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let Settings { pairs: count, load, runs } = Settings::read(arguments)?;
    let relay = members::free_address()?;
    let instance = Instance::start_with("version: 1.0\n", &["--relay", &relay.to_string()])?;
    let pairs = pairs(&instance, relay, count)?;
    say!(
        "{count} members send {} packets of {} bytes a second to {count} others, for {} s; {runs} runs, each directly and through \
         the relay:",
        load.rate,
        load.bytes,
        load.lasts.as_secs()
    );
    let mut measured = Vec::new();
    for number in 0..runs {
        let direct = measure(&instance, &pairs, &load, 2 * number, Way::Direct)?;
        let relayed = measure(&instance, &pairs, &load, 2 * number + 1, Way::Relayed)?;
        say!("  directly     {}", direct.line());
        say!("  through it   {}", relayed.line());
        measured.push((direct, relayed));
    }
    let middle =
        |of: &dyn Fn(&Run, &Run) -> f64| median(measured.iter().map(|(direct, relayed)| of(direct, relayed)));
    say!(
        "median of {runs} runs: {:.0} packets a second arrive, {:.2} % are lost; {:.1} us of processor time each; added: p50 {:.0} us, \
         p99 {:.0} us",
        middle(&|_, relayed| relayed.rate()),
        middle(&|_, relayed| relayed.lost_percent()),
        // What the control plane does anyway it does in both halves.
        middle(&|direct, relayed| (relayed.cpu_us() - direct.cpu_us()).max(0.0) / relayed.arrived()),
        middle(&|direct, relayed| relayed.latency_us(0.5) - direct.latency_us(0.5)),
        middle(&|direct, relayed| relayed.latency_us(0.99) - direct.latency_us(0.99)),
    );
    Ok(())
}

fn measure(instance: &Instance, pairs: &[Pair], load: &Load, number: u64, way: Way) -> Result<Run, Failure> {
    pairs.iter().try_for_each(|pair| pair.stay(instance))?;
    load.run(instance.pid(), pairs, number, way)
}
