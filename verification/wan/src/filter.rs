//! A host's own packet filter, as nftables has it: it drops what comes, and neither the network nor whoever sends is told.

use crate::shell::nft;
use crate::{Failure, Host};

/// Takes the rules away, whether there are any or not.
const NONE: &str = "table ip deaf\ndelete table ip deaf\n";
/// Its own programs still reach each other.
const DEAF: &str =
    "table ip deaf {\n chain in { type filter hook input priority 0;\n iifname != \"lo\" drop\n }\n}\n";

impl Host {
    /// Nothing that comes reaches its programs from now on, and what they send leaves: a cut in one direction.
    ///
    /// # Errors
    /// nftables refuses.
    pub fn deafen(&self) -> Result<(), Failure> {
        self.filter(&format!("{NONE}{DEAF}"))
    }

    /// It hears again.
    ///
    /// # Errors
    /// nftables refuses.
    pub fn hear(&self) -> Result<(), Failure> {
        self.filter(NONE)
    }

    fn filter(&self, rules: &str) -> Result<(), Failure> {
        nft(self.namespace(), rules).map(drop)
    }
}
