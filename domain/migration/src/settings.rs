//! The console variables of seed 000, under their own names, settable while a session runs.

use alloc::string::{String, ToString};
use core::time::Duration;

use crate::hint::{Hint, NatType};

/// The names, in the seed's order.
pub const NAMES: [&str; 6] = [
    "net_migrate_timeout",
    "net_automigrate_host",
    "net_show_host_identificiation",
    "net_show_new_host_hinting",
    "net_hostHintingNATTypeOverride",
    "net_hostHintingActiveConnectionsOverride",
];

/// The longest budget, in seconds: an hour. What takes longer is no migration.
const TIMEOUT_MAX_S: u32 = 3_600;

/// Whether something is done, or drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// The values of the console variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Settings {
    /// `net_migrate_timeout`: "the total amount of time allowed for migration events to complete".
    pub migrate_timeout: Duration,
    /// `net_automigrate_host`: "whether automatic migration is attempted when connection to the host is lost".
    pub automigrate_host: Switch,
    /// `net_show_host_identificiation`: whether [`crate::Session::identification`] is drawn.
    pub show_host_identification: Switch,
    /// `net_show_new_host_hinting`: whether [`crate::Session::shown_hints`] are drawn.
    pub show_new_host_hinting: Switch,
    /// `net_hostHintingNATTypeOverride`: "overrides the reported NAT type".
    pub nat_type_override: Option<NatType>,
    /// `net_hostHintingActiveConnectionsOverride`: "overrides the reported number of active connections".
    pub active_connections_override: Option<u8>,
}

impl Settings {
    /// As the seed gives them: 30 s, automatic, nothing shown, nothing overridden.
    pub const DEFAULT: Self = Self {
        migrate_timeout: Duration::from_secs(30),
        automigrate_host: Switch::On,
        show_host_identification: Switch::Off,
        show_new_host_hinting: Switch::Off,
        nat_type_override: None,
        active_connections_override: None,
    };
}

/// Why a console variable was not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// There is none of that name.
    #[error("there is no console variable `{name}`; there are {}", NAMES.join(", "))]
    Name {
        /// What was asked for.
        name: String,
    },
    /// It cannot have that value.
    #[error("`{name}` is {values}, not `{value}`")]
    Value {
        /// Its name.
        name: &'static str,
        /// What was given.
        value: String,
        /// What it may be.
        values: &'static str,
    },
}

const SWITCH: &str = "0 or 1";

impl Settings {
    /// Sets the variable of that name, written as on a console. Letters count as alike in both cases, and
    /// `net_show_host_identification` is the name that the seed means.
    ///
    /// # Errors
    /// A name or a value that there is not.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        match canonical(name)? {
            Name::MigrateTimeout => {
                let seconds =
                    number(NAMES[0], value, "a number of seconds from 1 to 3600", 1, TIMEOUT_MAX_S)?;
                self.migrate_timeout = Duration::from_secs(u64::from(seconds));
            }
            Name::AutomigrateHost => self.automigrate_host = switch(NAMES[1], value)?,
            Name::ShowHostIdentification => self.show_host_identification = switch(NAMES[2], value)?,
            Name::ShowNewHostHinting => self.show_new_host_hinting = switch(NAMES[3], value)?,
            Name::NatTypeOverride => self.nat_type_override = nat_type(value)?,
            Name::ActiveConnectionsOverride => {
                let count = number(NAMES[5], value, "a number from 0 (off) to 255", 0, 255)?;
                self.active_connections_override = u8::try_from(count).ok().filter(|count| *count > 0);
            }
        }
        Ok(())
    }

    /// The value of the variable of that name, as [`Settings::set`] takes it.
    ///
    /// # Errors
    /// A name that there is not.
    pub fn get(&self, name: &str) -> Result<String, SettingError> {
        let number = match canonical(name)? {
            Name::MigrateTimeout => self.migrate_timeout.as_secs(),
            Name::AutomigrateHost => u64::from(self.automigrate_host == Switch::On),
            Name::ShowHostIdentification => u64::from(self.show_host_identification == Switch::On),
            Name::ShowNewHostHinting => u64::from(self.show_new_host_hinting == Switch::On),
            Name::NatTypeOverride => match self.nat_type_override {
                None => 0,
                Some(NatType::Open) => 1,
                Some(NatType::Moderate) => 2,
                Some(NatType::Strict) => 3,
                Some(NatType::Unknown) => 255,
            },
            Name::ActiveConnectionsOverride => self.active_connections_override.map_or(0, u64::from),
        };
        Ok(number.to_string())
    }

    /// What is reported of a hint. Seed 000: "Obviously it doesn't actually change the NAT type, only what's reported in
    /// the hint".
    #[must_use]
    pub fn reported(&self, hint: Hint) -> Hint {
        Hint {
            nat: self.nat_type_override.unwrap_or(hint.nat),
            connections: self.active_connections_override.unwrap_or(hint.connections),
            ..hint
        }
    }
}

enum Name {
    MigrateTimeout,
    AutomigrateHost,
    ShowHostIdentification,
    ShowNewHostHinting,
    NatTypeOverride,
    ActiveConnectionsOverride,
}

fn canonical(name: &str) -> Result<Name, SettingError> {
    let is = |index: usize| NAMES[index].eq_ignore_ascii_case(name);
    if is(0) {
        Ok(Name::MigrateTimeout)
    } else if is(1) {
        Ok(Name::AutomigrateHost)
    } else if is(2) || name.eq_ignore_ascii_case("net_show_host_identification") {
        Ok(Name::ShowHostIdentification)
    } else if is(3) {
        Ok(Name::ShowNewHostHinting)
    } else if is(4) {
        Ok(Name::NatTypeOverride)
    } else if is(5) {
        Ok(Name::ActiveConnectionsOverride)
    } else {
        Err(SettingError::Name { name: name.to_string() })
    }
}

fn switch(name: &'static str, value: &str) -> Result<Switch, SettingError> {
    match value {
        "0" => Ok(Switch::Off),
        "1" => Ok(Switch::On),
        _ => Err(SettingError::Value { name, value: value.to_string(), values: SWITCH }),
    }
}

fn number(
    name: &'static str,
    value: &str,
    values: &'static str,
    low: u32,
    high: u32,
) -> Result<u32, SettingError> {
    value.parse().ok().filter(|number| (low..=high).contains(number)).ok_or_else(|| SettingError::Value {
        name,
        value: value.to_string(),
        values,
    })
}

fn nat_type(value: &str) -> Result<Option<NatType>, SettingError> {
    match value {
        "0" => Ok(None),
        "1" => Ok(Some(NatType::Open)),
        "2" => Ok(Some(NatType::Moderate)),
        "3" => Ok(Some(NatType::Strict)),
        "255" => Ok(Some(NatType::Unknown)),
        _ => Err(SettingError::Value {
            name: NAMES[4],
            value: value.to_string(),
            values: "0 (off), 1 (open), 2 (moderate), 3 (strict) or 255 (unknown)",
        }),
    }
}
