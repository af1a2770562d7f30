//! `mainstay context`: instances by name, so that nobody writes their URLs each time.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::arguments::{ContextVerb, Output, Reach};
use crate::failure::Failure;
use crate::output::{self, Column};
use crate::target::{Context, Contexts, Here, There};

const COLUMNS: &[Column] = &[
    ("name", "/name"),
    ("current", "/current"),
    ("instance", "/instance"),
    ("token file", "/tokenFile"),
    ("ca", "/ca"),
];

pub fn run(verb: &ContextVerb, reach: &Reach, format: &Output) -> Result<ExitCode, Failure> {
    let mut contexts = Contexts::read()?;
    match verb {
        ContextVerb::List => {
            let rows: Value = contexts.all().map(|(name, context)| view(&contexts, name, context)).collect();
            output::list(&rows, COLUMNS, format)?;
        }
        ContextVerb::Create { name } => {
            let context = Context::of(reach)?;
            contexts.set(name, context.clone());
            contexts.write()?;
            output::one(&view(&contexts, name, &context), format)?;
        }
        ContextVerb::Use { name } => {
            contexts.choose(name)?;
            contexts.write()?;
            output::one(&view(&contexts, name, contexts.named(name)?), format)?;
        }
        ContextVerb::Delete { name } => {
            contexts.forget(name)?;
            contexts.write()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn view(contexts: &Contexts, name: &str, context: &Context) -> Value {
    let current = contexts.current() == Some(name);
    match context {
        Context::Here(Here { data_dir }) => json!({ "name": name, "current": current, "instance": data_dir }),
        Context::Elsewhere(There { api_url, token_file, ca, plain_http }) => json!({
            "name": name, "current": current, "instance": api_url, "tokenFile": token_file, "ca": ca, "plainHttp": plain_http,
        }),
    }
}
