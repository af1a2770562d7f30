//! A section over all files: its entries by name, each defined once.

use std::collections::{BTreeMap, BTreeSet};

use crate::codes::Code;
use crate::place::{Place, Sourced};
use crate::problem::{Problem, quote};
use crate::read::{Check, Fields, list, mapping};
use crate::sections;
use crate::tree::Node;

/// Entries of a section with the name each was first given, whether or not the entry itself could be read: a broken
/// build is still a known one, and reported once.
pub(crate) struct Section<T> {
    pub(crate) names: BTreeMap<String, Place>,
    pub(crate) entries: BTreeMap<String, T>,
    /// Names that cannot be used, as written: each is reported, and what refers to one is not reported again.
    refused: BTreeSet<String>,
    /// The section could not be read, so every name that seems unknown may stand in it.
    unread: bool,
}

impl<T> Default for Section<T> {
    fn default() -> Self {
        Self { names: BTreeMap::new(), entries: BTreeMap::new(), refused: BTreeSet::new(), unread: false }
    }
}

impl<T> Section<T> {
    pub(crate) fn add(
        &mut self,
        check: &mut Check<'_>,
        what: &str,
        key: &str,
        fields: &Fields<'_>,
        read: impl Fn(&mut Check<'_>, Sourced<String>, &Node, &Node) -> Option<T>,
    ) {
        let Some((section, node)) = fields.get(key) else { return };
        let Some(entries) = mapping(check, key, &section.place, node) else {
            self.unread = true;
            return;
        };
        for (key, node) in entries {
            self.add_one(check, what, (key, key), node, &read);
        }
    }

    /// As [`Section::add`], of a list whose entries have their names in them.
    pub(crate) fn add_listed(
        &mut self,
        check: &mut Check<'_>,
        what: &str,
        key: &str,
        fields: &Fields<'_>,
        (name, read): (
            impl Fn(&Node) -> Option<&Node>,
            impl Fn(&mut Check<'_>, Sourced<String>, &Node, &Node) -> Option<T>,
        ),
    ) {
        let Some((section, node)) = fields.get(key) else { return };
        for node in list(check, key, &section.place, node) {
            match name(node) {
                Some(name) => self.add_one(check, what, (name, node), node, &read),
                None => check.report(|sources| {
                    Problem::new(Code::MissingKey, format!("a {what} has no name"))
                        .at(sources, &node.place, "name is missing here")
                        .lacking("name")
                        .fix("add name: with 1 to 64 letters, digits, _ or -")
                }),
            }
        }
    }

    /// An entry, of which the name is written in one place and problems as a whole are shown at another.
    fn add_one(
        &mut self,
        check: &mut Check<'_>,
        what: &str,
        (key, whole): (&Node, &Node),
        node: &Node,
        read: &impl Fn(&mut Check<'_>, Sourced<String>, &Node, &Node) -> Option<T>,
    ) {
        let Some(name) = sections::name(check, what, key) else {
            self.refused.insert(sections::written(key));
            return;
        };
        if let Some(first) = self.names.get(&name.value) {
            check.report(|sources| {
                Problem::new(Code::DuplicateName, format!("{what} {} is defined twice", quote(&name.value)))
                    .at(sources, &key.place, "defined again here")
                    .at(sources, first, "first defined here")
                    .why("names are identities: across all files each may be defined once")
                    .fix("remove or rename one of them")
            });
            return;
        }
        self.names.insert(name.value.clone(), key.place.clone());
        let text = name.value.clone();
        if let Some(entry) = read(check, name, whole, node) {
            self.entries.insert(text, entry);
        }
    }
}

impl<T> Section<T> {
    /// Whether a name is surely none of the section's.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        !self.unread && !self.names.contains_key(name) && !self.refused.contains(name)
    }
}
