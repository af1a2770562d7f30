//! What was done to a server, from the history (reference 3.9).

use axum::Json;
use jiff::Timestamp as Instant;
use mainstay_core::MachineId;
use mainstay_journal::history::{About, FIND_ROWS_MAX, HistoryRow};
use mainstay_wire::admin::ActionLog;
use mainstay_wire::multiplay::instant;

use super::super::access::Permission;
use super::super::failure::{Failure, Unity};
use super::call::Call;

/// The most actions of one answer: the newest.
const ACTIONS_MAX: u32 = 500;

/// Every order a server was given, and what became of its allocations: the newest first. `date` narrows to one day.
pub(super) async fn actions(call: Call) -> Result<Json<Vec<ActionLog>>, Unity> {
    let day: Option<String> = call.asked("date").map(str::to_owned);
    let day = day.as_deref().map(day_of).transpose()?;
    call.may(Permission::Read)?;
    let (id, fleet) = call.server()?;
    let server = fleet.read(move |state, _| state.server(id).map(|server| server.machine)).await?;
    let machine = server.ok_or_else(|| Failure::no_server(call.path("server")))?;
    let rows = call.app.told.read(move |history| {
        history.find(About::Subject(&id.to_string()), i64::MAX, ACTIONS_MAX.min(FIND_ROWS_MAX))
    });
    let rows = rows.await?;
    let wanted = |row: &&HistoryRow| day.as_ref().is_none_or(|day| shown(row).starts_with(day.as_str()));
    Ok(Json(rows.iter().filter(wanted).map(|row| log(row, id.number(), machine)).collect()))
}

fn shown(row: &HistoryRow) -> String {
    instant(row.at).to_string()
}

/// A day, of a date or a time.
fn day_of(text: &str) -> Result<String, Unity> {
    let day = text.get(..10).unwrap_or(text);
    match format!("{day}T00:00:00Z").parse::<Instant>() {
        Ok(_midnight) => Ok(day.to_owned()),
        Err(_) => {
            Err(Unity::bad_query(&format!("`date` is `{text}`, and should be a date such as 2026-11-20")))
        }
    }
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
