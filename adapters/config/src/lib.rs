//! `mainstay.yaml`: a strict superset of Unity's `.gsh` 1.0, read in one pass that finds every problem.
//!
//! Texts go in, values come out: [`load`] takes the files' bytes and returns a checked [`Config`] with its warnings,
//! or every error at once. Nothing here opens a file except [`look_on_disk`], which [`load_here`] and [`check_files`] take
//! as a parameter to see whether the builds exist.
//!
//! The way through the crate: `tree` turns YAML into nodes that know their place; `read` takes typed values out of
//! mappings and records what is wrong; `sections` builds the model, one module a section; `merge` joins the files and
//! checks names across them. `problem` renders the five parts of a problem, `codes` explains them.

mod at_start;
mod codes;
mod density;
mod exclude;
mod files;
pub mod limits;
mod merge;
mod model;
mod place;
mod problem;
mod read;
mod scalar;
mod section;
mod sections;
mod slots;
mod tree;

pub use at_start::waits_for_the_start;
pub use codes::{Code, Severity, explain};
pub use density::{megahertz, millicores};
pub use exclude::leaves_out;
pub use files::{FileCheck, Found, Private, check_files, look_on_disk};
pub use mainstay_core::density::{Bound, MachineSize, Slots};
pub use mainstay_core::{CommandLine, Piece, UnclosedQuote};
pub use merge::{Accepted, Refused, SourceFile, load, load_here};
pub use model::{
    Allocate, Architecture, Build, BuildConfiguration, BuildPath, Caps, ClaimedBy, Config, CpuLimit,
    CpuQuota, Fleet, Hardware, Image, Join, Limits, LostAllocations, Machines, PortRange, Provider, Query,
    QueryKind, QueryPort, Queue, Region, Restart, Signal, Stop, TtlReading, UsageSetting,
};
pub use place::{Origin, Place, Sourced, Sources};
pub use problem::{Mark, PlaceReport, Problem, ProblemReport};
pub use sections::configurations::{LAUNCH_PARAMETERS, SERVER_JSON_FIELDS};
pub use sections::lobbies::PASS_LIFE;
