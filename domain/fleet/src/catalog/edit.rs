//! Who changes the catalog and on what they based it; releases, deletions, and the revision that each change raises.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{BuildConfigurationId, BuildId, FleetNumber, Timestamp, Turn};

use super::{BuildDeclaration, Catalog, CatalogEvent, CatalogRejection, decide};

/// Who changes the catalog, and on what they based the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// A credential's key id, or the name of the part of Mainstay that does it.
    pub by: Arc<str>,
    /// The revision the change was made for; any, where it does not depend on one.
    pub seen: Option<u64>,
}

impl Edit {
    /// A change that does not depend on what was there.
    #[must_use]
    pub fn by(who: impl Into<Arc<str>>) -> Self {
        Self { by: who.into(), seen: None }
    }

    /// A change made for one revision: refused where there is a newer one.
    #[must_use]
    pub fn of_revision(who: impl Into<Arc<str>>, seen: u64) -> Self {
        Self { by: who.into(), seen: Some(seen) }
    }
}

/// How often the catalog was changed, and the last change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Revision {
    /// How often.
    pub number: u64,
    /// Who changed it last; nobody yet, where it is empty.
    pub by: Arc<str>,
    /// When.
    pub at: Timestamp,
}

/// When something was first and last written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// First.
    pub created: Timestamp,
    /// Last.
    pub updated: Timestamp,
}

/// A build's uploaded files, as they were when they became a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// Which version of the build: 1 for the first. What a caller says of it is replaced.
    pub version: u32,
    /// SHA-256 of the list of its files, under which the list is kept among the files.
    pub manifest: [u8; 32],
    /// How many files.
    pub files: u32,
    /// Their sizes together, in bytes.
    pub bytes: u64,
}

/// Something that can be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A build that no build configuration starts.
    Build(BuildId),
    /// A build configuration that no fleet has.
    Configuration(BuildConfigurationId),
    /// A fleet whose regions are offline. Whoever asks has looked that nobody plays there.
    Fleet(FleetNumber),
}

/// Refuses a change made for another revision than there is.
pub(super) fn expected(turn: &Turn<'_, Catalog>, edit: &Edit) -> Result<(), CatalogRejection> {
    let now = turn.state().revision.number;
    match edit.seen {
        Some(seen) if seen != now => Err(CatalogRejection::Outdated { seen, now }),
        Some(_) | None => Ok(()),
    }
}

/// What this turn changed is the next revision; a turn that changed nothing raises none.
pub(super) fn revise(turn: &mut Turn<'_, Catalog>, edit: &Edit) {
    if turn.emitted() > 0 {
        let number = turn.state().revision.number + 1;
        turn.emit(CatalogEvent::Revised { number, by: edit.by.clone() });
    }
}

pub(super) fn release(
    turn: &mut Turn<'_, Catalog>,
    id: BuildId,
    files: &Release,
    folder: &str,
) -> Result<(), CatalogRejection> {
    let build = turn.state().build(id).ok_or(CatalogRejection::Unknown { kind: "build" })?;
    if build.release.is_some_and(|known| known.manifest == files.manifest) {
        return Ok(());
    }
    let version = build.release.map_or(1, |known| known.version + 1);
    let declared = BuildDeclaration { folder: String::from(folder), ..build.declared.clone() };
    turn.emit(CatalogEvent::BuildReleased { id, release: Release { version, ..*files } });
    decide::rebuild(turn, &declared);
    Ok(())
}

/// Raises the floors of a build's configurations to their newest revisions, in every fleet that has them.
pub(super) fn force_rollout(turn: &mut Turn<'_, Catalog>, build: BuildId) -> Result<(), CatalogRejection> {
    turn.state().build(build).ok_or(CatalogRejection::Unknown { kind: "build" })?;
    let raised = turn.state().fleets().filter_map(|fleet| {
        let forced = || fleet.configurations.iter().filter(|spec| spec.build == build);
        let kept = fleet.floors.iter().filter(|floor| forced().all(|spec| spec.configuration.id != floor.id));
        let floors: Vec<_> = kept.copied().chain(forced().map(|spec| spec.configuration)).collect();
        (floors != fleet.floors).then(|| crate::FleetSpec {
            floors,
            revision: fleet.revision + 1,
            ..crate::FleetSpec::clone(fleet)
        })
    });
    let raised: Vec<_> = raised.collect();
    for spec in raised {
        turn.emit(CatalogEvent::FleetDeclared(Arc::new(spec)));
    }
    Ok(())
}

pub(super) fn delete(turn: &mut Turn<'_, Catalog>, entry: Entry) -> Result<(), CatalogRejection> {
    let state = turn.state();
    let event = match entry {
        Entry::Build(id) => {
            let build = state.build(id).ok_or(CatalogRejection::Unknown { kind: "build" })?;
            if let Some(user) = state.configurations().find(|spec| spec.build == id) {
                return Err(CatalogRejection::InUse {
                    what: format!("build \"{}\"", build.declared.name),
                    user: format!("build configuration \"{}\"", user.name),
                });
            }
            CatalogEvent::BuildDeleted(id)
        }
        Entry::Configuration(id) => {
            let spec =
                state.configuration(id).ok_or(CatalogRejection::Unknown { kind: "build configuration" })?;
            let has = |fleet: &&Arc<crate::FleetSpec>| fleet.configuration(id).is_some();
            if let Some(user) = state.fleets().find(has) {
                return Err(CatalogRejection::InUse {
                    what: format!("build configuration \"{}\"", spec.name),
                    user: format!("fleet \"{}\"", user.name),
                });
            }
            CatalogEvent::ConfigurationDeleted(id)
        }
        Entry::Fleet(number) => {
            let fleet = state.fleets.get(&number).ok_or(CatalogRejection::Unknown { kind: "fleet" })?;
            let online = |region: &&crate::RegionSpec| match region.opening {
                crate::RegionOpening::Online => true,
                crate::RegionOpening::Offline => false,
            };
            if let Some(region) = fleet.regions.iter().find(online) {
                return Err(CatalogRejection::FleetOnline {
                    fleet: fleet.name.clone(),
                    region: region.name.clone(),
                });
            }
            CatalogEvent::FleetDeleted(number)
        }
    };
    turn.emit(event);
    Ok(())
}
