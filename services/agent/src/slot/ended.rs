//! How a game ended, from the holder's words into the rules' words.

use std::io;

use mainstay_core::slot::{Exit, Killer};
use mainstay_holder::record::{ExitRecord, Outcome};

/// The exit that a record speaks of.
pub(crate) fn exit(record: &ExitRecord) -> Exit {
    match &record.outcome {
        Outcome::Exited { code } => Exit::Code(*code),
        Outcome::Killed { signal, .. } => {
            let killed_by = if record.out_of_memory() { Killer::OutOfMemory } else { Killer::Unknown };
            Exit::Signal { signal: *signal, killed_by }
        }
        Outcome::SpawnFailure(failure) => Exit::NotStarted(failure.why.as_str().into()),
    }
}

/// An error with all its causes, for those who read a report.
pub(crate) fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// Whether a chain of errors ends in a disk without room.
pub(crate) fn is_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut chain = std::iter::successors(Some(error), |error| error.source());
    chain.any(|error| {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        matches!(kind, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slot::ground::GroundError;
    use mainstay_holder::client::ClientError;
    use mainstay_holder::record::{RECORD_VERSION, SpawnFailure, SpawnStage};

    fn record(outcome: Outcome, oom_kills: u64) -> ExitRecord {
        ExitRecord {
            version: RECORD_VERSION,
            generation: 1,
            run: 1,
            boot_id: "b".into(),
            outcome,
            game_pid: Some(7),
            oom_kills,
            started_at_ms: 0,
            ended_at_ms: 1,
            leftovers_killed: 0,
            leftovers_alive: 0,
            output_kept: None,
            output_bytes_lost: 0,
            last_signal_asked: None,
        }
    }

    #[test]
    fn a_full_disk_is_told_from_other_trouble_by_the_systems_number() {
        let holder = |number| {
            GroundError::from(ClientError::HolderFailed {
                slot: "/x".into(),
                why: "fork (os error 28)".to_owned(),
                source: Some(io::Error::from_raw_os_error(number)),
            })
        };
        let files = |number| {
            let source = io::Error::from_raw_os_error(number);
            ClientError::Files { what: "write", path: "/x".into(), source }
        };
        assert!(is_full(&files(28)) && is_full(&files(122)) && is_full(&holder(28)) && is_full(&holder(122)));
        assert!(!is_full(&files(13)) && !is_full(&holder(12)));
    }

    #[test]
    fn every_outcome_is_said() {
        let killed = |signal| Outcome::Killed { signal, core_dumped: false };
        let failure = SpawnFailure { stage: SpawnStage::Execute, errno: 2, why: "no such file".into() };
        for (record, said) in [
            (record(Outcome::Exited { code: 0 }, 0), Exit::Code(0)),
            (record(Outcome::Exited { code: 3 }, 1), Exit::Code(3)),
            (record(killed(11), 1), Exit::Signal { signal: 11, killed_by: Killer::Unknown }),
            (record(killed(9), 0), Exit::Signal { signal: 9, killed_by: Killer::Unknown }),
            (record(killed(9), 1), Exit::Signal { signal: 9, killed_by: Killer::OutOfMemory }),
            (record(Outcome::SpawnFailure(failure), 0), Exit::NotStarted("no such file".into())),
        ] {
            assert_eq!(exit(&record), said);
        }
    }
}
