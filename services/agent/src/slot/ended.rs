//! How a game ended, from the holder's words into the rules' words.

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

#[cfg(test)]
mod tests {
    use super::*;
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
            output_bytes_lost: 0,
            last_signal_asked: None,
        }
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
