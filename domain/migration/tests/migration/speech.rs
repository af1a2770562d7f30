//! "Graceful leave: … zero messages lost": what is said while a session is given away comes to somebody, once; of a host that was replaced nothing does.

use std::collections::BTreeMap;
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{
    Announcement, Audience, Body, Cause, Claim, Ear, Epoch, Given, Handover, Hearing, Input, Output, PeerId,
    Said, Speech, Stamp, WORDS_BYTES_MAX, WORDS_MAX,
};
use proptest::prelude::*;

use crate::moves::last_state;
use crate::net::{Net, peer};

const ANN: PeerId = PeerId(1);
const BOB: PeerId = PeerId(2);

fn of(epoch: u32) -> Stamp {
    Stamp::certified(Epoch(epoch))
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_unix_ms(ms)
}

fn given(numbers: &[u64]) -> Given {
    let mut given = Given::default();
    assert!(numbers.iter().all(|number| given.take(*number)), "{numbers:?}");
    given
}

/// What the host said before it gave the session away is under way for as long as its line takes. How things stand its successor alone says.
#[test]
fn what_a_host_said_that_gave_the_session_away_is_heard_after_it() {
    for why in [Handover::Leaves, Handover::Lobby] {
        let mut net = Net::of(4);
        let before = net.session(peer(1)).stamp();
        let last = last_state(&net, 1);
        net.give(peer(1), Input::HandOver { to: Some(peer(2)), why, last });
        assert!(net.session(peer(1)).hands_over());
        net.run(Duration::from_secs(1));
        let cause = if why == Handover::Lobby { Cause::Lobby } else { Cause::Controlled };
        let no_more = Output::HostNoMore { stamp: before, cause };
        assert_eq!(
            net.seen[&peer(1)].outputs.iter().filter(|output| **output == no_more).count(),
            1,
            "{why:?}"
        );
        for id in 2..=4 {
            let session = net.session(peer(id));
            assert_eq!(session.leader(), peer(2));
            assert!(session.is_word_of_host(peer(1), before), "{why:?}, {id}");
            assert!(!session.is_of_host(peer(1), before), "how things stand");
            assert!(!session.is_word_of_host(peer(3), before), "it was never host");
            assert!(session.is_word_of_host(peer(2), session.stamp()));
        }
        let second = net.session(peer(2)).stamp();
        let last = last_state(&net, 2);
        net.give(peer(2), Input::HandOver { to: Some(peer(3)), why, last });
        net.run(Duration::from_secs(1));
        let session = net.session(peer(4));
        assert_eq!(session.leader(), peer(3));
        assert!(session.is_word_of_host(peer(1), before), "a line may be slower than two moves");
        assert!(session.is_word_of_host(peer(2), second));
        assert!(!session.is_word_of_host(peer(2), before));
    }
}

/// A message is said anew for some round trips, and the session moves once in each at most.
#[test]
fn of_hosts_that_gave_the_session_away_the_last_eight_are_heard() {
    let mut net = Net::of(3);
    let mut hosts = vec![(peer(1), net.session(peer(1)).stamp())];
    for _ in 0..9 {
        let host = hosts.last().unwrap().0;
        let next = peer(host.0 % 3 + 1);
        let last = last_state(&net, host.0);
        net.give(host, Input::HandOver { to: Some(next), why: Handover::Lobby, last });
        net.run(Duration::from_secs(1));
        hosts.push((next, net.session(next).stamp()));
        assert_eq!(net.session(host).leader(), next);
    }
    let (first, rest) = hosts.split_first().unwrap();
    let is_heard = |(host, stamp): &(PeerId, Stamp)| net.session(peer(3)).is_word_of_host(*host, *stamp);
    assert!(!is_heard(first));
    assert!(rest.iter().all(is_heard));
}

/// I2: a host that was replaced is not heard, whatever it says and however long that was under way.
#[test]
fn a_host_that_was_replaced_is_not_heard() {
    let mut net = Net::of(4);
    let first = net.session(peer(4)).stamp();
    let last = last_state(&net, 1);
    net.give(peer(1), Input::HandOver { to: Some(peer(2)), why: Handover::Lobby, last });
    net.run(Duration::from_secs(1));
    let before = net.session(peer(2)).stamp();
    net.freeze(peer(2));
    net.run(Duration::from_secs(4));
    let host = net.session(peer(4)).leader();
    assert_ne!(host, peer(2));
    assert!(!net.session(peer(4)).is_word_of_host(peer(2), before));
    assert!(!net.session(peer(4)).is_word_of_host(peer(1), first), "nor who gave it the session");
    net.thaw(peer(2));
    net.run(Duration::from_secs(2));
    let no_more = Output::HostNoMore { stamp: before, cause: Cause::Fenced };
    assert!(net.seen[&peer(2)].outputs.contains(&no_more));
}

/// Whoever takes a host for lost that has just given the session away hears from the next one how it was, and believes nobody else.
#[test]
fn a_host_is_heard_that_gave_the_session_away_though_its_word_of_it_was_lost() {
    let mut net = Net::of(4);
    let before = net.session(peer(4)).stamp();
    net.freeze(peer(1));
    net.run(Duration::from_secs(4));
    let host = net.session(peer(4)).leader();
    assert_ne!(host, peer(1));
    let is_heard = |net: &Net| net.session(peer(4)).is_word_of_host(peer(1), before);
    let (view, certificates) = (net.session(host).view().clone(), Vec::new());
    let told = Body::Announce(Announcement { certificates, view, cause: Cause::Controlled });
    let other = [peer(2), peer(3)].into_iter().find(|it| *it != host).unwrap();
    for (who, counts) in [(other, false), (host, true)] {
        net.say(who, peer(4), told.clone());
        net.run(Duration::from_millis(100));
        assert_eq!(is_heard(&net), counts, "{who}");
    }
    assert!(!net.session(peer(4)).is_of_host(peer(1), before), "how things stand");
}

/// Nothing moves where a host is certified anew: its words are its words.
#[test]
fn a_host_that_is_certified_anew_is_heard_under_its_old_stamp_too() {
    let mut net = Net::of(3);
    let before = net.session(peer(1)).stamp();
    let view = net.session(peer(3)).view().clone();
    net.say(peer(3), peer(1), Body::Claim(Claim { epoch: Epoch(2), candidate: peer(3), view }));
    net.run(Duration::from_secs(2));
    assert_eq!(net.session(peer(3)).leader(), peer(1));
    assert!(net.session(peer(3)).stamp() > before);
    assert!(net.session(peer(3)).is_word_of_host(peer(1), before));
    assert!(!net.session(peer(3)).is_of_host(peer(1), before));
}

#[test]
fn what_was_given_is_known_of_the_newest_alone_and_each_once() {
    let mut given = given(&[1, 3, 2, 70]);
    assert!(!given.take(3), "twice");
    assert!(!given.take(0), "there is none");
    assert!([1, 2, 3, 70].iter().all(|number| given.is_given(*number)));
    assert!(!given.is_given(4) && !given.is_given(71));
    given.give_back(2);
    assert!(!given.is_given(2) && given.take(2));
    let far = 70 + WORDS_MAX as u64;
    assert!(given.take(far));
    assert!(!given.is_given(70) && !given.take(70), "too old for anybody to know");
    assert!(!given.is_given(71), "its place was an older one's");
    assert!(given.take(71));
    assert!(given.take(u64::MAX) && given.is_given(u64::MAX) && !given.is_given(far));
}

/// A game that says more than anybody can be told twice loses the oldest of it, and where there is no host at all it hears that there is no room.
#[test]
fn what_is_kept_has_its_limits() {
    let mut speech = Speech::default();
    for number in 1..=WORDS_MAX as u64 + 1 {
        assert_eq!(speech.say(at(0), ANN, of(1), vec![1]), number);
    }
    speech.learn(ANN, of(1), &Given::default());
    assert_eq!(speech.take_waiting().len(), WORDS_MAX);
    speech.say(at(0), BOB, of(2), vec![1]);
    speech.say(at(6_000), BOB, of(2), vec![2]);
    speech.learn(BOB, of(2), &Given::default());
    assert_eq!(speech.take_waiting(), [vec![2]], "of the other nobody can say any more whether it was heard");
    assert_eq!(speech.wait(vec![0; WORDS_BYTES_MAX]), Ok(()));
    assert_eq!(speech.wait(vec![0]), Err((1, WORDS_BYTES_MAX)));
    let number = speech.say(at(6_000), ANN, of(3), vec![1]);
    speech.unsay(number);
    assert_eq!(speech.take_waiting().len(), 1);
}

/// Something that happens to one member's words.
#[derive(Debug, Clone)]
enum Step {
    Says,
    /// One of those that are under way comes.
    Comes(prop::sample::Index),
    /// The host makes its last state.
    StandsStill,
    /// Its successor does not get there: it goes on.
    GoesOn,
    /// It gives the session away, having read all but so many of what its game was given.
    Gives(usize),
    /// The member hears who is host.
    Follows,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => Just(Step::Says),
        6 => any::<prop::sample::Index>().prop_map(Step::Comes),
        1 => Just(Step::StandsStill),
        1 => Just(Step::GoesOn),
        2 => (0..4_usize).prop_map(Step::Gives),
        2 => Just(Step::Follows),
    ];
    prop::collection::vec(step, 1..200)
}

enum UnderWay {
    Word(PeerId, Said),
    Heard(PeerId, Stamp, Given),
}

/// Two hosts that give the session to and fro, and a member that speaks.
struct Play {
    speech: Speech,
    audiences: BTreeMap<PeerId, Audience>,
    /// What each host's game was given, and in how far it reads it.
    games: BTreeMap<PeerId, Vec<Said>>,
    under_way: Vec<UnderWay>,
    host: PeerId,
    epoch: u32,
    stands_still: bool,
    /// Whom the member obeys.
    obeys: (PeerId, u32),
    said: u32,
    heard: Vec<Vec<u8>>,
}

impl Play {
    fn beginning() -> Self {
        let mut audiences = BTreeMap::from([(ANN, Audience::default()), (BOB, Audience::default())]);
        audiences.get_mut(&ANN).unwrap().begin(of(1));
        Self {
            speech: Speech::default(),
            audiences,
            games: BTreeMap::from([(ANN, Vec::new()), (BOB, Vec::new())]),
            under_way: Vec::new(),
            host: ANN,
            epoch: 1,
            stands_still: false,
            obeys: (ANN, 1),
            said: 0,
            heard: Vec::new(),
        }
    }

    fn say(&mut self, bytes: Vec<u8>) {
        let (host, stamp) = (self.obeys.0, of(self.obeys.1));
        if self.speech.is_over(host, stamp) {
            self.speech.wait(bytes).unwrap();
        } else {
            let number = self.speech.say(at(0), host, stamp, bytes.clone());
            self.under_way.push(UnderWay::Word(host, Said { from: PeerId(9), stamp, number, bytes }));
        }
    }

    fn pass(&mut self) {
        if !self.speech.is_over(self.obeys.0, of(self.obeys.1)) {
            self.speech.take_waiting().into_iter().for_each(|bytes| self.say(bytes));
        }
    }

    fn hear(&mut self, at: PeerId, said: Said) {
        let ear = match (at == self.host, self.stands_still) {
            (true, false) => Ear::Opens,
            (true, true) => Ear::Waits,
            (false, _) if said.stamp > of(self.epoch) => Ear::Waits,
            (false, _) => Ear::Shut,
        };
        let stamp = said.stamp;
        let audience = self.audiences.get_mut(&at).unwrap();
        match audience.hear(ear, said) {
            Hearing::Give(said) => self.games.get_mut(&at).unwrap().push(said),
            Hearing::Known => {}
            Hearing::Tell => {
                let given = audience.given(PeerId(9));
                self.under_way.push(UnderWay::Heard(at, stamp, given));
            }
        }
    }

    fn go_on(&mut self) {
        self.stands_still = false;
        let held = self.audiences.get_mut(&self.host).unwrap().take_held();
        held.into_iter().for_each(|said| self.hear(self.host, said));
    }

    fn comes(&mut self, what: UnderWay) {
        match what {
            UnderWay::Word(to, said) => self.hear(to, said),
            UnderWay::Heard(from, stamp, given) => {
                self.speech.learn(from, stamp, &given);
                self.pass();
            }
        }
    }

    fn gives(&mut self, unread: usize) {
        let (from, to) = if self.host == ANN { (ANN, BOB) } else { (BOB, ANN) };
        let game = self.games.get_mut(&from).unwrap();
        let read = game.len().saturating_sub(unread);
        let unread = game.split_off(read);
        self.heard.extend(game.drain(..).map(|said| said.bytes));
        let audience = self.audiences.get_mut(&from).unwrap();
        unread.into_iter().for_each(|said| audience.put_back(said));
        audience.end();
        self.under_way.push(UnderWay::Heard(from, of(self.epoch), audience.given(PeerId(9))));
        (self.host, self.epoch, self.stands_still) = (to, self.epoch + 1, false);
        self.audiences.get_mut(&to).unwrap().begin(of(self.epoch));
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Says => {
                self.said += 1;
                self.say(self.said.to_be_bytes().to_vec());
            }
            Step::Comes(index) if !self.under_way.is_empty() => {
                let what = self.under_way.swap_remove(index.index(self.under_way.len()));
                self.comes(what);
            }
            Step::Comes(_) => {}
            Step::StandsStill => self.stands_still = true,
            Step::GoesOn => self.go_on(),
            Step::Gives(unread) => self.gives(unread),
            Step::Follows => {
                self.obeys = (self.host, self.epoch);
                self.pass();
            }
        }
    }
}

proptest! {
    /// However often the session is given away, in whichever order what is under way comes, and whatever a host's game has not read by then.
    #[test]
    fn each_word_is_heard_by_one_host_once(steps in steps()) {
        let mut play = Play::beginning();
        steps.into_iter().for_each(|step| play.step(step));
        play.go_on();
        play.step(Step::Follows);
        while let Some(what) = play.under_way.pop() {
            play.comes(what);
        }
        let games = std::mem::take(&mut play.games);
        play.heard.extend(games.into_values().flatten().map(|said| said.bytes));
        play.heard.sort();
        let said: Vec<Vec<u8>> = (1..=play.said).map(|number| number.to_be_bytes().to_vec()).collect();
        prop_assert_eq!(play.heard, said);
    }
}
