//! The only change of a catalog's durable state, and the shortest story that rebuilds it.

use alloc::vec::Vec;

use mainstay_core::Timestamp;
use mainstay_core::slot::Spec;

use super::{Build, Catalog, CatalogEvent, Revision, Written};

impl Catalog {
    pub(super) fn apply_event(&mut self, at: Timestamp, event: &CatalogEvent) {
        match event {
            CatalogEvent::BuildDeclared { id, declared } => {
                let release = self.builds.get(&declared.name).and_then(|known| known.release);
                let build = Build { id: *id, declared: declared.clone(), release };
                self.builds.insert(declared.name.clone(), build);
                self.counters.builds = self.counters.builds.max(id.counter());
                write(self.builds_written.entry(*id).or_insert(Written { created: at, updated: at }), at);
            }
            CatalogEvent::ConfigurationDeclared(spec) => {
                let id = spec.configuration.id;
                self.configurations.insert(spec.name.clone(), Spec::clone(spec));
                self.counters.configurations = self.counters.configurations.max(id.counter());
                let written = self.configurations_written.entry(id);
                write(written.or_insert(Written { created: at, updated: at }), at);
            }
            CatalogEvent::FleetDeclared(spec) => {
                self.touched.insert(spec.number);
                self.counters.fleets = self.counters.fleets.max(spec.number.get());
                self.fleets.insert(spec.number, spec.clone());
            }
            CatalogEvent::CredentialAdmitted(known) => {
                self.credentials.insert(known.key.clone(), known.clone());
            }
            CatalogEvent::CredentialRevoked(key) => {
                self.credentials.remove(key);
            }
            CatalogEvent::BuildReleased { id, release } => {
                if let Some(build) = self.builds.values_mut().find(|build| build.id == *id) {
                    build.release = Some(*release);
                }
            }
            CatalogEvent::BuildDeleted(id) => {
                self.builds.retain(|_, build| build.id != *id);
                self.builds_written.remove(id);
            }
            CatalogEvent::ConfigurationDeleted(id) => {
                self.configurations.retain(|_, spec| spec.configuration.id != *id);
                self.configurations_written.remove(id);
            }
            CatalogEvent::FleetDeleted(number) => {
                self.fleets.remove(number);
                self.acknowledged.remove(number);
                self.touched.insert(*number);
            }
            CatalogEvent::CountersKept(counters) => {
                let kept = &mut self.counters;
                kept.builds = kept.builds.max(counters.builds);
                kept.configurations = kept.configurations.max(counters.configurations);
                kept.fleets = kept.fleets.max(counters.fleets);
            }
            CatalogEvent::Revised { number, by } => {
                self.revision = Revision { number: *number, by: by.clone(), at };
            }
            CatalogEvent::Admission(event) => self.admission.apply(at, event),
            CatalogEvent::StartTaken(sha256) => self.start_taken = Some(*sha256),
        }
    }

    /// What was written more than once is told twice, so that both its times are there again.
    pub(super) fn whole_story(&self) -> Vec<(Timestamp, CatalogEvent)> {
        let mut story = Vec::new();
        for build in self.builds.values() {
            let declared = || CatalogEvent::BuildDeclared { id: build.id, declared: build.declared.clone() };
            tell(&mut story, self.build_written(build.id), declared);
            if let Some(release) = build.release {
                story.push((Timestamp::EPOCH, CatalogEvent::BuildReleased { id: build.id, release }));
            }
        }
        for spec in self.configurations.values() {
            let declared = || CatalogEvent::ConfigurationDeclared(spec.clone().into());
            tell(&mut story, self.configuration_written(spec.configuration.id), declared);
        }
        let fleets = self.fleets.values().map(|spec| CatalogEvent::FleetDeclared(spec.clone()));
        let credentials =
            self.credentials.values().map(|known| CatalogEvent::CredentialAdmitted(known.clone()));
        let admission = self.admission.story().map(CatalogEvent::Admission);
        story.extend(fleets.chain(credentials).chain(admission).map(|event| (Timestamp::EPOCH, event)));
        if self.revision.number > 0 {
            story.push((Timestamp::EPOCH, CatalogEvent::CountersKept(self.counters)));
            let Revision { number, by, at } = &self.revision;
            story.push((*at, CatalogEvent::Revised { number: *number, by: by.clone() }));
        }
        story.extend(self.start_taken.map(|sha256| (Timestamp::EPOCH, CatalogEvent::StartTaken(sha256))));
        story
    }
}

fn write(written: &mut Written, at: Timestamp) {
    written.updated = at;
}

fn tell(
    story: &mut Vec<(Timestamp, CatalogEvent)>,
    written: Option<Written>,
    event: impl Fn() -> CatalogEvent,
) {
    let Written { created, updated } =
        written.unwrap_or(Written { created: Timestamp::EPOCH, updated: Timestamp::EPOCH });
    story.push((created, event()));
    if updated != created {
        story.push((updated, event()));
    }
}
