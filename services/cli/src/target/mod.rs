//! Which instance a command asks: the one of a data directory on this host, or one that is reached by its URL alone.
//!
//! The nearest word counts: a flag, then the environment, then what there is without either, the data directory `.mainstay`. A
//! token goes where it was said that it goes, and nowhere else: over TLS, or on this very host.

mod token;
mod trust;
mod url;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

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
    token_file: Option<OsString>,
    ca: Option<OsString>,
}

impl Environment {
    fn read() -> Self {
        let said = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            data_dir: said("MAINSTAY_DATA_DIR"),
            api_url: said("MAINSTAY_API_URL"),
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
        Self::among(reach, &Environment::read())
    }

    fn among(reach: &Reach, environment: &Environment) -> Result<Self, Failure> {
        match place(reach, environment)? {
            Place::DataDir(data_dir) => match only_elsewhere(reach) {
                Some(flag) => Err(Failure::new(
                    Exit::Usage,
                    "MS-U052",
                    format!("{flag} is about an instance elsewhere, and none is named"),
                )
                .why(format!("the instance of {} is asked with its own credentials", data_dir.display()))
                .fix("name it: --api-url https://HOST:7420; or leave the flag out")),
                None => Ok(Self::Here(data_dir)),
            },
            Place::Url(url) => Elsewhere::at(&url, reach, environment).map(Self::Elsewhere),
        }
    }
}

/// Where an instance is, before it is known whether it can be asked.
enum Place {
    DataDir(PathBuf),
    Url(String),
}

/// The nearest word of where the instance is.
fn place(reach: &Reach, environment: &Environment) -> Result<Place, Failure> {
    let by_flag = one("--data-dir", reach.data_dir.as_deref(), "--api-url", reach.api_url.clone())?;
    if let Some(place) = by_flag {
        return Ok(place);
    }
    let url = environment.api_url.as_ref().map(|url| url.to_string_lossy().into_owned());
    let data_dir = environment.data_dir.as_deref().map(Path::new);
    let by_variable = one("MAINSTAY_DATA_DIR", data_dir, "MAINSTAY_API_URL", url)?;
    Ok(by_variable.unwrap_or_else(|| Place::DataDir(DATA_DIR.into())))
}

/// What is named, where one at most is.
fn one(
    dir_name: &str,
    data_dir: Option<&Path>,
    url_name: &str,
    url: Option<String>,
) -> Result<Option<Place>, Failure> {
    match (data_dir, url) {
        (Some(_), Some(_)) => {
            let what = format!("two instances are named: by {dir_name} and by {url_name}");
            Err(Failure::new(Exit::Usage, "MS-U052", what).fix("leave one of them out"))
        }
        (Some(data_dir), None) => Ok(Some(Place::DataDir(data_dir.to_owned()))),
        (None, Some(url)) => Ok(Some(Place::Url(url))),
        (None, None) => Ok(None),
    }
}

/// A flag that says nothing of an instance of this host, where one is given.
fn only_elsewhere(reach: &Reach) -> Option<&'static str> {
    reach.elsewhere().or_else(|| reach.token_file.as_ref().map(|_| "--token-file"))
}

impl Elsewhere {
    fn at(url: &str, reach: &Reach, environment: &Environment) -> Result<Self, Failure> {
        let url = ApiUrl::read(url)?;
        url.keeps_a_secret(reach.plain_http.unwrap_or_default())?;
        let file = |flag: &Option<PathBuf>, variable: &Option<OsString>| {
            flag.clone().or_else(|| variable.clone().map(PathBuf::from))
        };
        let token = match file(&reach.token_file, &environment.token_file) {
            Some(file) => Token::read(&file)?,
            None => return Err(token::missing(&url)),
        };
        let trust = Trust::read(file(&reach.ca, &environment.ca).as_deref())?;
        Ok(Self { url, token, trust })
    }
}
