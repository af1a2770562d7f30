//! Who may bring a machine: join tokens, and the credential that each machine gets for one.
//!
//! A token is short-lived and good for few machines. A machine exchanges it, once, for a credential of its own: a secret
//! that the machine itself drew and that only its SHA-256 ever leaves. The machine renews it before it ends by naming the
//! hash of the next one; an operator revokes it at once. Every moment here is the control plane's one clock's: a machine's
//! own clock can be as wrong as it likes. Why a secret and no client certificate: docs/decisions/0020.
//!
//! Repeats are answered, not refused: a machine that lost an answer asks again with the same hash and is told the same, so
//! a token for one machine is not used up by a broken connection.

mod apply;
mod decide;
mod rejection;
#[cfg(test)]
mod tests;

use alloc::collections::BTreeMap;
use core::time::Duration;

use mainstay_core::{FleetId, JoinTokenId, MachineKey, RegionId, Timestamp};

pub(super) use self::decide::decide;
pub use self::rejection::AdmissionRejection;

/// The SHA-256 of a secret of 256 random bits: a slow hash would add nothing.
pub type SecretHash = [u8; 32];

/// Tokens and machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Admission {
    tokens: BTreeMap<JoinTokenId, JoinToken>,
    members: BTreeMap<MachineKey, Member>,
}

/// A join token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinToken {
    /// What was asked for when it was made.
    pub made: NewToken,
    /// When it ends by itself.
    pub expires: Timestamp,
    /// Whether it still lets machines in.
    pub stage: TokenStage,
}

/// A token as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewToken {
    /// Of its secret half.
    pub secret_sha256: SecretHash,
    /// What a machine may join with it.
    pub scope: Scope,
    /// How many machines it lets in: 1 to [`Admission::USES_MAX`].
    pub uses: u32,
    /// How long it lasts: [`Admission::TOKEN_LIFE_MIN`] to [`Admission::TOKEN_LIFE_MAX`].
    pub life: Duration,
    /// How long the credentials last that it is exchanged for, and each renewal of them:
    /// [`Admission::CREDENTIAL_LIFE_MIN`] to [`Admission::CREDENTIAL_LIFE_MAX`].
    pub credential_life: Duration,
}

/// What a machine may join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Any fleet and region.
    Anywhere,
    /// Any region of a fleet.
    Fleet(FleetId),
    /// One region of a fleet.
    Region(FleetId, RegionId),
    /// One machine, which a provider was asked to make for that region.
    Machine(FleetId, RegionId, MachineKey),
}

impl Scope {
    /// Whether a fleet's region is among what may be joined.
    #[must_use]
    pub fn holds(self, fleet: FleetId, region: RegionId) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Fleet(only) => only == fleet,
            Self::Region(only_fleet, only_region) | Self::Machine(only_fleet, only_region, _) => {
                (only_fleet, only_region) == (fleet, region)
            }
        }
    }

    /// Whether this machine may come with it.
    #[must_use]
    pub fn is_for(self, machine: MachineKey) -> bool {
        match self {
            Self::Anywhere | Self::Fleet(_) | Self::Region(..) => true,
            Self::Machine(_, _, only) => only == machine,
        }
    }
}

/// Whether a token lets machines in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenStage {
    /// So many more, at least one.
    Open {
        /// How many.
        left: u32,
    },
    /// It has let in as many as it may.
    UsedUp,
    /// An operator ended it, or revoked a machine that came with it.
    Withdrawn,
}

/// A machine that came with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The fleet it is for.
    pub fleet: FleetId,
    /// The region it is for.
    pub region: RegionId,
    /// The token it came with.
    pub token: JoinTokenId,
    /// Whether it may connect.
    pub standing: Standing,
}

/// Whether a machine may connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// With either of these, while it lasts.
    Live {
        /// The newest secret.
        current: Secret,
        /// The one before, until the newest has been shown: its answer may have been lost.
        former: Option<Secret>,
        /// How long a renewed one lasts.
        life: Duration,
    },
    /// No more.
    Revoked {
        /// Since when.
        at: Timestamp,
    },
}

/// A secret of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Secret {
    /// Its hash.
    pub sha256: SecretHash,
    /// When it ends.
    pub expires: Timestamp,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionCommand {
    /// Have this token.
    MakeToken {
        /// Its public half.
        token: JoinTokenId,
        /// The rest.
        new: NewToken,
    },
    /// End a token.
    WithdrawToken(JoinTokenId),
    /// A machine shows a token for a credential.
    Redeem {
        /// The token's public half.
        token: JoinTokenId,
        /// The hash of what was shown as its secret half.
        shown: SecretHash,
        /// The machine.
        machine: MachineKey,
        /// The fleet it wants.
        fleet: FleetId,
        /// The region it wants.
        region: RegionId,
        /// The hash of the secret it drew.
        fresh: SecretHash,
    },
    /// A machine wants its next secret known.
    Renew {
        /// The machine.
        machine: MachineKey,
        /// The hash of the secret it shows.
        shown: SecretHash,
        /// The hash of the next one.
        fresh: SecretHash,
    },
    /// A machine shows its credential to connect.
    Show {
        /// The machine.
        machine: MachineKey,
        /// The hash of the secret it shows.
        shown: SecretHash,
    },
    /// Let a machine connect no more, nor any other by the token it came with.
    Revoke(MachineKey),
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionEvent {
    /// A token was made.
    TokenMade {
        /// Its public half.
        token: JoinTokenId,
        /// What was asked for.
        new: NewToken,
        /// When it ends.
        expires: Timestamp,
    },
    /// A token was ended by hand.
    TokenWithdrawn(JoinTokenId),
    /// A machine has a credential, for one use of a token.
    MachineAdmitted {
        /// The machine.
        machine: MachineKey,
        /// Its fleet.
        fleet: FleetId,
        /// Its region.
        region: RegionId,
        /// The token.
        token: JoinTokenId,
        /// Its secret.
        secret: Secret,
        /// How long a renewed one lasts.
        life: Duration,
    },
    /// A machine's next secret is known; the one it has goes on until the next is shown.
    CredentialRenewed {
        /// The machine.
        machine: MachineKey,
        /// The secret it showed.
        former: Secret,
        /// The next.
        current: Secret,
    },
    /// The newest secret was shown: the one before is over.
    FormerDropped(MachineKey),
    /// A machine may connect no more.
    MachineRevoked {
        /// The machine.
        machine: MachineKey,
        /// Since when.
        at: Timestamp,
    },
    /// A part of a snapshot: how far a token is.
    TokenStood {
        /// Its public half.
        token: JoinTokenId,
        /// How far it is.
        stage: TokenStage,
    },
    /// A part of a snapshot: a machine that had been revoked.
    RevokedStood {
        /// The machine.
        machine: MachineKey,
        /// Its fleet.
        fleet: FleetId,
        /// Its region.
        region: RegionId,
        /// The token it had come with.
        token: JoinTokenId,
        /// Since when.
        at: Timestamp,
    },
    /// A part of a snapshot: a machine with its credential.
    LiveStood {
        /// The machine.
        machine: MachineKey,
        /// Its fleet.
        fleet: FleetId,
        /// Its region.
        region: RegionId,
        /// The token it came with.
        token: JoinTokenId,
        /// Its newest secret.
        current: Secret,
        /// The one before.
        former: Option<Secret>,
        /// How long a renewed one lasts.
        life: Duration,
    },
}

/// A machine's credential, as it is told to the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admitted {
    /// The fleet it is for.
    pub fleet: FleetId,
    /// The region it is for.
    pub region: RegionId,
    /// When the secret ends that was shown, or that was asked for.
    pub expires: Timestamp,
    /// How long a renewed one lasts.
    pub life: Duration,
}

impl Admission {
    /// The most tokens known at once, those that ended within [`Admission::REMEMBERED`] with them. A studio makes a few a
    /// day, a machine provider one a machine.
    pub const TOKENS_MAX: usize = 10_000;
    /// The most machines known at once, gone ones with them; some 200 bytes each.
    pub const MEMBERS_MAX: usize = 100_000;
    /// The most machines one token lets in: a rack or a launch day, not a key to the house.
    pub const USES_MAX: u32 = 1_000;
    /// The shortest life of a token.
    pub const TOKEN_LIFE_MIN: Duration = Duration::from_secs(1);
    /// The longest: a token is written into scripts and tickets, and forgotten there.
    pub const TOKEN_LIFE_MAX: Duration = Duration::from_hours(7 * 24);
    /// The shortest life of a credential: below it a machine would do nothing but renew.
    pub const CREDENTIAL_LIFE_MIN: Duration = Duration::from_secs(1);
    /// The longest: a machine that was lost a year ago stays lost.
    pub const CREDENTIAL_LIFE_MAX: Duration = Duration::from_hours(365 * 24);
    /// How long an ended token or credential is remembered, so that it is refused with its reason.
    pub const REMEMBERED: Duration = Duration::from_hours(30 * 24);

    /// A token.
    #[must_use]
    pub fn token(&self, token: JoinTokenId) -> Option<&JoinToken> {
        self.tokens.get(&token)
    }

    /// Every token known.
    pub fn tokens(&self) -> impl Iterator<Item = (JoinTokenId, &JoinToken)> {
        self.tokens.iter().map(|(id, token)| (*id, token))
    }

    /// Every machine that came with a token.
    pub fn members(&self) -> impl Iterator<Item = (MachineKey, &Member)> {
        self.members.iter().map(|(key, member)| (*key, member))
    }

    /// A machine that came with a token.
    #[must_use]
    pub fn member(&self, machine: MachineKey) -> Option<&Member> {
        self.members.get(&machine)
    }

    /// The machine of a credential that is shown, where it is good now. Nothing is changed by looking.
    ///
    /// # Errors
    /// [`AdmissionRejection::UnknownCredential`], also for a wrong secret; expired; revoked.
    pub fn look(
        &self,
        now: Timestamp,
        machine: MachineKey,
        shown: &SecretHash,
    ) -> Result<Admitted, AdmissionRejection> {
        let (member, secret, life) = self.shown(now, machine, shown)?;
        Ok(Admitted { fleet: member.fleet, region: member.region, expires: secret.expires, life })
    }

    /// When a machine's credential ends unless it is renewed.
    ///
    /// # Errors
    /// It has ended, was revoked, or never was.
    pub fn ends(&self, now: Timestamp, machine: MachineKey) -> Result<Timestamp, AdmissionRejection> {
        let member = self.members.get(&machine).ok_or(AdmissionRejection::UnknownCredential)?;
        match &member.standing {
            Standing::Revoked { at } => Err(AdmissionRejection::Revoked { ago: now.since(*at) }),
            Standing::Live { .. } if member.end() > now => Ok(member.end()),
            Standing::Live { .. } => {
                Err(AdmissionRejection::CredentialExpired { ago: now.since(member.end()), now })
            }
        }
    }

    /// What a token is for, to whoever has its secret.
    #[must_use]
    pub fn scope_of(&self, token: JoinTokenId, shown: &SecretHash) -> Option<Scope> {
        let token = self.tokens.get(&token)?;
        same(&token.made.secret_sha256, shown).then_some(token.made.scope)
    }

    fn shown(
        &self,
        now: Timestamp,
        machine: MachineKey,
        shown: &SecretHash,
    ) -> Result<(&Member, Secret, Duration), AdmissionRejection> {
        let member = self.members.get(&machine).ok_or(AdmissionRejection::UnknownCredential)?;
        let (current, former, life) = match &member.standing {
            Standing::Live { current, former, life } => (current, former, *life),
            Standing::Revoked { at } => {
                return Err(AdmissionRejection::Revoked { ago: now.since(*at) });
            }
        };
        let secret = [Some(current), former.as_ref()].into_iter().flatten();
        let secret = secret.into_iter().find(|secret| same(&secret.sha256, shown));
        let secret = *secret.ok_or(AdmissionRejection::UnknownCredential)?;
        if now < secret.expires {
            Ok((member, secret, life))
        } else {
            Err(AdmissionRejection::CredentialExpired { ago: now.since(secret.expires), now })
        }
    }
}

/// Compares every byte, whatever the first ones say.
fn same(one: &SecretHash, other: &SecretHash) -> bool {
    one.iter().zip(other).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}
