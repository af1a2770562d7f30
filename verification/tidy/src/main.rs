//! Writes the conformance table anew.

use mainstay_tidy::conformance;
use mainstay_tidy::tree::Tree;

fn main() -> Result<(), String> {
    let tree = Tree::read()?;
    let table = conformance::table(&tree)?;
    let path = tree.root.join(conformance::TABLE);
    std::fs::write(&path, table).map_err(|error| format!("{}: {error}", path.display()))
}
