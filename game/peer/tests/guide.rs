//! The loop that `docs/reference/peers.md` shows is one that compiles.
#![expect(dead_code, reason = "it shows how a game is written, and none runs")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use mainstay_peer::link::Way;
use mainstay_peer::migration::{
    Acting, ActorId, CanBeHost, Handover, Kind, Part, PeerId, Piece, SessionId, Tick,
};
use mainstay_peer::{Event, Over, Peer, Registered, SessionOptions, To};

/// What the loop asks of a game.
trait Game {
    fn until_next_tick(&self) -> Duration;
    fn tick(&self) -> Tick;
    fn step(&mut self);
    fn load(&mut self, parts: &[Arc<Part>]);
    fn save(&self) -> Vec<u8>;
    fn last(&self) -> Piece;
    fn picture(&self) -> Vec<u8>;
    fn show(&mut self, picture: &[u8]);
    fn deed(&mut self) -> Option<Vec<u8>>;
    fn apply(&mut self, from: PeerId, deed: &[u8]);
    fn new_actor(&mut self, of: PeerId) -> ActorId;
    fn give(&mut self, actor: ActorId, to: PeerId);
    fn remove(&mut self, who: PeerId);
    fn end(&mut self, why: Over) -> Result<(), Box<dyn Error>>;
}

#[rustfmt::skip]
#[expect(clippy::wildcard_enum_match_arm, reason = "a game picks what it wants to hear")]
fn play(peer: &Peer, id: u128, listeners: Vec<Registered>, mut game: impl Game) -> Result<(), Box<dyn Error>> {
    let mut seat = peer.found(SessionOptions::new(SessionId(id)), listeners)?;
    let (mut plays, mut leads, mut acts) = (false, false, false);
    loop {
        while let Some(event) = seat.next(game.until_next_tick()) {
            match event {
                Event::Entered => { plays = true; seat.set_can_be_host(CanBeHost::Yes)? } // or once the game could be host
                Event::Lead { state, .. } => { game.load(state.parts()); leads = true }
                Event::Follow { .. } => leads = false,
                Event::Act(acting) => acts = acting == Acting::Yes,
                Event::Connected { peer, actor: None, .. } => seat.bind_actor(peer, game.new_actor(peer))?,
                Event::Connected { peer, actor: Some(actor), .. } => game.give(actor, peer),
                Event::Gone(peer) => game.remove(peer),
                Event::Apply { from, bytes, .. } => game.apply(from, &bytes),
                Event::FromHost { bytes, .. } => game.show(&bytes),
                Event::SomebodyBetter(to) => seat.hand_over(Some(to), Handover::Lobby, game.last())?,
                Event::Over(why) => return game.end(why),
                _ => {}
            }
        }
        if leads && acts {
            game.step();
            seat.hold(Piece { tick: game.tick(), kind: Kind::Snapshot, bytes: game.save() })?;
            seat.say(To::Members, Way::Datagram, game.picture())?;
        }
        if plays && let Some(deed) = game.deed() { seat.play(deed)? }
    }
}

/// The block of lines from the one that founds the session to the last that is indented.
fn loop_in(text: &str) -> Vec<&str> {
    let from = text.lines().skip_while(|line| !line.starts_with("    let mut seat = peer.found("));
    from.take_while(|line| line.starts_with("    ")).collect()
}

#[test]
fn the_loop_of_the_guide_is_the_one_that_compiles() {
    let (guide, here) = (include_str!("../../../docs/reference/peers.md"), include_str!("guide.rs"));
    assert!(loop_in(here).len() > 20, "the loop above begins otherwise");
    assert_eq!(loop_in(guide), loop_in(here), "write into the guide what compiles here");
}
