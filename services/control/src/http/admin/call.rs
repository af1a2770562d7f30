//! One call of the admin API: who asks, and what its path and query say.

use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequestParts, Query, RawPathParams};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use mainstay_core::{BuildConfigurationId, BuildId, FleetId, MachineId, ServerId};
use mainstay_fleet::Rejection;
use mainstay_wire::admin::{Conflict, ConflictBody, ConflictType};
use serde::de::DeserializeOwned;

use super::super::App;
use super::super::access::{Caller, Permission};
use super::super::failure::{CODE_HEADER, Failure, Unity, at_fault};
use crate::shards::OpenFleet;

/// A call whose caller is known.
pub(super) struct Call {
    pub(super) app: Arc<App>,
    caller: Caller,
    path: Vec<(String, String)>,
    query: Vec<(String, String)>,
}

impl FromRequestParts<Arc<App>> for Call {
    type Rejection = Unity;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Unity> {
        let caller = app.caller(&parts.headers)?;
        let path = RawPathParams::from_request_parts(parts, app)
            .await
            .map_err(|error| Unity::bad_query(&error.body_text()))?;
        let path = path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let Query(query) =
            Query::try_from_uri(&parts.uri).map_err(|error| Unity::bad_query(&error.body_text()))?;
        Ok(Self { app: Arc::clone(app), caller, path, query })
    }
}

/// Who made a change, for its revision.
impl Call {
    pub(super) fn by(&self) -> Arc<str> {
        self.caller.key().into()
    }

    /// Refuses a caller who may not, and then a project that is not here.
    pub(super) fn may(&self, permission: Permission) -> Result<(), Unity> {
        self.caller.may(permission)?;
        let ours = |name, ours: uuid::Uuid| self.path(name).parse() == Ok(ours);
        if ours("project", self.app.project) && ours("environment", self.app.environment) {
            Ok(())
        } else {
            Err(Unity::unknown_project())
        }
    }

    /// Refuses an image from the control plane's disk that lies among its own files, or that the caller may not name.
    pub(super) async fn may_name(&self, image: &str) -> Result<(), Unity> {
        let path = image.split_once(':').map_or(image, |(_, rest)| rest);
        if path.starts_with('/') && self.app.private.holds(Path::new(path)) {
            let detail = format!("{path} is, or lies in, the control plane's own data directory");
            let fix = "name an image that lies elsewhere, or upload it";
            let refused = Failure::new(StatusCode::BAD_REQUEST, "MS-C042", detail, fix);
            return Err(refused.of_field("container.imageTag").into());
        }
        Ok(self.app.may_name(&self.caller, vec![image.to_owned()]).await?)
    }

    /// A part of the path; empty where the path has no such part.
    pub(super) fn path(&self, name: &str) -> &str {
        self.path.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// A parameter of the query that says something.
    pub(super) fn asked(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Every value of a parameter, also several with commas between.
    pub(super) fn every(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.query.iter().filter(move |(known, _)| known.trim_end_matches("[]") == name);
        named.flat_map(|(_, value)| value.split(',')).filter(|value| !value.is_empty())
    }

    /// A parameter of the query as a value.
    pub(super) fn asked_as<T: std::str::FromStr>(
        &self,
        name: &str,
        wanted: &str,
    ) -> Result<Option<T>, Unity> {
        let read = |text: &str| {
            let bad = || Unity::bad_query(&format!("`{name}` is `{text}`, and should be {wanted}"));
            text.parse().map_err(|_| bad())
        };
        self.asked(name).map(read).transpose()
    }

    /// Whether what is asked for may be of the hardware there is: all of it counts as METAL.
    pub(super) fn asks_for_metal(&self) -> Result<bool, Unity> {
        let is = |kind: &str, word: &str| kind.eq_ignore_ascii_case(word);
        match self.asked("hardwareType") {
            None => Ok(true),
            Some(kind) if is(kind, "METAL") => Ok(true),
            Some(kind) if is(kind, "CLOUD") => Ok(false),
            Some(kind) => {
                Err(Unity::bad_query(&format!("`hardwareType` is `{kind}`, and should be CLOUD or METAL")))
            }
        }
    }

    /// Whether the call only asks whether it would be done.
    pub(super) fn looks_only(&self) -> bool {
        self.asked("dryRun").is_some_and(|value| value.eq_ignore_ascii_case("true") || value == "1")
    }

    /// The fleet of the path.
    pub(super) fn fleet(&self) -> Result<OpenFleet, Unity> {
        let named = self.path("fleet");
        let id = named.parse().map_err(|_| Failure::no_fleet(named))?;
        self.app.fleets.now().id(id).cloned().ok_or_else(|| Failure::no_fleet(named).into())
    }

    /// The server of the path.
    pub(super) fn server(&self) -> Result<(ServerId, OpenFleet), Unity> {
        let named = self.path("server");
        let id: ServerId = named.parse().map_err(|_| Failure::no_server(named))?;
        let fleet = self.app.fleets.now().number(id.fleet()).cloned();
        Ok((id, fleet.ok_or_else(|| Failure::no_server(named))?))
    }

    /// The machine of the path.
    pub(super) fn machine(&self) -> Result<(MachineId, OpenFleet), Unity> {
        let named = self.path("machine");
        let id: MachineId = named.parse().map_err(|_| Failure::no_machine(named))?;
        let fleet = self.app.fleets.now().number(id.fleet()).cloned();
        Ok((id, fleet.ok_or_else(|| Failure::no_machine(named))?))
    }

    /// The build of the path.
    pub(super) fn build(&self) -> Result<BuildId, Unity> {
        self.path("build").parse().map_err(|_| no_entry("build"))
    }

    /// The build configuration of the path.
    pub(super) fn configuration(&self) -> Result<BuildConfigurationId, Unity> {
        self.path("configuration").parse().map_err(|_| no_entry("build configuration"))
    }
}

/// Nothing of that kind is here.
pub(super) fn no_entry(kind: &'static str) -> Unity {
    mainstay_fleet::catalog::CatalogRejection::Unknown { kind }.into()
}

/// What is asked does not fit its field.
pub(super) fn bad_field(field: &'static str, detail: String) -> Unity {
    Failure::bad_request(detail, "mend the field").of_field(field).into()
}

/// Reads a body.
pub(super) fn json<T: DeserializeOwned>(body: Result<Bytes, BytesRejection>) -> Result<T, Unity> {
    let body = body.map_err(Unity::body)?;
    // No body at all is one without fields.
    let body: &[u8] = if body.is_empty() { b"{}" } else { &body };
    mainstay_wire::object::read(body).map_err(|error| {
        let detail = format!("the body is not the JSON this call takes: {error}");
        let failure =
            Failure::bad_request(detail, "mend the body; the fields are in docs/reference/http-api.md");
        match at_fault::<T>(body) {
            Some(field) => failure.of_field(&field).into(),
            None => failure.into(),
        }
    })
}

/// 409 with what stands in the way, and its code in the header.
#[derive(Debug)]
pub(in crate::http) struct Conflicting {
    pub(super) code: &'static str,
    pub(super) conflicts: Vec<Conflict>,
}

impl Conflicting {
    pub(super) fn one(
        code: &'static str,
        resource_type: &str,
        resource_id: String,
        conflict_type: ConflictType,
        reason: String,
    ) -> Self {
        let resource_type = resource_type.to_owned();
        Self { code, conflicts: vec![Conflict { resource_id, resource_type, conflict_type, reason }] }
    }
}

impl IntoResponse for Conflicting {
    fn into_response(self) -> Response {
        let status = StatusCode::CONFLICT;
        let body =
            ConflictBody { title: "Conflict".to_owned(), status: status.as_u16(), conflicts: self.conflicts };
        (status, [(CODE_HEADER, self.code)], Json(body)).into_response()
    }
}

/// A refusal in either of the face's two shapes.
#[derive(Debug)]
pub(in crate::http) enum Refused {
    Plain(Unity),
    Conflicts(Conflicting),
}

impl Refused {
    /// What a fleet refuses, in this face's shapes: conflicts by what they are about.
    pub(in crate::http) fn of_fleet(rejection: Rejection, fleet: FleetId) -> Self {
        let (kind, id) = if let Rejection::OfAnotherPurpose(id) = &rejection {
            ("ALLOCATION", id.to_string())
        } else {
            ("FLEET", fleet.to_string())
        };
        let failure = Failure::from(rejection);
        match failure.conflict() {
            Some((code, why)) => Conflicting::one(code, kind, id, ConflictType::Active, why).into(),
            None => failure.into(),
        }
    }
}

impl<T: Into<Failure>> From<T> for Refused {
    fn from(failure: T) -> Self {
        Self::Plain(failure.into().into())
    }
}

impl From<Unity> for Refused {
    fn from(unity: Unity) -> Self {
        Self::Plain(unity)
    }
}

impl From<Conflicting> for Refused {
    fn from(conflicting: Conflicting) -> Self {
        Self::Conflicts(conflicting)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self {
            Self::Plain(unity) => unity.into_response(),
            Self::Conflicts(conflicting) => conflicting.into_response(),
        }
    }
}
