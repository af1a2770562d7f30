//! `deploy/systemd`, under a real systemd.

use mainstay_lab::words::Scenario;

use crate::Lab;

/// Issue 3, "Proof": "the systemd units (`KillMode=process`)".
#[test]
fn restarts_of_the_units_leave_the_games_under_the_same_pids() {
    let Some(lab) = Lab::new() else { return };
    assert_eq!(lab.held(&Scenario::Units).len(), 5);
}
