//! Random days on random queues, for laws that must hold on all.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{ClaimId, FleetNumber, ServerId, Tenure, TicketId};
use mainstay_matchmaking::spec::{Declared, Gather, QueueSpec};
use mainstay_matchmaking::{Answer, Caller, Command, Kind, Member, Rejection, Seated, Terms};
use uuid::Uuid;

use crate::draw::{Dice, REGIONS, gather, tightened, values};
use crate::world::{World, member, player, region, seated, server};

/// A step of a random day.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Solo(u64),
    Party(u64),
    Group(u64),
    Game(u64),
    /// A hosted game says who plays.
    Kept(u64),
    /// A hosted process ends.
    Over(u8),
    Cancel(u8),
    /// The id of a ticket comes again, for one of the other kind.
    Twice(u8),
    Pass(u16),
    Configure(u64),
}

/// Does a step. What is refused is refused for a reason that such a day can have.
pub fn step(world: &mut World, spec: &mut QueueSpec, made: &mut Vec<TicketId>, step: Step) {
    let name = format!("p{}", made.len());
    let outcome = match step {
        Step::Solo(seed) => {
            let values = values(&mut Dice(seed), spec);
            world.try_ticket(&name, &values, &[])
        }
        Step::Party(seed) => {
            let mut dice = Dice(seed);
            let size = 1 + dice.below(3);
            let members: Vec<Member> =
                (0..size).map(|at| member(&format!("{name}-{at}"), &values(&mut dice, spec))).collect();
            world.try_party(members)
        }
        Step::Group(seed) => {
            let mut dice = Dice(seed);
            let friend = format!("{name}-friend");
            let own = values(&mut dice, spec);
            let ticket = world.try_ticket(&name, &own, &[&friend]);
            if let Ok(ticket) = ticket
                && !dice.one_in(4)
            {
                let own = values(&mut dice, spec);
                world.join(ticket, &friend, &own).unwrap();
            }
            ticket
        }
        Step::Game(seed) => {
            let mut dice = Dice(seed);
            let members = players(&mut dice, spec, &name, made.len());
            let places = dice.one_in(3).then(|| 1 + dice.below(2));
            let region = region(REGIONS[dice.below(3) as usize]);
            world.try_backfill(&server("one"), members, region, places)
        }
        Step::Kept(seed) => {
            let mut dice = Dice(seed);
            let (ticket, form, tenure) = (world.id(), world.queue.form(), tenure(dice.below(2)));
            let members = players(&mut dice, spec, &name, made.len());
            let server = region(REGIONS[dice.below(3) as usize]);
            let (places, heard) = (dice.below(3), dice.one_in(2));
            let keep = |known| Command::KeepBackfill {
                ticket,
                tenure,
                members: members.clone(),
                server: server.clone(),
                places,
                known,
                form,
            };
            match world.run(keep(None)) {
                Ok(Answer::Ticket(matched)) if heard && matched != ticket => {
                    world.run(keep(Some(matched))).map(|_| matched)
                }
                Ok(Answer::Ticket(kept)) => Ok(kept),
                Ok(Answer::Done | Answer::Cancelled(_)) => return,
                Err(refused) => Err(refused),
            }
        }
        Step::Over(run) => {
            world.run(Command::TenureOver(tenure(u32::from(run % 2)))).unwrap();
            return;
        }
        Step::Cancel(which) => {
            if let Some(ticket) = made.get(usize::from(which) % made.len().max(1)).copied() {
                // It may be over, or a backfill ticket.
                let _either = world.cancel(ticket, Caller::Title);
            }
            return;
        }
        Step::Twice(which) => {
            if let Some(ticket) = made.get(usize::from(which) % made.len().max(1)).copied() {
                twice(world, spec, ticket, &name);
            }
            return;
        }
        Step::Pass(ms) => return world.pass(Duration::from_millis(ms.into())),
        Step::Configure(seed) => {
            let gather = match spec.gather {
                // Its days are those of a queue that never gathers.
                Gather::NONE => Gather::NONE,
                _ => gather(&mut Dice(seed)),
            };
            let limits = Declared { rules: tightened(spec, seed), gather, ..spec.declared().clone() };
            if let Ok(changed) = QueueSpec::new(limits) {
                *spec = changed.clone();
                world.run(Command::Configure(Arc::new(changed))).unwrap();
            }
            return;
        }
    };
    match outcome {
        Ok(ticket) => made.push(ticket),
        Err(
            Rejection::NumberOfPlayersTooLarge { .. }
            | Rejection::TeamInvalid { .. }
            | Rejection::Unmatchable
            | Rejection::NoRoom(_)
            | Rejection::MembershipLimitExceeded { kind: Kind::Backfill, .. },
        ) => {}
        Err(other) => panic!("{other:?}"),
    }
    assert!(world.queue.tickets_of(&player(&name), &Caller::Title).is_ok());
}

/// Asks for a ticket of the other kind under an id that is taken.
fn twice(world: &mut World, spec: &QueueSpec, ticket: TicketId, name: &str) {
    let (form, values, give_up_after) = (world.queue.form(), values(&mut Dice(0), spec), 600);
    let is_game = world.queue.backfill(ticket, &Caller::Title, world.now).is_ok();
    let refused = world.run(if is_game {
        let caller = Caller::Player(player(name));
        let (creator, invited) = (member(name, &values), Vec::new());
        Command::CreateTicket { ticket, caller, creator, invited, give_up_after, form }
    } else {
        let (members, server_details) = (vec![seated(name, "", &values)], region(REGIONS[0]));
        Command::CreateBackfill {
            ticket,
            caller: server("one"),
            members,
            server: server_details,
            places: None,
            give_up_after,
            terms: Terms::default(),
            form,
        }
    });
    assert_eq!(refused, Err(Rejection::RequestTypeMismatch(ticket)));
}

/// One of few processes, two of one session.
fn tenure(run: u32) -> Tenure {
    let server = ServerId::of(FleetNumber::new(1).unwrap(), 1);
    Tenure { server, session: ClaimId(Uuid::from_u128(1)), run: Some(run.into()) }
}

/// Who plays a game.
fn players(dice: &mut Dice, spec: &QueueSpec, name: &str, made: usize) -> Vec<Seated> {
    let size = dice.below(spec.max_match_size);
    let seat = |at| {
        let team = match spec.teams.len() {
            0 => String::new(),
            _ if dice.one_in(4) => String::new(),
            teams => spec.teams[dice.below(u32::try_from(teams).unwrap()) as usize].name.to_string(),
        };
        // One of them may wait in a ticket of its own, made before or later.
        let name = match at {
            0 if dice.one_in(3) => format!("p{}", dice.below(u32::try_from(made).unwrap() + 2)),
            _ => format!("{name}-{at}"),
        };
        seated(&name, &team, &values(dice, spec))
    };
    (0..size).map(seat).collect()
}
