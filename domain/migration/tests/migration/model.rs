//! Every order of every message: three peers, any of which may stop at any moment, over links any of which may be cut.
//!
//! What was once sent may arrive at any later moment, twice, or never; so a crash, a cut, a loss, a delay and a frozen peer
//! that wakes are all among the orders tried. Time does not occur: any peer may ask for votes whenever it likes, and the host
//! may change the view whenever its ballot lets it. What is bounded is how often.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use mainstay_migration::{
    Arbiter, Ballot, Certificate, ChannelId, Claim, Epoch, PeerId, Refusal, Root, Signature, Stamp, View,
    ViewId, Vote,
};

const A: PeerId = PeerId(1);

/// What is under way, for ever.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Said {
    Claim(Claimed),
    /// A host names its successor: whoever hears it votes unasked, and the successor counts.
    Names(Epoch, PeerId),
    Vote(Vote),
    Newer(PeerId, PeerId, ViewKey),
    Crowned(Epoch, PeerId),
    View(ViewKey),
    Taken(PeerId, ViewId, PeerId),
}

/// A view by what tells it apart: its writer writes each number once.
type ViewKey = (ViewId, PeerId);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Claimed {
    epoch: Epoch,
    candidate: PeerId,
    view: ViewKey,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Model {
    peers: Vec<Rc<Ballot>>,
    said: Rc<BTreeSet<Said>>,
    views: Rc<BTreeMap<ViewKey, View>>,
    certificates: Rc<BTreeMap<(Epoch, PeerId), Certificate>>,
}

impl Said {
    fn is_for(&self, peer: PeerId) -> bool {
        match self {
            Self::Claim(claim) => claim.candidate != peer,
            Self::Names(..) => true,
            Self::Vote(vote) => vote.candidate == peer,
            Self::Newer(_, to, _) | Self::Taken(_, _, to) => *to == peer,
            Self::Crowned(..) | Self::View(_) => true,
        }
    }
}

/// How far is looked.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    epochs: u32,
    versions: u32,
    door: Door,
    handover: Handover,
}

/// Whether a host may name its successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handover {
    Any,
    None,
}

/// Whether a host lets in who is no member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Open,
    Shut,
}

impl Model {
    /// So many peers, of whom the first `voters` vote.
    fn of(members: u128, voters: u128) -> Self {
        let stamp = Stamp::certified(Epoch::FIRST);
        let channel = |peer: u128| ChannelId { stamp, number: u32::try_from(peer).unwrap() };
        let view = View {
            id: ViewId { epoch: Epoch::FIRST, version: 0 },
            host: A,
            members: (1..=voters).map(|peer| (PeerId(peer), channel(peer))).collect(),
            signature: Signature::default(),
        };
        let mut peers: Vec<Ballot> = (1..=members)
            .map(|peer| {
                Ballot::new(
                    Arbiter::Majority,
                    PeerId(peer),
                    Root { epoch: Epoch::FIRST, host: A },
                    view.clone(),
                    &[],
                )
                .unwrap()
            })
            .collect();
        for peer in 2..=voters {
            peers[0].taken(PeerId(peer), view.id);
        }
        Self {
            peers: peers.into_iter().map(Rc::new).collect(),
            said: Rc::default(),
            views: Rc::new(BTreeMap::from([((view.id, A), view)])),
            certificates: Rc::default(),
        }
    }

    fn key(&mut self, view: &View) -> ViewKey {
        let key = (view.id, view.host);
        if let Some(known) = self.views.get(&key) {
            assert_eq!(known, view, "two views of one name");
        } else {
            Rc::make_mut(&mut self.views).insert(key, view.clone());
        }
        key
    }

    fn peer(&mut self, at: usize) -> &mut Ballot {
        Rc::make_mut(&mut self.peers[at])
    }

    fn say(&mut self, said: Said) {
        if !self.said.contains(&said) {
            Rc::make_mut(&mut self.said).insert(said);
        }
    }

    /// Everything that may happen next.
    fn next(&self, bounds: Bounds) -> Vec<Self> {
        let mut next = Vec::new();
        for at in 0..self.peers.len() {
            let mut claims = self.clone();
            let me = claims.peers[at].clone();
            if let Some(claim) =
                claims.peer(at).claim(Epoch(0)).filter(|claim| claim.epoch.0 <= bounds.epochs)
            {
                let vote = claims.peers[at].own_vote().unwrap();
                let Claim { epoch, candidate, view } = claim;
                let view = claims.key(&view);
                claims.say(Said::Claim(Claimed { epoch, candidate, view }));
                claims.count(at, &vote);
                next.push(claims);
            }
            let epoch = me.promised().next();
            if bounds.handover == Handover::Any && me.host().0 == at as u128 + 1 && epoch.0 <= bounds.epochs {
                for successor in (1..=self.peers.len() as u128).filter(|peer| *peer != at as u128 + 1) {
                    let mut names = self.clone();
                    names.say(Said::Names(epoch, PeerId(successor)));
                    names.hear(at, &Said::Names(epoch, PeerId(successor)));
                    if names != *self {
                        next.push(names);
                    }
                }
            }
            let members = &me.view().members;
            let with = |peer: u128| {
                let number = u32::try_from(peer).unwrap();
                let channel = ChannelId { stamp: Stamp::certified(Epoch::FIRST), number };
                members.iter().map(|(p, c)| (*p, *c)).chain([(PeerId(peer), channel)]).collect()
            };
            let newcomers = (1..=self.peers.len() as u128)
                .filter(|peer| bounds.door == Door::Open && !members.contains_key(&PeerId(*peer)));
            let changes: Vec<BTreeMap<PeerId, ChannelId>> = members
                .keys()
                .filter(|peer| **peer != PeerId(at as u128 + 1))
                .map(|gone| members.iter().filter(|(peer, _)| *peer != gone).map(|(p, c)| (*p, *c)).collect())
                .chain(newcomers.map(with))
                .collect();
            for change in changes {
                let mut writes = self.clone();
                if writes.peer(at).write_view(change) && writes.peers[at].view().id.version <= bounds.versions
                {
                    let view = writes.peers[at].view().clone();
                    let key = writes.key(&view);
                    writes.say(Said::View(key));
                    next.push(writes);
                }
            }
            for said in self.said.iter().filter(|said| said.is_for(PeerId(at as u128 + 1))) {
                let mut hears = self.clone();
                hears.hear(at, said);
                if hears != *self {
                    next.push(hears);
                }
            }
        }
        next
    }

    fn hear(&mut self, at: usize, said: &Said) {
        let me = PeerId(at as u128 + 1);
        match said {
            Said::Claim(Claimed { epoch, candidate, view }) => {
                let claim = Claim { epoch: *epoch, candidate: *candidate, view: self.views[view].clone() };
                match self.peer(at).consider(&claim) {
                    Ok(vote) => self.say(Said::Vote(vote)),
                    Err(Refusal::NewerView(view)) => {
                        let key = self.key(&view);
                        self.say(Said::Newer(me, *candidate, key));
                    }
                    Err(_) => {}
                }
            }
            Said::Names(epoch, candidate) if *candidate == me => {
                // Having promised it, or a later one, it asks for a later one yet: that is a claim of its own.
                let is_open = self.peers[at].promised() < *epoch;
                if is_open && self.peer(at).claim(*epoch).is_some() {
                    let vote = self.peers[at].own_vote().unwrap();
                    self.count(at, &vote);
                }
            }
            Said::Names(epoch, candidate) => {
                let view = self.peers[at].view().clone();
                let claim = Claim { epoch: *epoch, candidate: *candidate, view };
                if let Ok(vote) = self.peer(at).consider(&claim) {
                    self.say(Said::Vote(vote));
                }
            }
            Said::Vote(vote) => self.count(at, vote),
            Said::Newer(_, _, view) => {
                // Of a host it does not know yet it learns nothing; it is told in another order.
                let _ = Rc::make_mut(&mut self.peers[at]).learn_view(&self.views[view]);
            }
            Said::Crowned(epoch, host) => {
                // Told too little, a peer takes nothing: it is told the rest in another order.
                let _ = Rc::make_mut(&mut self.peers[at]).accept(&self.certificates[&(*epoch, *host)]);
            }
            Said::View(view) => {
                let view = self.views[view].clone();
                if self.peer(at).take_view(&view) {
                    self.say(Said::Taken(me, view.id, view.host));
                }
            }
            Said::Taken(from, id, _) => self.peer(at).taken(*from, *id),
        }
    }

    fn count(&mut self, at: usize, vote: &Vote) {
        if let Some(certificate) = self.peer(at).count(vote) {
            let key = (certificate.epoch, certificate.host);
            self.say(Said::Crowned(key.0, key.1));
            Rc::make_mut(&mut self.certificates).insert(key, certificate);
            let view = self.peers[at].view().clone();
            let view = self.key(&view);
            self.say(Said::View(view));
        }
    }

    fn judge(&self) {
        // I1: at most one certificate per (session, epoch).
        let hosts: BTreeSet<Epoch> = self.certificates.keys().map(|(epoch, _)| *epoch).collect();
        assert_eq!(hosts.len(), self.certificates.len(), "two hosts of one epoch: {self:#?}");
        // I3: two peers with the same epoch name the same host.
        for one in &self.peers {
            for other in &self.peers {
                assert!(one.epoch() != other.epoch() || one.host() == other.host(), "{self:#?}");
            }
        }
    }
}

/// Walks through everything. Returns how many states there are, and how many hosts came about.
fn explore(start: Model, bounds: Bounds) -> (usize, usize) {
    let mut seen: HashSet<u128> = HashSet::new();
    let mut queue = VecDeque::from([start]);
    let mut hosts = BTreeSet::new();
    while let Some(model) = queue.pop_front() {
        for next in model.next(bounds) {
            if seen.insert(fingerprint(&next)) {
                next.judge();
                // I2: a peer's accepted epoch never decreases.
                for (before, after) in model.peers.iter().zip(&next.peers) {
                    assert!(before.epoch() <= after.epoch());
                }
                hosts.extend(next.certificates.keys().copied());
                queue.push_back(next);
            }
        }
    }
    (seen.len(), hosts.len())
}

/// 128 bits: among ten million states, two with one fingerprint are less likely than a flipped bit in memory.
fn fingerprint(model: &Model) -> u128 {
    let mut hasher = Wide { one: 0x9e37_79b9_7f4a_7c15, other: 0xc2b2_ae3d_27d4_eb4f };
    model.hash(&mut hasher);
    u128::from(hasher.one) << 64 | u128::from(hasher.other)
}

/// Two multiplicative hashes in one pass.
struct Wide {
    one: u64,
    other: u64,
}

impl Hasher for Wide {
    fn finish(&self) -> u64 {
        self.one
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let word = part.iter().fold(0, |word: u64, byte| word << 8 | u64::from(*byte));
            self.one = (self.one ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(31);
            self.other = (self.other.rotate_left(27) ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25);
        }
    }
}

/// I1 and I3 for "three peers, one crash, one cut", and more: every one of them may crash, every link may be cut, and any of
/// them asks for votes whenever it likes.
#[test]
fn three_peers_never_have_two_hosts_of_one_epoch() {
    let bounds = Bounds { epochs: 3, versions: 0, door: Door::Shut, handover: Handover::None };
    let (states, hosts) = explore(Model::of(3, 3), bounds);
    assert_eq!(hosts, 6, "each of them becomes host of each epoch in some order");
    assert!(states > 1_000, "{states}");
}

/// The same while hosts, old ones that woke among them, name successors and everybody votes unasked.
#[test]
fn nor_while_hosts_hand_over() {
    let bounds = Bounds { epochs: 3, versions: 0, door: Door::Shut, handover: Handover::Any };
    let (states, hosts) = explore(Model::of(3, 3), bounds);
    assert_eq!(hosts, 6);
    assert!(states > 1_000, "{states}");
}

/// And while they also take members out of the view.
#[test]
fn nor_while_hosts_hand_over_and_remove_members() {
    let bounds = Bounds { epochs: 2, versions: 2, door: Door::Shut, handover: Handover::Any };
    let (states, hosts) = explore(Model::of(3, 3), bounds);
    assert_eq!(hosts, 3);
    assert!(states > 1_000, "{states}");
}

/// The same while the host takes members out of the view.
#[test]
fn nor_while_members_are_removed() {
    let bounds = Bounds { epochs: 2, versions: 2, door: Door::Shut, handover: Handover::None };
    let (states, hosts) = explore(Model::of(3, 3), bounds);
    assert_eq!(hosts, 3);
    assert!(states > 1_000, "{states}");
}

/// The same while the host of one lets two in, one after the other, and takes back what was not settled.
#[test]
fn nor_while_a_session_of_one_grows() {
    let bounds = Bounds { epochs: 2, versions: 2, door: Door::Open, handover: Handover::None };
    let (states, hosts) = explore(Model::of(3, 1), bounds);
    assert!(hosts >= 2, "whoever came can be elected: {hosts}");
    assert!(states > 1_000, "{states}");
}

/// The same where a third comes to two, and the host goes back before it was settled.
#[test]
fn nor_while_a_third_comes_and_is_taken_back() {
    let bounds = Bounds { epochs: 2, versions: 2, door: Door::Open, handover: Handover::None };
    let (states, hosts) = explore(Model::of(3, 2), bounds);
    assert!(hosts >= 2, "{hosts}");
    assert!(states > 1_000, "{states}");
}
