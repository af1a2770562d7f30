//! How a game is reached.

use std::sync::Arc;

use mainstay_matchmaking as matchmaking;
use serde::{Deserialize, Serialize};

use super::lenient;

/// `ServerDetails`. Nothing of it is required; the address "is not validated and may be used to supply arbitrary connection
/// string information to clients" (seed 004).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServerDetails {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fqdn: Option<String>,
    /// Its address.
    #[serde(rename = "IPV4Address", skip_serializing_if = "Option::is_none")]
    pub ipv4_address: Option<String>,
    /// Its ports.
    #[serde(deserialize_with = "lenient::list", skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Listed>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_id: Option<String>,
}

/// A port as the API writes it, or within a `Port` as seed 004 does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Listed {
    /// `{"Port": {…}}`.
    Nested {
        /// It.
        #[serde(rename = "Port")]
        port: Port,
    },
    /// `{"Name": …}`.
    Flat(Port),
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its number.
    #[serde(deserialize_with = "lenient::number_needed")]
    pub num: i64,
    /// What it speaks; `TCP` where it is left out, as a published example does.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub protocol: ProtocolType,
}

/// What a port speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ProtocolType {
    /// Streams.
    #[default]
    Tcp,
    /// Packets.
    Udp,
}

impl ServerDetails {
    /// What the domain keeps.
    ///
    /// # Errors
    /// A port whose number is none, by its name.
    pub fn details(&self) -> Result<matchmaking::ServerDetails, String> {
        let text = |text: &Option<String>| text.as_deref().map(Arc::from);
        let ports: Result<Vec<_>, _> = self.ports.iter().map(Listed::port).collect();
        Ok(matchmaking::ServerDetails {
            fqdn: text(&self.fqdn),
            ipv4_address: text(&self.ipv4_address),
            ports: ports?.into(),
            region: text(&self.region),
            server_id: text(&self.server_id),
        })
    }

    /// Details as they are told, the ports as the API writes them.
    #[must_use]
    pub fn of(details: &matchmaking::ServerDetails) -> Self {
        let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
        let ports = details.ports.iter().map(|port| {
            Listed::Flat(Port {
                name: port.name.to_string(),
                num: port.number.into(),
                protocol: match port.protocol {
                    matchmaking::Protocol::Tcp => ProtocolType::Tcp,
                    matchmaking::Protocol::Udp => ProtocolType::Udp,
                },
            })
        });
        Self {
            fqdn: text(&details.fqdn),
            ipv4_address: text(&details.ipv4_address),
            ports: ports.collect(),
            region: text(&details.region),
            server_id: text(&details.server_id),
        }
    }
}

impl Listed {
    fn port(&self) -> Result<matchmaking::Port, String> {
        let (Self::Nested { port } | Self::Flat(port)) = self;
        let number = u16::try_from(port.num).map_err(|_| {
            format!("port {}: Num {}, a whole number from 0 to 65535 is needed", port.name, port.num)
        })?;
        let protocol = match port.protocol {
            ProtocolType::Tcp => matchmaking::Protocol::Tcp,
            ProtocolType::Udp => matchmaking::Protocol::Udp,
        };
        Ok(matchmaking::Port { name: port.name.as_str().into(), number, protocol })
    }
}
