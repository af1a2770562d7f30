//! What was done to a server, from the history (reference 3.9).

use std::time::Duration;

use axum::Json;
use jiff::Timestamp as Instant;
use mainstay_core::{MachineId, Timestamp};
use mainstay_journal::history::{About, FIND_ROWS_MAX, HistoryRow};
use mainstay_wire::admin::ActionLog;
use mainstay_wire::multiplay::instant;

use super::super::access::Permission;
use super::super::failure::{Failure, Unity};
use super::call::Call;

/// The most actions of one answer: the newest.
const ACTIONS_MAX: u32 = 500;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Every order a server was given, and what became of its allocations: the newest first. `date` narrows to one day.
pub(super) async fn actions(call: Call) -> Result<Json<Vec<ActionLog>>, Unity> {
    let day = call.asked("date").map(day_of).transpose()?;
    call.may(Permission::Read)?;
    let (id, fleet) = call.server()?;
    let server = fleet.read(move |state, _| state.server(id).map(|server| server.machine)).await?;
    let machine = server.ok_or_else(|| Failure::no_server(call.path("server")))?;
    let rows = call.app.told.read(move |history| {
        let (server, most) = (id.to_string(), ACTIONS_MAX.min(FIND_ROWS_MAX));
        match day {
            None => history.find(About::Subject(&server), i64::MAX, most),
            Some(begin) => history.find_within(About::Subject(&server), (begin, begin + DAY), most),
        }
    });
    let rows = rows.await?;
    Ok(Json(rows.iter().map(|row| log(row, id.number(), machine)).collect()))
}

/// When a day begins, of a date or a time.
fn day_of(text: &str) -> Result<Timestamp, Unity> {
    let midnight = format!("{}T00:00:00Z", text.get(..10).unwrap_or(text)).parse::<Instant>().ok();
    let begin = midnight.and_then(|at| u64::try_from(at.as_millisecond()).ok());
    begin.map(Timestamp::from_unix_ms).ok_or_else(|| {
        Unity::bad_query(&format!("`date` is `{text}`, and should be a date such as 2026-11-20"))
    })
}

fn log(row: &HistoryRow, server: u64, machine: MachineId) -> ActionLog {
    let detail: serde_json::Value = serde_json::from_str(&row.detail).unwrap_or_default();
    let order = detail.get("generation").and_then(serde_json::Value::as_u64);
    ActionLog {
        id: row.id,
        server_id: server,
        action_id: order.unwrap_or_else(|| row.id.unsigned_abs()),
        machine_id: machine.number(),
        message: row.kind.clone(),
        attachment: (!detail.is_null()).then(|| row.detail.clone()),
        date: instant(row.at),
    }
}
