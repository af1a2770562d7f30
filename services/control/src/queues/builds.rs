//! What runs on the servers of queues that were pasted: PlayFab's builds and aliases, as this studio maps them.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_config::{Allocate, Config};
use mainstay_matchmaking::spec::{Fault, PlayFabBuild, ServerAllocation};

/// PlayFab's builds and aliases, by id, and what stands for each here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Builds(BTreeMap<String, BuildTarget>);

/// What stands for a build of PlayFab's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildTarget {
    /// A fleet, by name or id.
    pub fleet: Arc<str>,
    /// One of its build configurations, by name or id.
    pub build_configuration: Arc<str>,
}

impl FromIterator<(String, BuildTarget)> for Builds {
    fn from_iter<I: IntoIterator<Item = (String, BuildTarget)>>(builds: I) -> Self {
        Self(builds.into_iter().collect())
    }
}

impl Builds {
    /// What a configuration maps.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let target = |allocate: &Allocate| BuildTarget {
            fleet: allocate.fleet.value.as_str().into(),
            build_configuration: allocate.build_configuration.value.as_str().into(),
        };
        config.playfab_builds.iter().map(|(id, allocate)| (id.clone(), target(allocate))).collect()
    }

    /// Whether a build stands for just that.
    pub(crate) fn maps(&self, id: &str, to: &Allocate) -> bool {
        self.0.get(id).is_some_and(|known| {
            *known.fleet == *to.fleet.value && *known.build_configuration == *to.build_configuration.value
        })
    }

    /// Of what a queue's matches get their servers: by this mapping; or by a text `FLEET/BUILDCONFIGURATION`, as queues in our words
    /// are shown, so that what is shown can be set again.
    ///
    /// # Errors
    /// Where neither says.
    pub fn allocation(&self, build: Option<PlayFabBuild>) -> Result<Option<ServerAllocation>, Vec<Fault>> {
        let Some(build) = build else { return Ok(None) };
        let known = self.0.get(&**build.id());
        let stands_for =
            known.map(|known| (Arc::clone(&known.fleet), Arc::clone(&known.build_configuration)));
        let fault = || {
            let what = format!(
                "`{}` is none of the {} builds that are mapped to a fleet: add it under playfab: builds: of the file that `up` starts with, and start it again; or write FLEET/BUILDCONFIGURATION",
                build.id(),
                self.0.len()
            );
            vec![Fault { place: "BuildId".into(), what }]
        };
        build.clone().allocation(stands_for).map(Some).ok_or_else(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped() -> Builds {
        let target = BuildTarget { fleet: "arena".into(), build_configuration: "linux".into() };
        [("6a1c".to_owned(), target)].into_iter().collect()
    }

    #[test]
    fn a_build_resolves_by_the_mapping_or_by_its_own_words_else_it_is_a_fault() {
        let resolved = |build| mapped().allocation(Some(build)).map(Option::unwrap);
        let by_map = resolved(PlayFabBuild::Alias("6a1c".into())).unwrap();
        assert_eq!((&*by_map.fleet, &*by_map.build_configuration), ("arena", "linux"));
        assert_eq!(by_map.build, Some(PlayFabBuild::Alias("6a1c".into())));
        let own = resolved(PlayFabBuild::Id("f/c".into())).unwrap();
        assert_eq!((&*own.fleet, &*own.build_configuration, own.build), ("f", "c", None));
        for unknown in ["other", "/c", "f/", ""] {
            assert!(resolved(PlayFabBuild::Id(unknown.into())).is_err(), "{unknown}");
        }
        assert_eq!(mapped().allocation(None), Ok(None));
    }
}
