//! Supervises real processes on one machine.
