//! `queues`: what matches players, in our words or as PlayFab's JSON pasted whole.
//!
//! YAML contains JSON, so one reader takes both; and PlayFab's own reader, which the calls over HTTP go through too, turns
//! them into rules. So a queue means the same by whichever door it came.

mod json;

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_matchmaking::spec::{Fault, PlayFabBuild, QueueSpec, Rule, ServerAllocation, Venue};
use mainstay_wire::playfab::queue::{MatchmakingQueueConfig, shape};
use serde_json::Value as Json;

use self::json::Reading;
use crate::codes::Code;
use crate::model::{Allocate, Queue};
use crate::place::{Place, Sourced};
use crate::problem::{Problem, quote};
use crate::read::Check;
use crate::sections::playfab;
use crate::tree::{Node, Value};

/// What PlayFab's calls wrap a queue in.
const WRAPPER: &str = "MatchmakingQueue";

/// The name of a queue, as it is written.
pub(crate) fn name(node: &Node) -> Option<&Node> {
    entry(unwrapped(node), "Name")
}

/// A queue, as far as it is understood: what its servers are is judged whatever else is wrong with it.
pub(crate) fn queue(
    check: &mut Check<'_>,
    name: Sourced<String>,
    key: &Node,
    node: &Node,
) -> Option<Declared> {
    let owner = format!("queue {}", quote(&name.value));
    let before = check.problems.len() + check.left_out;
    beside_wrapper(check, &owner, node);
    let mut reading = Reading { check, owner, places: BTreeMap::new() };
    let read = reading.object(&shape::QUEUE, &key.place, unwrapped(node));
    let Reading { owner, places, .. } = reading;
    let allocate = entry_of(unwrapped(node), "Allocate");
    if allocate.is_some() {
        against_allocate(check, &owner, unwrapped(node), &read);
    }
    let Understood { spec, build, regions } =
        understood(read, allocate.map_or(Builds::Named, |_| Builds::None));
    let spec = match spec {
        Ok(spec) => {
            for rule in spec.rules.iter().filter(|rule| !rule.lets_its_default()) {
                fits_nobody(check, &owner, (&places, &key.place), rule);
            }
            Some(spec)
        }
        // A key that was refused is missing now, which is no second problem.
        Err(_) if check.problems.len() + check.left_out > before => None,
        Err(faults) => {
            for fault in faults {
                told(check, &owner, &places, &key.place, &fault);
            }
            None
        }
    };
    let servers = match (allocate, build) {
        (Some((key, node)), _) => {
            Servers::Of(playfab::allocate(check, format!("allocate of {owner}"), key, node)?)
        }
        (None, Some(build)) => Servers::Build(build),
        (None, None) => Servers::None,
    };
    Some(Declared { name, spec, regions, servers })
}

/// A queue, before it is known what its servers are.
pub(crate) struct Declared {
    pub(crate) name: Sourced<String>,
    /// `None` where it cannot match, which has been told of.
    spec: Option<QueueSpec>,
    /// The regions it names.
    pub(crate) regions: Vec<Arc<str>>,
    pub(crate) servers: Servers,
}

/// What its matches get.
pub(crate) enum Servers {
    /// No servers.
    None,
    /// Servers of a fleet.
    Of(Allocate),
    /// Servers of what stands for a build of PlayFab's.
    Build(PlayFabBuild),
}

impl Declared {
    /// The queue, once the builds that PlayFab's ids stand for are known; `None` where it cannot match.
    pub(crate) fn queue(self, builds: &BTreeMap<String, Allocate>) -> Option<Queue> {
        let Self { name, spec, regions: _, servers } = self;
        let spec = spec?;
        let allocation = match servers {
            Servers::None => None,
            Servers::Of(of) => Some(ServerAllocation {
                fleet: of.fleet.value.as_str().into(),
                build_configuration: of.build_configuration.value.as_str().into(),
                build: None,
            }),
            Servers::Build(build) => found(build, builds),
        };
        // The rest of it was checked, and this is no part of what the rules check.
        let declared = spec.declared().clone();
        let venue = allocation.map(Venue::Server).or_else(|| declared.venue.clone());
        // Beside servers in our words, PlayFab's build stands for nothing, and is not shown.
        let unread = match &venue {
            Some(Venue::Server(_)) => declared.unread.without_build(),
            Some(Venue::Session { .. }) | None => declared.unread.clone(),
        };
        let spec = QueueSpec::kept(mainstay_matchmaking::spec::Declared { venue, unread, ..declared });
        Some(Queue { name, spec: Arc::new(spec) })
    }
}

/// Of what a queue gets its servers that names a build of PlayFab's.
pub(crate) fn found(build: PlayFabBuild, builds: &BTreeMap<String, Allocate>) -> Option<ServerAllocation> {
    let known = builds.get(&**build.id());
    let stands_for =
        known.map(|it| (it.fleet.value.as_str().into(), it.build_configuration.value.as_str().into()));
    build.allocation(stands_for)
}

/// What PlayFab's reader makes of a queue.
struct Understood {
    spec: Result<QueueSpec, Vec<Fault>>,
    /// What its servers run, where it says that, also of a queue that cannot match.
    build: Option<PlayFabBuild>,
    /// The regions it names, likewise.
    regions: Vec<Arc<str>>,
}

/// Whose builds a queue's servers run.
#[derive(Clone, Copy)]
enum Builds {
    /// Those it names, as PlayFab calls them.
    Named,
    /// None of those: in our words it says what it allocates.
    None,
}

fn understood(read: serde_json::Map<String, Json>, builds: Builds) -> Understood {
    let config = match MatchmakingQueueConfig::read(Json::Object(read)) {
        Ok(config) => config,
        Err(faults) => return Understood { spec: Err(faults), build: None, regions: Vec::new() },
    };
    let build = match builds {
        Builds::Named => config.build(),
        Builds::None => Ok(None),
    };
    let named = build.clone().unwrap_or_default();
    // Every fault at once: what the servers lack, and what the rules do.
    let spec = Fault::both(build, config.spec(None)).map(|(_, spec)| spec);
    let regions = config.regions.iter().map(|region| region.as_str().into()).collect();
    Understood { spec, build: named, regions }
}

fn told(check: &mut Check<'_>, owner: &str, places: &BTreeMap<String, Place>, whole: &Place, fault: &Fault) {
    let at = places.get(&fault.place).unwrap_or(whole);
    check.report(|sources| {
        let what = if fault.place.is_empty() { String::new() } else { format!(": {}", fault.place) };
        Problem::new(Code::BadQueue, format!("{owner} cannot match as it is written{what}"))
            .at(sources, at, "does not work out")
            .why(fault.what.clone())
            .fix("change it here; docs/reference/queues.md has the limits of every field")
    });
}

/// A default that its own rule keeps from everybody is probably a slip, and at most a way to have everybody send the attribute.
fn fits_nobody(
    check: &mut Check<'_>,
    owner: &str,
    (places, whole): (&BTreeMap<String, Place>, &Place),
    rule: &Rule,
) {
    let place = format!("rule {}", rule.name);
    let at = places.get(&place).unwrap_or(whole);
    check.report(|sources| {
        let what = format!("{owner} can match nobody who lacks the attribute of {place}");
        Problem::new(Code::DefaultFitsNobody, what)
            .at(sources, at, "its default is too short for it")
            .why("the default has fewer values than have to be shared, however long a ticket waits")
            .fix("lengthen the default, lower minIntersectionSize, or let a missing attribute match anybody")
    });
}

/// What PlayFab's call has beside the queue in its wrapper.
const BESIDE_WRAPPER: [&str; 2] = ["AuthenticationContext", "CustomTags"];

/// A key beside the wrapper is none of the queue's, and would be passed over.
fn beside_wrapper(check: &mut Check<'_>, owner: &str, node: &Node) {
    let Value::Map(entries) = &node.value else { return };
    if entry(node, WRAPPER).is_none() {
        return;
    }
    for (key, _) in entries {
        let Value::Scalar(written) = &key.value else { continue };
        let name = json::first(written, char::to_ascii_uppercase);
        if name == WRAPPER || BESIDE_WRAPPER.contains(&&*name) || written.starts_with("x-") {
            continue;
        }
        check.report(|sources| {
            Problem::new(Code::UnknownKey, format!("{owner} has {} beside {WRAPPER}", quote(written)))
                .at(sources, &key.place, "not within it")
                .why(format!("a queue in {WRAPPER} is read there alone"))
                .fix(format!("move it into {WRAPPER}"))
        });
    }
}

/// What says something else of where matches are played than `allocate` does.
fn against_allocate(check: &mut Check<'_>, owner: &str, node: &Node, read: &serde_json::Map<String, Json>) {
    let against = [("Session", None), ("ServerAllocationEnabled", Some(Json::Bool(false)))];
    for (name, said) in against {
        let (Some((key, _)), Some(value)) = (entry_of(node, name), read.get(name)) else { continue };
        if matches!(value, Json::Null) || said.is_some_and(|said| *value != said) {
            continue;
        }
        let written = json::first(name, char::to_ascii_lowercase);
        check.report(|sources| {
            Problem::new(Code::BadQueue, format!("{owner} has allocate and {written}: {value}"))
                .at(sources, &key.place, "says something else of where its matches are played")
                .why("only one of them could count")
                .fix("keep one of the two")
        });
    }
}

/// The queue itself, where a paste has it in the wrapper of PlayFab's call.
fn unwrapped(node: &Node) -> &Node {
    entry(node, WRAPPER).unwrap_or(node)
}

fn entry<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    entry_of(node, name).map(|(_, node)| node)
}

fn entry_of<'n>(node: &'n Node, name: &str) -> Option<(&'n Node, &'n Node)> {
    let Value::Map(entries) = &node.value else { return None };
    let named = |key: &Node| match &key.value {
        Value::Scalar(text) => json::first(text, char::to_ascii_uppercase) == name,
        Value::Null | Value::List(_) | Value::Map(_) => false,
    };
    entries.iter().find(|(key, _)| named(key)).map(|(key, node)| (key, node))
}

#[cfg(test)]
pub(super) fn keys() -> impl Iterator<Item = String> {
    use shape::Shape;
    let shapes = shape::RULES.iter().map(|(_, shape)| *shape).chain([&shape::QUEUE]);
    shapes.flat_map(Shape::keys).map(|(key, _)| json::first(key, char::to_ascii_lowercase))
}
