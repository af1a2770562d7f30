//! Generations never fall, and nobody obeys one that the plane does not remember.

use mainstay_fleet::Fleet;
use mainstay_supervisor::{Event, Verdict};

use super::{Broken, ensure};

/// Every order an agent takes has a generation that the plane's disk holds.
pub(crate) fn taken_are_durable_in_the_plane(events: &[Event], disk: &Fleet) -> Result<(), Broken> {
    for event in events {
        if let Event::OrderTaken { order } = event {
            let durable = disk.server(order.server).map(|server| server.generation).unwrap_or_default();
            ensure(
                order.generation <= durable,
                "nobody obeys a generation the plane does not remember",
                || {
                    format!(
                        "{} takes {:?}, the plane's disk says {durable:?}",
                        order.server, order.generation
                    )
                },
            )?;
        }
    }
    Ok(())
}

/// No order comes before the configuration it names: the agent would have to begin a new stream for it.
pub(crate) fn configurations_are_known(verdicts: &[Verdict]) -> Result<(), Broken> {
    for verdict in verdicts {
        match verdict {
            Verdict::UnknownConfiguration(configuration) => {
                return Err(Broken::new(
                    "a stream brings configurations before orders",
                    format!("{configuration:?}"),
                ));
            }
            Verdict::Taken | Verdict::Same | Verdict::Older { .. } => {}
        }
    }
    Ok(())
}
