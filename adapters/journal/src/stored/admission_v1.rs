//! Format 1 of what the catalog stores about machines that join.

use std::time::Duration;

use mainstay_core::{FleetId, JoinTokenId, MachineKey, RegionId, Timestamp};
use mainstay_fleet::catalog::admission::{
    AdmissionEvent, NewToken, Scope as DomainScope, Secret as DomainSecret, TokenStage,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) enum Admission {
    TokenMade {
        token: JoinTokenId,
        secret_sha256: [u8; 32],
        scope: Scope,
        uses: u32,
        life: Duration,
        credential_life: Duration,
        expires: u64,
    },
    TokenWithdrawn(JoinTokenId),
    MachineAdmitted {
        machine: MachineKey,
        fleet: FleetId,
        region: RegionId,
        token: JoinTokenId,
        secret: Secret,
        life: Duration,
    },
    CredentialRenewed {
        machine: MachineKey,
        former: Secret,
        current: Secret,
    },
    FormerDropped(MachineKey),
    MachineRevoked {
        machine: MachineKey,
        at: u64,
    },
    TokenStood {
        token: JoinTokenId,
        stage: Stage,
    },
    RevokedStood {
        machine: MachineKey,
        fleet: FleetId,
        region: RegionId,
        token: JoinTokenId,
        at: u64,
    },
    LiveStood {
        machine: MachineKey,
        fleet: FleetId,
        region: RegionId,
        token: JoinTokenId,
        current: Secret,
        former: Option<Secret>,
        life: Duration,
    },
}

#[derive(Serialize, Deserialize)]
pub(super) enum Scope {
    Anywhere,
    Fleet(FleetId),
    Region(FleetId, RegionId),
    /// Since format 3.
    Machine(FleetId, RegionId, MachineKey),
}

#[derive(Serialize, Deserialize)]
pub(super) enum Stage {
    Open { left: u32 },
    UsedUp,
    Withdrawn,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Secret {
    sha256: [u8; 32],
    expires: u64,
}

impl From<DomainSecret> for Secret {
    fn from(DomainSecret { sha256, expires }: DomainSecret) -> Self {
        Self { sha256, expires: expires.unix_ms() }
    }
}

impl From<Secret> for DomainSecret {
    fn from(Secret { sha256, expires }: Secret) -> Self {
        Self { sha256, expires: Timestamp::from_unix_ms(expires) }
    }
}

impl From<&AdmissionEvent> for Admission {
    fn from(event: &AdmissionEvent) -> Self {
        match *event {
            AdmissionEvent::TokenMade { token, new, expires } => {
                let NewToken { secret_sha256, scope, uses, life, credential_life } = new;
                let scope = match scope {
                    DomainScope::Anywhere => Scope::Anywhere,
                    DomainScope::Fleet(fleet) => Scope::Fleet(fleet),
                    DomainScope::Region(fleet, region) => Scope::Region(fleet, region),
                    DomainScope::Machine(fleet, region, machine) => Scope::Machine(fleet, region, machine),
                };
                let expires = expires.unix_ms();
                Self::TokenMade { token, secret_sha256, scope, uses, life, credential_life, expires }
            }
            AdmissionEvent::TokenWithdrawn(token) => Self::TokenWithdrawn(token),
            AdmissionEvent::MachineAdmitted { machine, fleet, region, token, secret, life } => {
                Self::MachineAdmitted { machine, fleet, region, token, secret: secret.into(), life }
            }
            AdmissionEvent::CredentialRenewed { machine, former, current } => {
                Self::CredentialRenewed { machine, former: former.into(), current: current.into() }
            }
            AdmissionEvent::FormerDropped(machine) => Self::FormerDropped(machine),
            AdmissionEvent::MachineRevoked { machine, at } => {
                Self::MachineRevoked { machine, at: at.unix_ms() }
            }
            AdmissionEvent::TokenStood { token, stage } => {
                let stage = match stage {
                    TokenStage::Open { left } => Stage::Open { left },
                    TokenStage::UsedUp => Stage::UsedUp,
                    TokenStage::Withdrawn => Stage::Withdrawn,
                };
                Self::TokenStood { token, stage }
            }
            AdmissionEvent::RevokedStood { machine, fleet, region, token, at } => {
                Self::RevokedStood { machine, fleet, region, token, at: at.unix_ms() }
            }
            AdmissionEvent::LiveStood { machine, fleet, region, token, current, former, life } => {
                let (current, former) = (current.into(), former.map(Into::into));
                Self::LiveStood { machine, fleet, region, token, current, former, life }
            }
        }
    }
}

impl From<Admission> for AdmissionEvent {
    fn from(event: Admission) -> Self {
        match event {
            Admission::TokenMade { token, secret_sha256, scope, uses, life, credential_life, expires } => {
                let scope = match scope {
                    Scope::Anywhere => DomainScope::Anywhere,
                    Scope::Fleet(fleet) => DomainScope::Fleet(fleet),
                    Scope::Region(fleet, region) => DomainScope::Region(fleet, region),
                    Scope::Machine(fleet, region, machine) => DomainScope::Machine(fleet, region, machine),
                };
                let new = NewToken { secret_sha256, scope, uses, life, credential_life };
                Self::TokenMade { token, new, expires: Timestamp::from_unix_ms(expires) }
            }
            Admission::TokenWithdrawn(token) => Self::TokenWithdrawn(token),
            Admission::MachineAdmitted { machine, fleet, region, token, secret, life } => {
                Self::MachineAdmitted { machine, fleet, region, token, secret: secret.into(), life }
            }
            Admission::CredentialRenewed { machine, former, current } => {
                Self::CredentialRenewed { machine, former: former.into(), current: current.into() }
            }
            Admission::FormerDropped(machine) => Self::FormerDropped(machine),
            Admission::MachineRevoked { machine, at } => {
                Self::MachineRevoked { machine, at: Timestamp::from_unix_ms(at) }
            }
            Admission::TokenStood { token, stage } => {
                let stage = match stage {
                    Stage::Open { left } => TokenStage::Open { left },
                    Stage::UsedUp => TokenStage::UsedUp,
                    Stage::Withdrawn => TokenStage::Withdrawn,
                };
                Self::TokenStood { token, stage }
            }
            Admission::RevokedStood { machine, fleet, region, token, at } => {
                Self::RevokedStood { machine, fleet, region, token, at: Timestamp::from_unix_ms(at) }
            }
            Admission::LiveStood { machine, fleet, region, token, current, former, life } => {
                let (current, former) = (current.into(), former.map(Into::into));
                Self::LiveStood { machine, fleet, region, token, current, former, life }
            }
        }
    }
}
