//! Which instance a command asks: the one of a data directory on this host, or one that is reached by its URL alone.
//!
//! The nearest word counts: a flag, then the environment, then the user's own file of names, then what there is without any of
//! them, the data directory `.mainstay`. A token goes where it was said that it goes, and nowhere else: over TLS, or on this very
//! host.

mod context;
mod token;
mod trust;
mod url;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use self::context::{Context, Contexts, Here, There};
pub use self::token::Token;
pub use self::trust::{Trust, refusal};
pub use self::url::ApiUrl;

use crate::arguments::Reach;
use crate::failure::{Exit, Failure};

/// Where an instance of this host keeps its data, where nobody says.
const DATA_DIR: &str = ".mainstay";

/// An instance, as a command finds it.
pub enum Target {
    /// The one that keeps its data in this directory: its files say where it listens, and hold its credentials.
    Here(PathBuf),
    /// One that is reached by its URL.
    Elsewhere(Elsewhere),
}

/// An instance that is reached by its URL.
pub struct Elsewhere {
    /// Where.
    pub url: ApiUrl,
    /// Who asks.
    pub token: Token,
    /// Who vouches for whoever answers.
    pub trust: Trust,
}

/// What the environment says, read once.
#[derive(Default)]
struct Environment {
    data_dir: Option<OsString>,
    api_url: Option<OsString>,
    context: Option<OsString>,
    token_file: Option<OsString>,
    ca: Option<OsString>,
}

impl Environment {
    fn read() -> Self {
        let said = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            data_dir: said("MAINSTAY_DATA_DIR"),
            api_url: said("MAINSTAY_API_URL"),
            context: said("MAINSTAY_CONTEXT"),
            token_file: said("MAINSTAY_TOKEN_FILE"),
            ca: said("MAINSTAY_CA"),
        }
    }
}

/// The data directory that is meant, for what has to do with one of this host's.
pub fn data_dir(reach: &Reach) -> PathBuf {
    let said = reach.data_dir.clone().or_else(|| Environment::read().data_dir.map(PathBuf::from));
    said.unwrap_or_else(|| DATA_DIR.into())
}

impl Target {
    /// The instance that is meant.
    ///
    /// # Errors
    /// Where two are named alike, what is said of one elsewhere is not enough to ask it, or its token would be seen by others.
    pub fn of(reach: &Reach) -> Result<Self, Failure> {
        let environment = Environment::read();
        let (token_file, ca) = (environment.token_file.map(PathBuf::from), environment.ca.map(PathBuf::from));
        let context = match named(reach)? {
            Some(Named::DataDir(data_dir)) => Context::Here(Here { data_dir }),
            Some(Named::Url(api_url)) => {
                Context::Elsewhere(There { api_url, token_file: None, ca: None, plain_http: None })
            }
            Some(Named::Context(name)) => Contexts::read()?.named(&name)?.clone(),
            None => Context::Here(Here { data_dir: DATA_DIR.into() }),
        };
        match context {
            Context::Here(Here { data_dir }) => match only_elsewhere(reach) {
                Some(flag) => Err(Failure::new(
                    Exit::Usage,
                    "MS-U052",
                    format!("{flag} is about an instance elsewhere, and none is named"),
                )
                .why(format!("the instance of {} is asked with its own credentials", data_dir.display()))
                .fix("name it: --api-url https://HOST:7420; or leave the flag out")),
                None => Ok(Self::Here(data_dir)),
            },
            // What a name stands for is whole: the environment says what it leaves open.
            Context::Elsewhere(there) => {
                let there = There {
                    token_file: reach.token_file.clone().or(there.token_file).or(token_file),
                    ca: reach.ca.clone().or(there.ca).or(ca),
                    plain_http: reach.plain_http.or(there.plain_http),
                    ..there
                };
                Elsewhere::of(&there).map(Self::Elsewhere)
            }
        }
    }
}

impl Context {
    /// What the flags say, to be found again from any folder. What can be read of it is.
    pub fn of(reach: &Reach) -> Result<Self, Failure> {
        let absolute = |path: &Path| {
            std::path::absolute(path).map_err(|error| {
                Failure::new(Exit::Usage, "MS-U006", format!("cannot read {}", path.display())).why(error)
            })
        };
        let file = |path: &Option<PathBuf>| path.as_deref().map(absolute).transpose();
        match flag(reach)? {
            Some(Named::DataDir(data_dir)) => Ok(Self::Here(Here { data_dir: absolute(&data_dir)? })),
            Some(Named::Url(api_url)) => {
                let (token_file, ca, plain_http) =
                    (file(&reach.token_file)?, file(&reach.ca)?, reach.plain_http);
                let url = ApiUrl::read(&api_url)?;
                url.keeps_a_secret(plain_http.unwrap_or_default())?;
                token_file.as_deref().map(Token::read).transpose()?;
                Trust::read(ca.as_deref())?;
                Ok(Self::Elsewhere(There { api_url: url.to_string(), token_file, ca, plain_http }))
            }
            Some(Named::Context(_)) | None => {
                Err(Failure::new(Exit::Usage, "MS-U052", "a name stands for no instance yet")
                    .fix("say which: --api-url URL --token-file FILE, or --data-dir DIR"))
            }
        }
    }
}

/// How an instance is named.
enum Named {
    DataDir(PathBuf),
    Url(String),
    Context(String),
}

/// The nearest word of which instance is meant.
fn named(reach: &Reach) -> Result<Option<Named>, Failure> {
    if let Some(named) = flag(reach)? {
        return Ok(Some(named));
    }
    let Environment { data_dir, api_url, context, .. } = Environment::read();
    let text = |said: Option<OsString>| said.map(|text| text.to_string_lossy().into_owned());
    let by_variable = one([
        ("MAINSTAY_DATA_DIR", data_dir.map(PathBuf::from).map(Named::DataDir)),
        ("MAINSTAY_API_URL", text(api_url).map(Named::Url)),
        ("MAINSTAY_CONTEXT", text(context).map(Named::Context)),
    ])?;
    match by_variable {
        Some(named) => Ok(Some(named)),
        None => Ok(Contexts::read()?.current().map(|name| Named::Context(name.to_owned()))),
    }
}

fn flag(reach: &Reach) -> Result<Option<Named>, Failure> {
    one([
        ("--data-dir", reach.data_dir.clone().map(Named::DataDir)),
        ("--api-url", reach.api_url.clone().map(Named::Url)),
        ("--context", reach.context.clone().map(Named::Context)),
    ])
}

/// What is named, where one at most is.
fn one(said: [(&str, Option<Named>); 3]) -> Result<Option<Named>, Failure> {
    let mut said = said.into_iter().filter_map(|(by, named)| Some((by, named?)));
    match (said.next(), said.next()) {
        (Some((first, _)), Some((second, _))) => {
            let what = format!("two instances are named: by {first} and by {second}");
            Err(Failure::new(Exit::Usage, "MS-U052", what).fix("leave one of them out"))
        }
        (first, _) => Ok(first.map(|(_, named)| named)),
    }
}

/// A flag that says nothing of an instance of this host, where one is given.
fn only_elsewhere(reach: &Reach) -> Option<&'static str> {
    match reach {
        Reach { ca: Some(_), .. } => Some("--ca"),
        Reach { plain_http: Some(_), .. } => Some("--plain-http"),
        Reach { token_file: Some(_), .. } => Some("--token-file"),
        Reach { ca: None, plain_http: None, token_file: None, .. } => None,
    }
}

impl Elsewhere {
    fn of(there: &There) -> Result<Self, Failure> {
        let url = ApiUrl::read(&there.api_url)?;
        url.keeps_a_secret(there.plain_http.unwrap_or_default())?;
        let token = match &there.token_file {
            Some(file) => Token::read(file)?,
            None => return Err(token::missing(&url)),
        };
        let trust = Trust::read(there.ca.as_deref())?;
        Ok(Self { url, token, trust })
    }
}
