//! Which certificates lead whom to the host of today.

use std::collections::BTreeMap;

use mainstay_migration::{
    Accepted, Arbiter, Ballot, Certificate, ChannelId, Epoch, Forged, Guarded, Root, Signature, Stamp, View,
    ViewId,
};

use crate::net::peer;

/// A session of three that peer 1 has founded, as each of them sees it.
fn three() -> [Ballot; 3] {
    let root = Root { epoch: Epoch::FIRST, host: peer(1) };
    let channel = |number: u32| ChannelId { stamp: Stamp::certified(Epoch::FIRST), number };
    let view = View {
        id: ViewId { epoch: Epoch::FIRST, version: 0 },
        host: peer(1),
        members: BTreeMap::from([1, 2, 3].map(|id| (peer(u128::from(id)), channel(id)))),
        signature: Signature::default(),
    };
    [1, 2, 3].map(|id| Ballot::<Guarded>::new(Arbiter::Majority, peer(id), root, view.clone(), &[]).unwrap())
}

/// One asks for votes in that epoch, and the other gives its own: a majority of three.
fn elected(candidate: &mut Ballot, voter: &mut Ballot, epoch: u32) -> Certificate {
    let claim = candidate.claim(Epoch(epoch)).unwrap();
    let own = candidate.own_vote().unwrap();
    assert_eq!(candidate.count(&own), None);
    let vote = voter.consider(&claim).unwrap();
    candidate.count(&vote).unwrap()
}

/// One vote made 2 the host of epoch 2, and the next made 1 the host of epoch 3 before anybody had heard of that; then epoch 4 was 2's, by the members of its epoch 2.
/// Peer 1 had gone another way, and never obeyed that one: it is told of it too, or it could not know that epoch 4 is not made up.
#[test]
fn whoever_went_another_way_is_led_to_the_host_of_today() {
    let [mut one, mut two, mut three] = three();
    let second = elected(&mut two, &mut three, 2);
    let third = elected(&mut one, &mut three, 3);
    assert_eq!(three.accept(&second), Ok(Accepted::Newer), "it has not heard of the third yet");
    let fourth = elected(&mut two, &mut three, 4);
    assert_eq!(one.accept(&fourth), Err(Forged::Gap));

    let proof = two.proof_for(third.epoch);
    assert_eq!(proof, [second, fourth]);
    assert_eq!(two.certificates_after(third.epoch), proof[1..]);
    for certificate in &proof {
        one.accept(certificate).unwrap();
    }
    assert_eq!((one.epoch(), one.host()), (Epoch(4), peer(2)));
    assert_eq!(one.host_of(Epoch(2)), Some(peer(2)), "who may have written what is left of its time");
}

/// What is known already is not said again: of a session whose hosts followed one another that is all before.
#[test]
fn whoever_went_the_same_way_is_told_of_what_came_after_alone() {
    let [mut one, mut two, mut three] = three();
    let second = elected(&mut two, &mut one, 2);
    three.accept(&second).unwrap();
    assert!(three.take_view(two.view()));
    let third = elected(&mut three, &mut two, 3);
    let all = [second, third];
    assert_eq!(three.proof_for(Epoch::FIRST), all);
    assert_eq!(three.proof_for(Epoch(2)), all[1..]);
    assert!(three.proof_for(Epoch(3)).is_empty());
}
