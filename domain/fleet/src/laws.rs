//! What is always true of a fleet. Run by tests, by the simulator after every event, and by `mainstay doctor`.
