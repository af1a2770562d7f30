//! The rules of admission.

use core::ops::RangeInclusive;
use core::time::Duration;

use mainstay_core::{FleetId, JoinTokenId, MachineKey, RegionId, Timestamp, Turn};

use super::{
    Admission, AdmissionCommand, AdmissionEvent, AdmissionRejection, Admitted, JoinToken, NewToken, Secret,
    SecretHash, Standing, TokenStage, same,
};
use crate::catalog::{Catalog, CatalogAnswer, CatalogEvent};

pub(crate) fn decide(
    turn: &mut Turn<'_, Catalog>,
    command: &AdmissionCommand,
) -> Result<CatalogAnswer, AdmissionRejection> {
    match *command {
        AdmissionCommand::MakeToken { token, new } => make_token(turn, token, new),
        AdmissionCommand::WithdrawToken(token) => withdraw(turn, token),
        AdmissionCommand::Redeem { token, shown, machine, fleet, region, fresh } => {
            redeem(turn, (token, &shown), machine, (fleet, region), fresh).map(CatalogAnswer::Admitted)
        }
        AdmissionCommand::Renew { machine, shown, fresh } => {
            renew(turn, machine, &shown, fresh).map(CatalogAnswer::Admitted)
        }
        AdmissionCommand::Show { machine, shown } => show(turn, machine, &shown).map(CatalogAnswer::Admitted),
        AdmissionCommand::Revoke(machine) => revoke(turn, machine),
    }
}

fn emit(turn: &mut Turn<'_, Catalog>, event: AdmissionEvent) {
    turn.emit(CatalogEvent::Admission(event));
}

fn make_token(
    turn: &mut Turn<'_, Catalog>,
    token: JoinTokenId,
    new: NewToken,
) -> Result<CatalogAnswer, AdmissionRejection> {
    let admission = turn.state().admission();
    if admission.token(token).is_some_and(|known| known.made == new) {
        return Ok(CatalogAnswer::Done);
    }
    let within = |what, life: Duration, bounds: RangeInclusive<Duration>| {
        let refused = || AdmissionRejection::out_of_bounds(what, life, *bounds.start(), *bounds.end());
        bounds.contains(&life).then_some(()).ok_or_else(refused)
    };
    within("the token's life", new.life, Admission::TOKEN_LIFE_MIN..=Admission::TOKEN_LIFE_MAX)?;
    within(
        "the credential's life",
        new.credential_life,
        Admission::CREDENTIAL_LIFE_MIN..=Admission::CREDENTIAL_LIFE_MAX,
    )?;
    if !(1..=Admission::USES_MAX).contains(&new.uses) {
        return Err(AdmissionRejection::uses(new.uses));
    }
    let count = admission.tokens_at(turn.now()) + 1;
    if count > Admission::TOKENS_MAX {
        return Err(AdmissionRejection::TooMany { kind: "join tokens", count, max: Admission::TOKENS_MAX });
    }
    let expires = turn.now() + new.life;
    emit(turn, AdmissionEvent::TokenMade { token, new, expires });
    Ok(CatalogAnswer::Done)
}

fn withdraw(turn: &mut Turn<'_, Catalog>, token: JoinTokenId) -> Result<CatalogAnswer, AdmissionRejection> {
    let known = turn.state().admission().token(token).ok_or(AdmissionRejection::UnknownToken)?;
    match known.stage {
        TokenStage::Withdrawn => {}
        TokenStage::Open { .. } | TokenStage::UsedUp => emit(turn, AdmissionEvent::TokenWithdrawn(token)),
    }
    Ok(CatalogAnswer::Done)
}

fn redeem(
    turn: &mut Turn<'_, Catalog>,
    (id, shown): (JoinTokenId, &SecretHash),
    machine: MachineKey,
    (fleet, region): (FleetId, RegionId),
    fresh: SecretHash,
) -> Result<Admitted, AdmissionRejection> {
    let (admission, now) = (turn.state().admission(), turn.now());
    let token = admission.token(id).filter(|token| same(&token.made.secret_sha256, shown));
    let token = token.ok_or(AdmissionRejection::UnknownToken)?;
    if let Some(repeat) = admission.admitted_already(id, machine, (fleet, region), &fresh) {
        return Ok(repeat);
    }
    token.lets_in(now, machine, fleet, region)?;
    let count = admission.members_at(now) + usize::from(admission.member(machine).is_none());
    if count > Admission::MEMBERS_MAX {
        return Err(AdmissionRejection::TooMany { kind: "machines", count, max: Admission::MEMBERS_MAX });
    }
    let life = token.made.credential_life;
    let secret = Secret { sha256: fresh, expires: now + life };
    emit(turn, AdmissionEvent::MachineAdmitted { machine, fleet, region, token: id, secret, life });
    Ok(Admitted { fleet, region, expires: secret.expires, life })
}

fn renew(
    turn: &mut Turn<'_, Catalog>,
    machine: MachineKey,
    shown: &SecretHash,
    fresh: SecretHash,
) -> Result<Admitted, AdmissionRejection> {
    let now = turn.now();
    let (member, former, life) = turn.state().admission().shown(now, machine, shown)?;
    let (fleet, region) = (member.fleet, member.region);
    // A repeat, after an answer that was lost; or a machine that shows what it asks for.
    let known = match &member.standing {
        Standing::Live { current, .. } if same(&current.sha256, &fresh) => Some(*current),
        Standing::Live { .. } | Standing::Revoked { .. } => None,
    };
    if let Some(current) = known {
        return Ok(Admitted { fleet, region, expires: current.expires, life });
    }
    let current = Secret { sha256: fresh, expires: now + life };
    emit(turn, AdmissionEvent::CredentialRenewed { machine, former, current });
    Ok(Admitted { fleet, region, expires: current.expires, life })
}

fn show(
    turn: &mut Turn<'_, Catalog>,
    machine: MachineKey,
    shown: &SecretHash,
) -> Result<Admitted, AdmissionRejection> {
    let (member, secret, life) = turn.state().admission().shown(turn.now(), machine, shown)?;
    let admitted = Admitted { fleet: member.fleet, region: member.region, expires: secret.expires, life };
    let over = match &member.standing {
        Standing::Live { current, former: Some(_), .. } => current.sha256 == secret.sha256,
        Standing::Live { former: None, .. } | Standing::Revoked { .. } => false,
    };
    if over {
        emit(turn, AdmissionEvent::FormerDropped(machine));
    }
    Ok(admitted)
}

fn revoke(turn: &mut Turn<'_, Catalog>, machine: MachineKey) -> Result<CatalogAnswer, AdmissionRejection> {
    let member = turn.state().admission().member(machine).ok_or(AdmissionRejection::NoCredential)?;
    match member.standing {
        Standing::Revoked { .. } => {}
        Standing::Live { .. } => {
            let at = turn.now();
            emit(turn, AdmissionEvent::MachineRevoked { machine, at });
        }
    }
    Ok(CatalogAnswer::Done)
}

impl JoinToken {
    /// Whether this machine may come with it, to this fleet and region.
    ///
    /// # Errors
    /// Why not.
    pub fn lets_in(
        &self,
        now: Timestamp,
        machine: MachineKey,
        fleet: FleetId,
        region: RegionId,
    ) -> Result<(), AdmissionRejection> {
        match self.stage {
            TokenStage::Withdrawn => return Err(AdmissionRejection::TokenWithdrawn),
            TokenStage::UsedUp => return Err(AdmissionRejection::TokenUsedUp { uses: self.made.uses }),
            TokenStage::Open { .. } => {}
        }
        if now >= self.expires {
            return Err(AdmissionRejection::TokenExpired { ago: now.since(self.expires), now });
        }
        if !self.made.scope.holds(fleet, region) {
            return Err(AdmissionRejection::OutOfScope);
        }
        if self.made.scope.is_for(machine) { Ok(()) } else { Err(AdmissionRejection::ForAnotherMachine) }
    }
}

impl Admission {
    /// What a machine was told that asks again with the same token and the same secret.
    fn admitted_already(
        &self,
        token: JoinTokenId,
        machine: MachineKey,
        wanted: (FleetId, RegionId),
        fresh: &SecretHash,
    ) -> Option<Admitted> {
        let member = self.member(machine)?;
        let Standing::Live { current, life, .. } = &member.standing else { return None };
        let again =
            member.token == token && (member.fleet, member.region) == wanted && same(&current.sha256, fresh);
        let (fleet, region) = wanted;
        again.then_some(Admitted { fleet, region, expires: current.expires, life: *life })
    }
}
