//! Matches, and how a queue does.

use mainstay_core::MatchId;
use mainstay_matchmaking::Caller;
use mainstay_wire::playfab::answer::{MatchAnswer, StatisticsAnswer};
use mainstay_wire::playfab::request::{GetMatch, OfQueue};

use super::Face;
use super::members::{id, needs};
use super::refusal::Refusal;
use super::tickets::objects;
use crate::allowance;

impl Face {
    /// `GetMatch`.
    pub(super) async fn formed_match(&self, caller: Caller, asked: GetMatch) -> Result<MatchAnswer, Refusal> {
        needs(&[("QueueName", &asked.queue_name), ("MatchId", &asked.match_id)])?;
        let queue = self.kept(&asked.queue_name).await?;
        let formed = MatchId(id("MatchId", &asked.match_id)?);
        let about = formed.to_string();
        let about = allowance::Asked { caller: &caller, queue: &queue.name, about: &about };
        self.allowance.read_match(&about, self.now()).map_err(|it| Refusal::matching_rate(&it))?;
        let found =
            queue.running.read(move |queue, now| queue.formed_match(formed, &caller, now).cloned()).await??;
        let objects = asked.return_member_attributes.then(|| objects(asked.escape_object));
        Ok(MatchAnswer::of(&found, objects))
    }

    /// `GetQueueStatistics`.
    pub(super) async fn statistics(
        &self,
        caller: Caller,
        asked: OfQueue,
    ) -> Result<StatisticsAnswer, Refusal> {
        needs(&[("QueueName", &asked.queue_name)])?;
        let queue = self.queue(&asked.queue_name)?;
        let about = allowance::Asked { caller: &caller, queue: &queue.name, about: "" };
        self.allowance.look(&about, self.now()).map_err(|it| Refusal::matching_rate(&it))?;
        let found = queue.open.read(move |queue, now| queue.statistics(&caller, now)).await??;
        Ok(StatisticsAnswer::of(&found))
    }
}
