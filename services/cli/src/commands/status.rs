//! `mainstay status`: what is running, and where.

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

use crate::arguments::Output;
use crate::client::{At, Client, Ports};
use crate::failure::Failure;
use crate::output::{self, Column, Shape};
use crate::target::Target;

const FLEETS: &[Column] = &[
    ("fleet", "/name"),
    ("status", "/status"),
    ("slots", "/servers/total"),
    ("online", "/servers/online"),
    ("allocated", "/servers/allocated"),
    ("regions", "/regions"),
];

pub fn run(target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
    let words = |status: &Value| {
        let places = match (client.at(), target) {
            (At::Here(ports), Target::Here(data_dir)) => places(ports, data_dir),
            (At::Here(_) | At::There(_), _) => format!("API         {}/v1\n\n", client.api()),
        };
        format!("{places}{}", output::table(&status["fleets"], FLEETS, format))
    };
    output::look(&Shape::Words(&words), format, &|| client.get("/v1/status"))?;
    Ok(ExitCode::SUCCESS)
}

fn places(ports: &Ports, data_dir: &Path) -> String {
    format!(
        "API         {api}/v1\nMultiplay   {api}/v1/allocations\nGame SDKs   {multiplay}\nAgents      {agents}\n\
         Data        {data}\n\n",
        api = ports.api,
        multiplay = ports.multiplay,
        agents = ports.agents,
        data = data_dir.display()
    )
}
