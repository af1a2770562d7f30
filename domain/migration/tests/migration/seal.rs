//! What is signed, and that nothing signed for one session, epoch or view is worth anything in another.

use std::collections::BTreeMap;

use mainstay_migration::{
    Announcement, Body, Certificate, ChannelId, Epoch, Keys, Message, PeerId, Proof, SIGNATURE_BYTES_MAX,
    SessionId, Signature, Stamp, View, ViewId, Vote,
};

use crate::net::{NamedKeys, Net, peer};

const SESSION: SessionId = SessionId(9);

fn vote() -> Vote {
    let electorate = ViewId { epoch: Epoch(2), version: 3 };
    let signature = Signature::default();
    Vote { epoch: Epoch(4), candidate: peer(5), voter: peer(6), electorate, signature }
}

fn view() -> View {
    let stamp = Stamp::certified(Epoch::FIRST);
    let channel = |number| ChannelId { stamp, number };
    View {
        id: ViewId { epoch: Epoch(2), version: 3 },
        host: peer(5),
        members: BTreeMap::from([(peer(5), channel(0)), (peer(6), channel(1))]),
        signature: Signature::default(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The words themselves: another version of this program has to sign the same.
#[test]
fn words_are_golden() {
    let number = |number: u128, digits: usize| format!("{number:0digits$x}");
    let text = |text: &str| hex(text.as_bytes());
    let of_vote = [
        text("mainstay vote 1"),
        number(9, 32),
        number(4, 8),
        number(5, 32),
        number(6, 32),
        number(2, 8),
        number(3, 8),
    ];
    assert_eq!(hex(&vote().words(SESSION)), of_vote.concat());
    let member = |peer, channel| [number(peer, 32), number(1, 8), number(0, 8), number(channel, 8)].concat();
    let of_view = [
        text("mainstay view 1"),
        number(9, 32),
        number(2, 8),
        number(3, 8),
        number(5, 32),
        number(2, 8),
        member(5, 0),
        member(6, 1),
    ];
    assert_eq!(hex(&view().words(SESSION)), of_view.concat());
}

fn is_genuine(session: SessionId, body: Body) -> bool {
    let stamp = Stamp::certified(Epoch(2));
    Message { session, stamp, body }.is_genuine(&NamedKeys(peer(1)))
}

/// A signed word names its session and its epoch: what was said in one is nothing in another.
#[test]
fn what_was_signed_elsewhere_is_not_genuine() {
    let signed = |vote: Vote| Vote { signature: NamedKeys(peer(6)).sign(&vote.words(SESSION)), ..vote };
    let good = signed(vote());
    assert!(is_genuine(SESSION, Body::Vote(good.clone())));
    assert!(!is_genuine(SessionId(10), Body::Vote(good.clone())), "of another session");
    let changed: [fn(&mut Vote); 4] = [
        |vote| vote.epoch = Epoch(5),
        |vote| vote.candidate = peer(7),
        |vote| vote.voter = peer(7),
        |vote| vote.electorate.version = 4,
    ];
    for change in changed {
        let mut other = good.clone();
        change(&mut other);
        assert!(!is_genuine(SESSION, Body::Vote(other)));
    }
    let long = Vote { signature: Signature(vec![0; SIGNATURE_BYTES_MAX + 1]), ..good };
    assert!(!is_genuine(SESSION, Body::Vote(long)));
}

#[test]
fn nobody_but_its_host_writes_a_view() {
    let sign =
        |keys: PeerId, view: View| View { signature: NamedKeys(keys).sign(&view.words(SESSION)), ..view };
    let good = sign(peer(5), view());
    assert!(is_genuine(SESSION, Body::View(good.clone())));
    assert!(!is_genuine(SESSION, Body::View(sign(peer(6), view()))));
    let mut fewer = good.clone();
    fewer.members.remove(&peer(6));
    assert!(!is_genuine(SESSION, Body::View(fewer)));
    let vote = vote();
    let mut votes = BTreeMap::from([(vote.voter, NamedKeys(peer(6)).sign(&vote.words(SESSION)))]);
    let certificate = |votes| Certificate {
        epoch: Epoch(4),
        host: peer(5),
        proof: Proof::Majority { electorate: good.clone(), votes },
    };
    let announce = |certificate: &Certificate| {
        let why = mainstay_migration::Refusal::Passed(vec![certificate.clone()]);
        Body::Refusal { epoch: Epoch(4), why }
    };
    assert!(is_genuine(SESSION, announce(&certificate(votes.clone()))));
    votes.insert(vote.voter, Signature::default());
    assert!(!is_genuine(SESSION, announce(&certificate(votes))));
}

/// B1, with votes in everybody's name: a member that has no keys but its own cannot make itself host.
#[test]
fn b1_votes_in_other_names_are_worth_nothing() {
    let mut net = Net::of(4);
    let electorate = net.session(peer(3)).view().clone();
    let epoch = net.session(peer(3)).stamp().epoch.next();
    let keys = NamedKeys(peer(3));
    let votes = electorate.members.keys().map(|voter| {
        let signature = Signature::default();
        let vote = Vote { epoch, candidate: peer(3), voter: *voter, electorate: electorate.id, signature };
        (*voter, keys.sign(&vote.words(SESSION)))
    });
    let votes = votes.collect();
    let forged = Certificate {
        epoch,
        host: peer(3),
        proof: Proof::Majority { electorate: electorate.clone(), votes },
    };
    for id in [1, 2, 4] {
        let (certificates, view) = (vec![forged.clone()], electorate.clone());
        let cause = mainstay_migration::Cause::Lobby;
        net.say(peer(3), peer(id), Body::Announce(Announcement { certificates, view, cause }));
    }
    net.run(std::time::Duration::from_secs(1));
    assert_eq!(net.host(), peer(1));
    assert!(net.seen.values().all(|seen| seen.stages.is_empty()));
}
