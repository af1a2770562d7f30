//! How Tugboat misbehaves: the faults, how they are written, and when they come.
//!
//! By argument a fault is `NAME`, `NAME=VALUE`, with `@TIME` after the server's start: `--fault crash@2s`,
//! `--fault eat-memory=300M@1s`. Without a time it comes at once. By command (a `control` message) it comes at once.

use std::str::FromStr;
use std::time::Duration;

/// The most memory a fault eats: enough to pass any test's cap, short of taking down the machine that tests.
pub const EAT_BYTES_MAX: u64 = 8 << 30;
/// The most threads a fault spins.
pub const EAT_THREADS_MAX: u8 = 64;
/// The latest a fault may come.
pub const AFTER_MAX: Duration = Duration::from_secs(24 * 3600);

/// One way to misbehave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `crash`: dies by SIGSEGV, as a game with a bug does.
    Crash,
    /// `abort`: dies by SIGABRT, as a failed assertion does.
    Abort,
    /// `exit=CODE`, or `exit0`: exits with this code.
    Exit(u8),
    /// `hang`: stops for ever, with its sockets open; SIGTERM stays unread too.
    Hang,
    /// `mute-query`: plays on, but answers no query.
    MuteQuery,
    /// `eat-memory=SIZE` (`K`, `M`, `G` of 1024): takes and touches this much more memory, in bytes.
    EatMemory(u64),
    /// `eat-cpu`, `eat-cpu=THREADS`: keeps this many cores busy.
    EatCpu(u8),
    /// `ignore-sigterm`: notes SIGTERM and SIGINT in the log and plays on.
    IgnoreSigterm,
    /// `fork-grandchild`: leaves a sleeping process behind, whose own parent is gone, in the server's session.
    ForkGrandchild,
}

/// A fault by argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// `slow-start=TIME`: nothing is bound, and nothing answered, before this time has passed.
    SlowStart(Duration),
    /// A fault at a time after the start.
    At(Duration, Fault),
}

/// Why a text is no fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// No such fault.
    #[error(
        "`{0}` is no fault: use crash, abort, exit0, exit=CODE, hang, mute-query, eat-memory=SIZE, eat-cpu[=THREADS], \
         ignore-sigterm, fork-grandchild, each with @TIME if wanted, or slow-start=TIME"
    )]
    Unknown(String),
    /// A time that is none.
    #[error("`{0}` is no time: write a number and ms, s or m, at most a day")]
    Time(String),
    /// A size that is none.
    #[error("`{0}` is no size: write a number and K, M or G, at most 8G")]
    Size(String),
    /// A number that is none.
    #[error("`{text}` is no number from {min} to {max}")]
    Number {
        /// What was written.
        text: String,
        /// The least allowed.
        min: u8,
        /// The most allowed.
        max: u8,
    },
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        match (name, value) {
            ("crash", None) => Ok(Self::Crash),
            ("abort", None) => Ok(Self::Abort),
            ("exit0", None) => Ok(Self::Exit(0)),
            ("exit", Some(code)) => Ok(Self::Exit(number(code, 0, u8::MAX)?)),
            ("hang", None) => Ok(Self::Hang),
            ("mute-query", None) => Ok(Self::MuteQuery),
            ("eat-memory", Some(size)) => Ok(Self::EatMemory(bytes(size)?)),
            ("eat-cpu", None) => Ok(Self::EatCpu(1)),
            ("eat-cpu", Some(threads)) => Ok(Self::EatCpu(number(threads, 1, EAT_THREADS_MAX)?)),
            ("ignore-sigterm", None) => Ok(Self::IgnoreSigterm),
            ("fork-grandchild", None) => Ok(Self::ForkGrandchild),
            _ => Err(FaultError::Unknown(text.to_owned())),
        }
    }
}

impl FromStr for Plan {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        if let Some(time) = text.strip_prefix("slow-start=") {
            return Ok(Self::SlowStart(duration(time)?));
        }
        match text.split_once('@') {
            Some((fault, time)) => Ok(Self::At(duration(time)?, fault.parse()?)),
            None => Ok(Self::At(Duration::ZERO, text.parse()?)),
        }
    }
}

fn number(text: &str, min: u8, max: u8) -> Result<u8, FaultError> {
    let number = text.parse().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| FaultError::Number { text: text.to_owned(), min, max })
}

pub(crate) fn duration(text: &str) -> Result<Duration, FaultError> {
    let digits = text.trim_end_matches(|sign: char| sign.is_ascii_alphabetic());
    let unit_ms = match &text[digits.len()..] {
        "ms" => Some(1),
        "s" => Some(1000),
        "m" => Some(60_000),
        _ => None,
    };
    let ms = unit_ms.and_then(|unit: u64| digits.parse::<u64>().ok()?.checked_mul(unit));
    let time = ms.map(Duration::from_millis).filter(|time| *time <= AFTER_MAX);
    time.ok_or_else(|| FaultError::Time(text.to_owned()))
}

fn bytes(text: &str) -> Result<u64, FaultError> {
    let digits = text.trim_end_matches(|sign: char| sign.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "K" => Some(10),
        "M" => Some(20),
        "G" => Some(30),
        _ => None,
    };
    let bytes = shift.and_then(|shift| digits.parse::<u64>().ok()?.checked_mul(1 << shift));
    bytes.filter(|bytes| *bytes <= EAT_BYTES_MAX).ok_or_else(|| FaultError::Size(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_fault_is_read() {
        let at = |ms, fault| Ok(Plan::At(Duration::from_millis(ms), fault));
        for (text, plan) in [
            ("crash@2s", at(2000, Fault::Crash)),
            ("abort@1m", at(60_000, Fault::Abort)),
            ("exit0@500ms", at(500, Fault::Exit(0))),
            ("exit=3", at(0, Fault::Exit(3))),
            ("hang@0s", at(0, Fault::Hang)),
            ("mute-query", at(0, Fault::MuteQuery)),
            ("eat-memory=300M@1s", at(1000, Fault::EatMemory(300 << 20))),
            ("eat-cpu", at(0, Fault::EatCpu(1))),
            ("eat-cpu=2", at(0, Fault::EatCpu(2))),
            ("ignore-sigterm", at(0, Fault::IgnoreSigterm)),
            ("fork-grandchild", at(0, Fault::ForkGrandchild)),
            ("slow-start=3s", Ok(Plan::SlowStart(Duration::from_secs(3)))),
            ("crash@2", Err(FaultError::Time("2".into()))),
            ("crash@2h", Err(FaultError::Time("2h".into()))),
            ("crash@", Err(FaultError::Time(String::new()))),
            ("crash@1441m", Err(FaultError::Time("1441m".into()))),
            ("exit=256", Err(FaultError::Number { text: "256".into(), min: 0, max: 255 })),
            ("eat-cpu=0", Err(FaultError::Number { text: "0".into(), min: 1, max: 64 })),
            ("eat-memory=9G", Err(FaultError::Size("9G".into()))),
            ("eat-memory", Err(FaultError::Unknown("eat-memory".into()))),
            ("crash=1", Err(FaultError::Unknown("crash=1".into()))),
            ("", Err(FaultError::Unknown(String::new()))),
        ] {
            assert_eq!(text.parse::<Plan>(), plan, "{text}");
        }
        assert_eq!("slow-start=3s".parse::<Fault>(), Err(FaultError::Unknown("slow-start=3s".into())));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(exit=|eat-memory=|crash@|slow-start=)?\\PC{0,30}") {
            let _ = text.parse::<Plan>();
        }
    }
}
