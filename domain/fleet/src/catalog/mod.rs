//! The catalog: what fleets share.
