//! `mainstay account`.

use std::process::ExitCode;

use serde_json::json;

use super::sure::sure;
use super::{every, segment};
use crate::arguments::{AccountVerb, Output, RoleChoice};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{self, Column};
use crate::target::Target;

const COLUMNS: &[Column] = &[("key id", "/keyId"), ("role", "/role")];

pub fn run(verb: &AccountVerb, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
    match verb {
        AccountVerb::Create { role } => {
            let role = match role {
                RoleChoice::Admin => "admin",
                RoleChoice::Operator => "operator",
                RoleChoice::Allocator => "allocator",
                RoleChoice::Viewer => "viewer",
            };
            let made = client.post("/v1/service-accounts", &json!({ "role": role }))?;
            output::one(&made, format)?;
            format.hint(
                "this is the only time the secret is shown; send both as Basic credentials: keyId:secretKey",
            );
        }
        AccountVerb::List => output::list(&every(&client, "/v1/service-accounts")?, COLUMNS, format)?,
        AccountVerb::Revoke { key } => {
            sure(&format!("revoke account {key}"), &client, format)?;
            client.delete(&format!("/v1/service-accounts/{}", segment(key)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
