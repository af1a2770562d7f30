//! Random days of a lobby: whoever asks whatever, in any order, with restarts and forgetting in between. The laws are checked after
//! every step, those of the past among them (`world.rs`).

use std::time::Duration;

use mainstay_lobby::{
    Authority, CanBeHost, Command, Epoch, Joining, Migratable, Misses, Observation, Pace, Renewal,
    Searchable, Service, Settings, Support, Takeover, Update,
};
use proptest::prelude::*;

use crate::world::{World, id, joiner, key, player};

#[derive(Debug, Clone)]
enum Step {
    Ask(Command),
    See(Observation),
    Pass(u64),
    Restart,
}

fn session() -> impl Strategy<Value = u128> {
    0..3_u128
}

fn peer() -> impl Strategy<Value = u8> {
    1..6_u8
}

fn settings() -> impl Strategy<Value = Settings> {
    let migratable = prop_oneof![3 => Just(Migratable::Yes), 1 => Just(Migratable::No)];
    let takeover = prop_oneof![Just(Takeover::Fast), Just(Takeover::Strict)];
    let searchable = prop_oneof![Just(Searchable::Yes), Just(Searchable::No)];
    (1..5_u32, migratable, takeover, searchable).prop_map(|(size, migratable, takeover, searchable)| {
        Settings { migratable, takeover, searchable, ..Settings::of_size(size) }
    })
}

fn authority() -> impl Strategy<Value = Authority> {
    prop_oneof![
        1 => Just(Authority::Studio),
        5 => (peer(), 1..4_u32)
            .prop_map(|(peer, epoch)| Authority::Host { peer: key(peer), epoch: Epoch(epoch) }),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    let service = prop_oneof![Just(Service::Lan), Just(Service::Online)];
    let support = prop_oneof![1 => Just(Support::Unsupported), 3 => Just(Support::Supported)];
    let can = prop_oneof![Just(CanBeHost::Yes), Just(CanBeHost::NotYet)];
    prop_oneof![
        1 => (service, support).prop_map(|(service, migration)| Command::Configure { service, migration }),
        4 => (session(), settings(), peer()).prop_map(|(session, settings, by)| Command::Create {
            session: id(session), service: Service::Online, settings, by: joiner(by),
        }),
        2 => (session(), settings(), prop::collection::vec(peer(), 0..4)).prop_map(|(session, settings, players)| {
            let players = players.into_iter().map(player).collect();
            Command::Reserve { session: id(session), service: Service::Online, settings, players }
        }),
        1 => session().prop_map(|session| Command::Withdraw { session: id(session) }),
        8 => (session(), peer(), peer()).prop_map(|(session, process, who)| Command::Join {
            session: id(session),
            // Mostly its own process, at times another's key or another process.
            by: mainstay_lobby::Joiner { peer: key(process), ..joiner(if who < 4 { process } else { who }) },
        }),
        2 => (session(), peer(), can).prop_map(|(session, peer, can_be_host)| Command::Introduce {
            session: id(session), peer: key(peer), can_be_host, addresses: vec![],
        }),
        2 => (session(), peer()).prop_map(|(session, peer)| Command::Leave { session: id(session), peer: key(peer) }),
        2 => (session(), peer(), authority())
            .prop_map(|(session, peer, by)| Command::Kick { session: id(session), peer: key(peer), by }),
        8 => (session(), 0..4_u32, peer()).prop_map(|(session, expected, by)| Command::Claim {
            session: id(session), expected: Epoch(expected), by: key(by), as_of: None,
        }),
        3 => (session(), 0..4_u32, peer(), peer()).prop_map(|(session, expected, by, to)| Command::HandOver {
            session: id(session), expected: Epoch(expected), by: key(by), to: key(to), as_of: None,
        }),
        1 => (session(), authority()).prop_map(|(session, by)| Command::Update {
            session: id(session), by, update: Update { joining: Some(Joining::Closed), ..Update::default() },
        }),
        1 => (session(), authority()).prop_map(|(session, by)| Command::End { session: id(session), by }),
        2 => Just(Command::Due),
    ]
}

fn pace() -> impl Strategy<Value = Pace> {
    prop_oneof![Just(Pace::Usual), Just(Pace::Quick)]
}

fn observation() -> impl Strategy<Value = Observation> {
    prop_oneof![
        3 => (session(), prop::collection::vec(peer(), 0..3)).prop_map(|(session, peers)| Observation::Heard {
            session: id(session), peers: peers.into_iter().map(key).collect(),
        }),
        4 => (session(), 1..4_u32, peer(), pace()).prop_map(|(session, epoch, host, pace)| Observation::Renewed {
            session: id(session), epoch: Epoch(epoch), host: key(host), renewal: Renewal::Now(pace), hears: vec![],
        }),
        3 => (session(), 1..4_u32, peer()).prop_map(|(session, epoch, peer)| Observation::Misses {
            session: id(session), epoch: Epoch(epoch), peer: key(peer), misses: Misses::Yes { silent: None },
        }),
        1 => Just(Observation::Forgotten),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => command().prop_map(Step::Ask),
        5 => observation().prop_map(Step::See),
        4 => (0..8_000_u64).prop_map(Step::Pass),
        1 => (0..150_000_u64).prop_map(Step::Pass),
        1 => Just(Step::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn the_laws_hold_whoever_asks_whatever(steps in prop::collection::vec(step(), 1..120)) {
        let mut world = World::new();
        for step in steps {
            match step {
                // Whether it is refused is told by the tables of examples.
                Step::Ask(command) => { let _answered = world.ask(&command); }
                Step::See(observation) => world.see(observation),
                Step::Pass(ms) => world.pass(Duration::from_millis(ms)),
                Step::Restart => world.restart(),
            }
        }
        world.restart();
    }
}
