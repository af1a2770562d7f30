//! Instances by name: a small file of the user's own that says where each is, and where what says who asks it lies. It holds no
//! secret itself.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use mainstay_journal::durable;
use serde::{Deserialize, Serialize};

use crate::arguments::PlainHttp;
use crate::failure::{Exit, Failure};

/// The file's name, in `mainstay` of the user's folder for configuration.
const FILE: &str = "contexts.toml";

/// Instances by name.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contexts {
    /// The one that is asked where nobody says which.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<String>,
    /// All of them.
    #[serde(default)]
    contexts: BTreeMap<String, Context>,
}

/// An instance, as a name stands for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Context {
    /// One of this host.
    Here(Here),
    /// One elsewhere.
    Elsewhere(There),
}

/// An instance of this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Here {
    /// Where it keeps its data.
    pub data_dir: PathBuf,
}

/// An instance elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct There {
    /// Where its API is.
    pub api_url: String,
    /// The file of what says who asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// The file of the authorities that alone vouch for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// How far the token may go in the clear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain_http: Option<PlainHttp>,
}

impl Contexts {
    /// What the user's file says; nothing where there is none.
    pub fn read() -> Result<Self, Failure> {
        let Some(folder) = folder() else { return Ok(Self::default()) };
        let file = folder.join(FILE);
        match std::fs::read_to_string(&file) {
            Ok(text) => toml::from_str(&text).map_err(|error| {
                Failure::new(Exit::Failed, "MS-U059", format!("{} cannot be read", file.display()))
                    .why(error.message())
                    .fix("mend it, or remove it: mainstay context create makes it anew")
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(unusable(&file).why(error)),
        }
    }

    /// Keeps it.
    pub fn write(&self) -> Result<(), Failure> {
        let Some(folder) = folder() else {
            return Err(Failure::new(Exit::Failed, "MS-U059", "there is no folder for contexts.toml")
                .why("neither XDG_CONFIG_HOME nor HOME is set")
                .fix("set HOME"));
        };
        let file = folder.join(FILE);
        let text = toml::to_string(self).map_err(|error| unusable(&file).why(error))?;
        let written = durable::make_folder(&folder, 0o700)
            .and_then(|()| durable::write(&folder, FILE, text.as_bytes(), 0o600));
        written.map_err(|error| unusable(&file).why(error))
    }

    /// The name of the one that is asked where nobody says which.
    pub fn current(&self) -> Option<&str> {
        self.current.as_deref()
    }

    /// All of them, by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Context)> {
        self.contexts.iter().map(|(name, context)| (name.as_str(), context))
    }

    /// The one of this name.
    pub fn named(&self, name: &str) -> Result<&Context, Failure> {
        self.contexts.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.contexts.keys().map(String::as_str).collect();
            let known = if names.is_empty() {
                "there is none yet".to_owned()
            } else {
                format!("there are {}", names.join(", "))
            };
            Failure::new(Exit::NotFound, "MS-U060", format!("no context has the name {name:?}"))
                .why(known)
                .fix("make it: mainstay context create NAME --api-url URL --token-file FILE")
        })
    }

    /// Has a name stand for an instance, whatever it stood for.
    pub fn set(&mut self, name: &str, context: Context) {
        self.contexts.insert(name.to_owned(), context);
    }

    /// From now on that one is asked where nobody says which.
    pub fn choose(&mut self, name: &str) -> Result<(), Failure> {
        self.named(name)?;
        self.current = Some(name.to_owned());
        Ok(())
    }

    /// Forgets one; its token's file stays.
    pub fn forget(&mut self, name: &str) -> Result<(), Failure> {
        self.named(name)?;
        self.contexts.remove(name);
        self.current.take_if(|current| current == name);
        Ok(())
    }
}

fn unusable(file: &Path) -> Failure {
    Failure::new(Exit::Failed, "MS-U059", format!("{} cannot be read or written", file.display()))
        .fix("give it to the user who runs this")
}

/// Where the user's configuration lies (XDG Base Directory Specification).
fn folder() -> Option<PathBuf> {
    let said = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = said("XDG_CONFIG_HOME").or_else(|| said("HOME").map(|home| home.join(".config")))?;
    Some(base.join("mainstay"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_stand_for_is_written_as_people_would_write_it() {
        let text = "current = \"far\"\n\n[contexts.far]\napi-url = \"https://games.example\"\ntoken-file = \"/t\"\nplain-http = \"anywhere\"\n\n[contexts.own]\ndata-dir = \"/srv/mainstay\"\n";
        let mut contexts = Contexts::default();
        contexts.set("own", Context::Here(Here { data_dir: "/srv/mainstay".into() }));
        let there = There {
            api_url: "https://games.example".into(),
            token_file: Some("/t".into()),
            ca: None,
            plain_http: Some(PlainHttp::Anywhere),
        };
        contexts.set("far", Context::Elsewhere(there));
        contexts.choose("far").unwrap();
        assert_eq!(toml::to_string(&contexts).unwrap(), text);
        assert_eq!(toml::from_str::<Contexts>(text).unwrap(), contexts);
        contexts.forget("far").unwrap();
        assert_eq!((contexts.current(), contexts.named("far").unwrap_err().code.as_str()), (None, "MS-U060"));
        for wrong in
            ["[contexts.a]\n", "[contexts.a]\ndata-dir = \"x\"\napi-url = \"y\"\n", "courant = \"a\"\n"]
        {
            assert!(toml::from_str::<Contexts>(wrong).is_err(), "{wrong}");
        }
    }
}
