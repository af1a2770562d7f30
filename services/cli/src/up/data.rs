//! The data directory: who may ask, and where an instance listens.

use std::fs;
use std::path::{Path, PathBuf};

use mainstay_journal::durable;
use serde::Serialize;

use crate::client::{CREDENTIALS_FILE, Credentials, mend};
use crate::failure::{Exit, Failure};

/// Makes the directory, readable by its owner alone, and says where it is, whatever the working directory becomes.
pub fn make(data_dir: &Path) -> Result<PathBuf, Failure> {
    let made = durable::make_folder(data_dir, 0o700);
    made.and_then(|()| data_dir.canonicalize()).map_err(|error| {
        Failure::new(
            Exit::Failed,
            "MS-U012",
            format!("cannot make the data directory {}", data_dir.display()),
        )
        .why(error)
        .fix("name another: --data-dir DIR")
    })
}

/// The instance's credentials: made once, of the system's own randomness; with the title that is wanted, if one is.
pub fn credentials(data_dir: &Path, wanted: Option<&str>) -> Result<Credentials, Failure> {
    let path = data_dir.join(CREDENTIALS_FILE);
    match fs::read(&path) {
        Ok(text) => {
            let known: Credentials = serde_json::from_slice(&text).map_err(|error| {
                Failure::new(Exit::Failed, "MS-U003", format!("{} is damaged", path.display()))
                    .why(error)
                    .fix(mend(CREDENTIALS_FILE))
            })?;
            titled(data_dir, known, wanted)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let credentials = make_credentials(wanted)?;
            write(data_dir, CREDENTIALS_FILE, &credentials)?;
            Ok(credentials)
        }
        Err(error) => Err(Failure::new(Exit::Failed, "MS-U012", format!("cannot read {}", path.display()))
            .why(error)
            .fix("make it readable for the user who runs this")),
    }
}

/// The credentials with a title and its secret, which a file of before there were such has not, nor one whose secret was taken out to have
/// another. A title once taken stays: the ids of its players are made of it.
fn titled(data_dir: &Path, known: Credentials, wanted: Option<&str>) -> Result<Credentials, Failure> {
    let has_title = !known.title_id.is_empty();
    if let Some(wanted) = wanted
        && has_title
        && !wanted.eq_ignore_ascii_case(&known.title_id)
    {
        return Err(other_title(data_dir, &known.title_id, wanted));
    }
    let has_secret = !known.playfab_secret_key.is_empty();
    if has_title && has_secret {
        return Ok(known);
    }
    let title_id = if has_title { known.title_id } else { title(wanted)? };
    let playfab_secret_key = if has_secret { known.playfab_secret_key } else { secret()? };
    let titled = Credentials { title_id, playfab_secret_key, ..known };
    write(data_dir, CREDENTIALS_FILE, &titled)?;
    Ok(titled)
}

/// Writes a file of the directory whole or not at all, for its owner's eyes alone.
pub fn write<T: Serialize>(data_dir: &Path, name: &str, value: &T) -> Result<(), Failure> {
    let text = serde_json::to_vec_pretty(value).map_err(std::io::Error::from);
    text.and_then(|text| durable::write(data_dir, name, &text, 0o600)).map_err(|error| {
        Failure::new(Exit::Failed, "MS-U012", format!("cannot write {}", data_dir.join(name).display()))
            .why(error)
            .fix("free space on its disk, or make it writable for this user")
    })
}

fn other_title(data_dir: &Path, known: &str, wanted: &str) -> Failure {
    let what = format!("this instance is title {known}, and the configuration says titleId: {wanted}");
    Failure::new(Exit::Failed, "MS-U051", what)
        .why("a title is taken at an instance's first start: the ids of its players are made of it, and each would be somebody else")
        .fix(format!(
            "write titleId: {known}, or none; or start title {wanted} in a directory of its own: --data-dir DIR (this one is {})",
            data_dir.display()
        ))
}

fn make_credentials(wanted: Option<&str>) -> Result<Credentials, Failure> {
    Ok(Credentials {
        key_id: uuid()?.to_string(),
        secret_key: secret()?,
        project_id: uuid()?,
        environment_id: uuid()?,
        join_token: secret()?,
        title_id: title(wanted)?,
        playfab_secret_key: secret()?,
        playfab_former_secret_key: String::new(),
    })
}

/// The title's id that is wanted; or one as PlayFab's look: hexadecimal digits, in capitals.
fn title(wanted: Option<&str>) -> Result<String, Failure> {
    if let Some(wanted) = wanted {
        return Ok(wanted.to_owned());
    }
    Ok(format!("{:08X}", u32::from_be_bytes(random()?)))
}

/// 256 random bits.
fn secret() -> Result<String, Failure> {
    use base64::Engine as _;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(random::<32>()?))
}

/// A random UUID.
pub fn uuid() -> Result<uuid::Uuid, Failure> {
    Ok(uuid::Builder::from_random_bytes(random()?).into_uuid())
}

/// Random bytes.
pub fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::new(Exit::Failed, "MS-U010", "the system gives no random bytes").why(error)
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 4: "with only its base URL changed": the game's own title, from the first start on and for ever.
    #[test]
    fn a_title_is_taken_at_the_first_start_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let title = |wanted| credentials(dir.path(), wanted).map(|it| it.title_id);
        assert_eq!(title(Some("1A2B3")).unwrap(), "1A2B3");
        assert_eq!(title(Some("1a2b3")).unwrap(), "1A2B3", "PlayFab's ids are compared without case");
        assert_eq!(title(None).unwrap(), "1A2B3");
        let refused = title(Some("FFFF")).unwrap_err();
        assert_eq!(refused.code, "MS-U051");
        assert!(refused.to_string().contains("this instance is title 1A2B3"), "{refused}");
        assert_eq!(title(Some("1A2B3")).unwrap(), "1A2B3", "and nothing was changed");

        let made_up = tempfile::tempdir().unwrap();
        let known = credentials(made_up.path(), None).unwrap().title_id;
        assert_eq!(known.len(), 8, "{known}");
        let refused = credentials(made_up.path(), Some("1A2B3")).err();
        assert_eq!(refused.map(|failure| failure.code).as_deref(), Some("MS-U051"));
    }

    /// Issue 4: "keys that rotate without logging everyone out": the title's secret as well, and its players stay who they are.
    #[test]
    fn the_titles_secret_is_changed_by_taking_it_out() {
        let dir = tempfile::tempdir().unwrap();
        let known = credentials(dir.path(), None).unwrap();
        let taken_out = Credentials {
            playfab_secret_key: String::new(),
            playfab_former_secret_key: known.playfab_secret_key.clone(),
            ..known.clone()
        };
        write(dir.path(), CREDENTIALS_FILE, &taken_out).unwrap();
        let changed = credentials(dir.path(), None).unwrap();
        assert_eq!(changed.title_id, known.title_id);
        assert_ne!(changed.playfab_secret_key, known.playfab_secret_key);
        assert_eq!(
            changed.title_secrets().collect::<Vec<_>>(),
            [&changed.playfab_secret_key, &known.playfab_secret_key]
        );
    }
}
