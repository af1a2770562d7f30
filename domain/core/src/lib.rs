//! Words and laws every room shares: ids, time, generations, the state machine trait.
