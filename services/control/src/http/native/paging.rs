//! Pages of lists: a cursor says behind what the next page begins, so that nothing is missed or doubled while lists change.

use std::str::FromStr;

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use mainstay_fleet::ServerStatus;
use mainstay_wire::native::{PAGE_DEFAULT, PAGE_MAX, Page};
use serde::Deserialize;
use utoipa::IntoParams;

use super::super::failure::{Failure, Native};

/// What a list of servers can be narrowed to.
const SERVER_STATUSES: &str = "ALLOCATED, RESERVED, AVAILABLE, ONLINE, READY, HELD or UNREACHABLE";

/// What every list can be asked.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Asked {
    /// `nextCursor` of the page before.
    pub(super) cursor: Option<String>,
    /// How many at most; 100 unasked, 1000 at most.
    limit: Option<usize>,
    /// A fleet's name or id.
    pub(super) fleet: Option<String>,
    /// A status of servers: ALLOCATED, RESERVED, AVAILABLE, ONLINE, READY, HELD or UNREACHABLE.
    status: Option<String>,
}

impl Asked {
    pub(super) fn read(query: Result<Query<Self>, QueryRejection>) -> Result<Self, Native> {
        let fix = "see docs/reference/http-api.md";
        query.map(|Query(asked)| asked).map_err(|error| Failure::bad_request(error.body_text(), fix).into())
    }

    /// How many at most.
    pub(super) fn limit(&self) -> usize {
        self.limit.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE_MAX)
    }

    /// The status of servers that is asked for.
    pub(super) fn status(&self) -> Result<Option<ServerStatus>, Native> {
        let read = |text: &str| {
            let bad = || {
                let detail = format!("`status` is `{text}`, and should be {SERVER_STATUSES}");
                Failure::bad_request(detail, "mend the query; see docs/reference/http-api.md")
            };
            text.parse().map_err(|_| Native::from(bad()))
        };
        self.status.as_deref().filter(|text| !text.is_empty()).map(read).transpose()
    }

    /// Behind what the page begins.
    pub(super) fn after<T: FromStr>(&self) -> Result<Option<T>, Native> {
        self.cursor.as_deref().map(cursor).transpose()
    }
}

/// A cursor, which only this control plane makes.
pub(super) fn cursor<T: FromStr>(text: &str) -> Result<T, Native> {
    let fix = "take `nextCursor` of the page before, as it is";
    text.parse().map_err(|_| Failure::bad_request(format!("`{text}` is no cursor of this list"), fix).into())
}

/// A page of what was read: one more than the limit was read to know whether there is a next.
pub(super) fn page<T>(mut items: Vec<T>, limit: usize, cursor_of: impl Fn(&T) -> String) -> Page<T> {
    let more = items.len() > limit;
    items.truncate(limit);
    let next_cursor = if more { items.last().map(cursor_of) } else { None };
    Page { items, next_cursor }
}
