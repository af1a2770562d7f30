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

/// The instance's credentials: made once, of the system's own randomness.
pub fn credentials(data_dir: &Path) -> Result<Credentials, Failure> {
    let path = data_dir.join(CREDENTIALS_FILE);
    match fs::read(&path) {
        Ok(text) => {
            let known: Credentials = serde_json::from_slice(&text).map_err(|error| {
                Failure::new(Exit::Failed, "MS-U003", format!("{} is damaged", path.display()))
                    .why(error)
                    .fix(mend(CREDENTIALS_FILE))
            })?;
            titled(data_dir, known)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let credentials = make_credentials()?;
            write(data_dir, CREDENTIALS_FILE, &credentials)?;
            Ok(credentials)
        }
        Err(error) => Err(Failure::new(Exit::Failed, "MS-U012", format!("cannot read {}", path.display()))
            .why(error)
            .fix("make it readable for the user who runs this")),
    }
}

/// The credentials with a title, which a file of before there was one has not.
fn titled(data_dir: &Path, known: Credentials) -> Result<Credentials, Failure> {
    if !known.title_id.is_empty() && !known.playfab_secret_key.is_empty() {
        return Ok(known);
    }
    let titled = Credentials { title_id: title()?, playfab_secret_key: secret()?, ..known };
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

fn make_credentials() -> Result<Credentials, Failure> {
    Ok(Credentials {
        key_id: uuid()?.to_string(),
        secret_key: secret()?,
        project_id: uuid()?,
        environment_id: uuid()?,
        join_token: secret()?,
        title_id: title()?,
        playfab_secret_key: secret()?,
    })
}

/// A title's id as PlayFab's look: hexadecimal digits, in capitals.
fn title() -> Result<String, Failure> {
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
