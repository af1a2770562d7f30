//! The only change of a catalog's durable state.

use mainstay_core::slot::Spec;

use super::{Build, Catalog, CatalogEvent};

impl Catalog {
    pub(super) fn apply_event(&mut self, event: &CatalogEvent) {
        match event {
            CatalogEvent::BuildDeclared { id, declared } => {
                self.builds.insert(declared.name.clone(), Build { id: *id, declared: declared.clone() });
            }
            CatalogEvent::ConfigurationDeclared(spec) => {
                self.configurations.insert(spec.name.clone(), Spec::clone(spec));
            }
            CatalogEvent::FleetDeclared(spec) => {
                self.touched.insert(spec.number);
                self.fleets.insert(spec.number, spec.clone());
            }
            CatalogEvent::CredentialAdmitted(known) => {
                self.credentials.insert(known.key.clone(), known.clone());
            }
        }
    }
}
