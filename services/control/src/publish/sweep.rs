//! When the store is swept, and what it may not lose.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mainstay_core::BuildId;
use mainstay_wire::admin::IMAGE_TO_COME;
use tokio::sync::watch;
use tokio::time::sleep;

use super::{Publisher, Unpublished, blocking};
use crate::http::raised;
use crate::shards::Fleets;
use crate::store::{InUse, Swept};

/// How often it is looked for what nothing refers to any more: what is found has lain for a day.
const EVERY: Duration = Duration::from_secs(60 * 60);

impl Publisher {
    /// Sweeps the store for as long as the control plane lives.
    pub(crate) async fn sweep(self, fleets: Fleets, mut closed: watch::Receiver<bool>) {
        loop {
            match self.sweep_once(&fleets).await {
                Ok(swept) if swept == Swept::default() => {}
                Ok(Swept { versions, files, bytes }) => {
                    tracing::info!(
                        versions,
                        files,
                        bytes,
                        "deleted from the store: nothing refers to it any more"
                    );
                }
                Err(error) => {
                    tracing::warn!(code = error.code(), %error, "the store cannot be swept; it is tried again");
                }
            }
            tokio::select! {
                () = sleep(EVERY) => {}
                () = raised(&mut closed) => return,
            }
        }
    }

    async fn sweep_once(&self, fleets: &Fleets) -> Result<Swept, Unpublished> {
        let Some(store) = self.0.store.clone() else { return Ok(Swept::default()) };
        let known = self.0.catalog.query(|catalog, _| {
            let of = |build: &mainstay_fleet::catalog::Build| {
                (build.id, build.release.map(|release| release.manifest), build.declared.folder.clone())
            };
            let builds: Vec<(BuildId, _, _)> = catalog.builds().map(of).collect();
            let folders: Vec<String> =
                catalog.configurations().map(|spec| spec.launch.folder.clone()).collect();
            (builds, folders, catalog.fleets().map(|fleet| fleet.number).collect::<Vec<_>>())
        });
        let (builds, mut folders, numbers) = known.await?;
        let open = fleets.now();
        for number in numbers {
            // One that is just being opened has servers that nobody has seen yet.
            let Some(fleet) = open.number(number) else { return Ok(Swept::default()) };
            let kept = fleet.read(|state, _| {
                state.kept_specs().map(|spec| spec.launch.folder.clone()).collect::<Vec<_>>()
            });
            folders.extend(kept.await?);
        }
        folders.extend(builds.iter().map(|(_, _, folder)| folder.clone()));
        let in_use = InUse {
            builds: builds.iter().map(|(id, _, _)| *id).collect(),
            versions: builds.iter().filter_map(|(_, manifest, _)| *manifest).collect(),
            folders: folders.iter().flat_map(|place| within(place)).collect::<BTreeSet<_>>(),
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(self.0.clock.now().unix_ms());
        blocking(move || Ok(store.sweep(&in_use, now)?)).await
    }
}

/// The folders that a build's place lies in: itself, where it is one; of an archive that was uploaded, every one above it, the
/// version's among them.
fn within(place: &str) -> Vec<PathBuf> {
    match place.strip_prefix(IMAGE_TO_COME) {
        // What follows the file's name is the image's.
        Some(archive) => Path::new(archive).ancestors().skip(1).map(Path::to_owned).collect(),
        None => vec![PathBuf::from(place)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_that_an_uploaded_image_lies_in_is_in_use() {
        let version = PathBuf::from("/data/builds/releases/3/abcd");
        for place in ["game.tar", "game.tar:v1", "images/game.tar"] {
            let place = format!("oci-archive:{}/{place}", version.display());
            assert!(within(&place).contains(&version), "{place}");
        }
        assert_eq!(within("/srv/game"), [PathBuf::from("/srv/game")]);
    }
}
