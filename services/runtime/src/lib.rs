//! Runs a state machine on tokio: mailbox, turns, group commit, effects, deadlines, the one clock.
