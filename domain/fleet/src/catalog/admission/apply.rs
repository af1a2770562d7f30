//! The only change of what is durable about admission, and its snapshot.

use mainstay_core::Timestamp;

use super::{Admission, AdmissionEvent, JoinToken, Member, Scope, Standing, TokenStage};

impl Admission {
    pub(crate) fn apply(&mut self, at: Timestamp, event: &AdmissionEvent) {
        match *event {
            AdmissionEvent::TokenMade { token, new, expires } => {
                self.forget(at);
                let stage = TokenStage::Open { left: new.uses };
                self.tokens.insert(token, JoinToken { made: new, expires, stage });
            }
            AdmissionEvent::TokenWithdrawn(token) => self.stand(token, TokenStage::Withdrawn),
            AdmissionEvent::TokenStood { token, stage } => self.stand(token, stage),
            AdmissionEvent::MachineAdmitted { machine, fleet, region, token, secret, life } => {
                self.forget(at);
                self.use_once(token);
                let standing = Standing::Live { current: secret, former: None, life };
                self.members.insert(machine, Member { fleet, region, token, standing });
            }
            AdmissionEvent::LiveStood { machine, fleet, region, token, current, former, life } => {
                let standing = Standing::Live { current, former, life };
                self.members.insert(machine, Member { fleet, region, token, standing });
            }
            AdmissionEvent::RevokedStood { machine, fleet, region, token, at } => {
                self.members
                    .insert(machine, Member { fleet, region, token, standing: Standing::Revoked { at } });
            }
            AdmissionEvent::CredentialRenewed { machine, former, current } => {
                if let Some(Standing::Live { current: newest, former: before, .. }) = self.standing(machine) {
                    (*newest, *before) = (current, Some(former));
                }
            }
            AdmissionEvent::FormerDropped(machine) => {
                if let Some(Standing::Live { former, .. }) = self.standing(machine) {
                    *former = None;
                }
            }
            AdmissionEvent::MachineRevoked { machine, at } => {
                if let Some(member) = self.members.get_mut(&machine) {
                    member.standing = Standing::Revoked { at };
                    let token = member.token;
                    self.stand(token, TokenStage::Withdrawn);
                }
            }
        }
    }

    fn standing(&mut self, machine: mainstay_core::MachineKey) -> Option<&mut Standing> {
        self.members.get_mut(&machine).map(|member| &mut member.standing)
    }

    fn stand(&mut self, token: mainstay_core::JoinTokenId, stage: TokenStage) {
        if let Some(token) = self.tokens.get_mut(&token) {
            token.stage = stage;
        }
    }

    fn use_once(&mut self, token: mainstay_core::JoinTokenId) {
        if let Some(token) = self.tokens.get_mut(&token) {
            token.stage = match token.stage {
                TokenStage::Open { left: 0 | 1 } | TokenStage::UsedUp => TokenStage::UsedUp,
                TokenStage::Open { left } => TokenStage::Open { left: left - 1 },
                TokenStage::Withdrawn => TokenStage::Withdrawn,
            };
        }
    }

    /// Drops what ended longer ago than anyone is told why.
    fn forget(&mut self, now: Timestamp) {
        self.tokens.retain(|_, token| !token.is_forgotten(now));
        self.members.retain(|_, member| !is_forgotten(member.end(), now));
    }

    /// How many tokens there will be once the forgotten ones are gone.
    pub(super) fn tokens_at(&self, now: Timestamp) -> usize {
        self.tokens.values().filter(|token| !token.is_forgotten(now)).count()
    }

    /// How many machines there will be once the forgotten ones are gone.
    pub(super) fn members_at(&self, now: Timestamp) -> usize {
        self.members.values().filter(|member| !is_forgotten(member.end(), now)).count()
    }

    /// The shortest story that rebuilds this.
    pub(crate) fn story(&self) -> impl Iterator<Item = AdmissionEvent> {
        let tokens = self.tokens.iter().flat_map(|(&id, token)| {
            let JoinToken { made, expires, stage } = *token;
            [
                AdmissionEvent::TokenMade { token: id, new: made, expires },
                AdmissionEvent::TokenStood { token: id, stage },
            ]
        });
        let members = self.members.iter().map(|(&machine, member)| {
            let Member { fleet, region, token, ref standing } = *member;
            match *standing {
                Standing::Live { current, former, life } => {
                    AdmissionEvent::LiveStood { machine, fleet, region, token, current, former, life }
                }
                Standing::Revoked { at } => {
                    AdmissionEvent::RevokedStood { machine, fleet, region, token, at }
                }
            }
        });
        tokens.chain(members)
    }
}

impl JoinToken {
    /// Nobody asks why a provider's token ended: there is one for each machine, and they would fill the list.
    fn is_forgotten(&self, now: Timestamp) -> bool {
        match self.made.scope {
            Scope::Anywhere | Scope::Fleet(_) | Scope::Region(..) => is_forgotten(self.expires, now),
            Scope::Machine(..) => now >= self.expires,
        }
    }
}

impl Member {
    /// When it can connect no more, whatever it shows.
    pub(super) fn end(&self) -> Timestamp {
        match &self.standing {
            Standing::Live { current, former, .. } => {
                former.map_or(current.expires, |former| former.expires.max(current.expires))
            }
            Standing::Revoked { at } => *at,
        }
    }
}

fn is_forgotten(end: Timestamp, now: Timestamp) -> bool {
    now.since(end) > Admission::REMEMBERED
}
