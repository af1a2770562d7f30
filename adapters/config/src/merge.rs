//! Several files become one configuration: sections are joined by adding entries, as Unity's deploy does, and names
//! are checked across all of them.

mod servers;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::codes::{Code, Severity};
use crate::files::{FileCheck, check_files};
use crate::limits::{FILE_BYTES_MAX, FILES_MAX};
use crate::model::{
    Allocate, Build, BuildConfiguration, Config, Fleet, Lobby, Machines, Provider, QueryKind, TtlReading,
};
use crate::place::{Place, SourceText, Sourced, Sources};
use crate::problem::{Problem, quote};
use crate::read::{Check, Fields, unknown_name};
use crate::section::Section;
use crate::sections::{
    self, builds, configurations, fleets, lobbies, machines, no_effect, playfab, providers, queues,
};
use crate::tree::{self, Node};

/// A file's name, as it shall be shown and against whose folder relative paths count, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path as the person gave it.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl SourceFile {
    /// A file from its name and content.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), bytes: bytes.into() }
    }
}

/// A configuration that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The configuration.
    pub config: Config,
    /// What is probably not meant so; all of weight [`Severity::Warning`].
    pub warnings: Vec<Problem>,
}

/// Every problem of a configuration that may not be used; at least one is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// In the order of files and lines.
    pub problems: Vec<Problem>,
    /// How many more there were past [`crate::limits::PROBLEMS_MAX`].
    pub left_out: usize,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{problem}")?;
        }
        if self.left_out > 0 {
            write!(f, "\n\nand {} more problems", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

/// Reads, merges and checks files.
///
/// # Errors
/// Every problem found in any of the files, if one of them is an error. A file that is no YAML is reported once, at
/// the place where reading stopped; the others are still checked.
pub fn load(files: &[SourceFile]) -> Result<Accepted, Refused> {
    judge(read(files))
}

/// As [`load`], and the builds must exist here: what is missing of them is told together with everything else.
///
/// # Errors
/// As [`load`]; and as [`check_files`], also of what could be read of a file with other errors.
pub fn load_here(files: &[SourceFile], look: &dyn FileCheck) -> Result<Accepted, Refused> {
    let (config, mut problems, left_out) = read(files);
    problems.extend(check_files(&config, look));
    judge((config, problems, left_out))
}

/// What could be read of the files, every problem, and how many more there were.
type Read = (Config, Vec<Problem>, usize);

fn judge((config, mut problems, left_out): Read) -> Result<Accepted, Refused> {
    let order = |problem: &Problem| {
        let place = problem.marks.first().map(|mark| mark.place.clone());
        let file =
            place.as_ref().and_then(|place| config.sources.names().position(|name| *name == *place.file));
        (file, place.map(|place| (place.line, place.column)), problem.code)
    };
    problems.sort_by_key(order);
    if left_out > 0 || problems.iter().any(|problem| problem.severity() == Severity::Error) {
        return Err(Refused { problems, left_out });
    }
    Ok(Accepted { config, warnings: problems })
}

fn read(files: &[SourceFile]) -> Read {
    let (sources, early) = decode(files);
    let mut check = Check::new(&sources);
    check.problems = early;
    let mut merged = Merged::default();
    let mut roots = Vec::new();
    for source in &sources.0 {
        match tree::parse(&sources, source) {
            Ok(root) => {
                merged.add(&mut check, source, &root);
                roots.push(root);
            }
            Err(problem) => check.report(|_| *problem),
        }
    }
    merged.references(&mut check);
    let Check { mut problems, left_out, .. } = check;
    let paths = tree::Paths::find(&problems, &roots).each(&problems);
    for (problem, path) in problems.iter_mut().zip(paths) {
        problem.path.splice(0..0, path);
    }
    (merged.config(sources), problems, left_out)
}

/// Bytes to texts; files over a limit or not in UTF-8 are left out and reported.
fn decode(files: &[SourceFile]) -> (Sources, Vec<Problem>) {
    let mut texts = Vec::new();
    let mut problems = Vec::new();
    let whole = |name: &str| Place { file: Arc::from(name), line: 1, column: 1, length: 1 };
    for (index, file) in files.iter().enumerate() {
        let nothing = Sources::default();
        if index >= FILES_MAX {
            let problem = Problem::new(Code::TooBig, format!("{} files are too many", files.len()))
                .at(&nothing, &whole(&file.name), "the first one over the limit")
                .why(format!("the limit is {FILES_MAX}"))
                .fix("join some of them");
            problems.push(problem);
            break;
        }
        if file.bytes.len() > FILE_BYTES_MAX {
            let problem = Problem::new(Code::TooBig, format!("{} is too long", file.name))
                .at(&nothing, &whole(&file.name), format!("{} bytes", file.bytes.len()))
                .why(format!("the limit is {FILE_BYTES_MAX} bytes"))
                .fix("check that it is the right file, or split it");
            problems.push(problem);
            continue;
        }
        let bytes = file.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&file.bytes);
        match std::str::from_utf8(bytes) {
            Ok(text) => texts.push(Arc::new(SourceText::new(&file.name, text.to_owned()))),
            Err(error) => {
                let good = String::from_utf8_lossy(bytes).into_owned();
                let source = SourceText::new(&file.name, good);
                let place = source.place_of_byte(error.valid_up_to());
                let quoted = Sources(vec![Arc::new(source)]);
                let problem = Problem::new(Code::Syntax, format!("{} is not valid YAML", file.name))
                    .at(&quoted, &place, "reading stopped here")
                    .why(format!("byte {} is not UTF-8", error.valid_up_to()))
                    .fix("save the file as UTF-8");
                problems.push(problem);
            }
        }
    }
    (Sources(texts), problems)
}

#[derive(Default)]
struct Merged {
    builds: Section<Build>,
    configurations: Section<BuildConfiguration>,
    fleets: Section<Fleet>,
    providers: Section<Provider>,
    queues: Section<queues::Declared>,
    lobbies: Section<Lobby>,
    playfab_builds: Section<Allocate>,
    playfab_title: Option<Sourced<String>>,
    machines: Option<(Place, Machines)>,
}

impl Merged {
    fn add(&mut self, check: &mut Check<'_>, source: &SourceText, root: &Node) {
        let top = source.place(1, 1, 1);
        let Some(fields) =
            Fields::open(check, format!("the file {}", source.name), &top, root, sections::TOP)
        else {
            return;
        };
        version(check, &fields, &top);
        self.builds.add(check, "build", "builds", &fields, builds::build);
        let read = configurations::configuration;
        self.configurations.add(check, "build configuration", "buildConfigurations", &fields, read);
        self.fleets.add(check, "fleet", "fleets", &fields, fleets::fleet);
        self.providers.add(check, "provider", "providers", &fields, providers::provider);
        self.queues.add_listed(check, "queue", "queues", &fields, (queues::name, queues::queue));
        self.lobbies.add(check, "lobby service", "lobbies", &fields, lobbies::lobby);
        if let Some(playfab) = playfab::open(check, &fields) {
            self.playfab_builds.add(check, "build of playfab", "builds", &playfab, playfab::build);
            let title = playfab::title(check, &playfab);
            self.add_title(check, title);
        }
        if let Some((key, node)) = fields.get("machines") {
            if let Some((first, _)) = &self.machines {
                check.report(|sources| {
                    Problem::new(Code::DuplicateName, "machines is written in two files")
                        .at(sources, &key.place, "written again here")
                        .at(sources, first, "first written here")
                        .why("the order of its rules counts, and files have none")
                        .fix("keep machines in one file")
                });
            } else {
                self.machines = Some((key.place.clone(), machines::machines(check, key, node)));
            }
        }
    }

    fn add_title(&mut self, check: &mut Check<'_>, title: Option<Sourced<String>>) {
        let Some(title) = title else { return };
        let Some(first) = &self.playfab_title else {
            self.playfab_title = Some(title);
            return;
        };
        if let (Some(second), Some(first)) = (title.place(), first.place()) {
            check.report(|sources| {
                Problem::new(Code::DuplicateName, "titleId of playfab is written in two files")
                    .at(sources, second, "written again here")
                    .at(sources, first, "first written here")
                    .why("an instance is one title")
                    .fix("keep it in one file")
            });
        }
    }

    /// Names that point from one section to another.
    fn references(&self, check: &mut Check<'_>) {
        for configuration in self.configurations.entries.values() {
            let build = &configuration.build;
            if self.builds.lacks(&build.value) {
                check.report(|sources| {
                    let name = quote(&configuration.name.value);
                    let what = format!("build configuration {name} names a build that does not exist");
                    let problem = Problem::new(Code::UnknownBuild, what);
                    let known = self.builds.names.keys().map(String::as_str);
                    unknown_name(sources, problem, build, "no build has this name", known)
                });
            }
        }
        self.servers_are_known(check);
        self.regions_are_told_apart(check);
        for fleet in self.fleets.entries.values() {
            self.idle_ttl_is_judged(check, fleet);
            self.providers_are_known(check, fleet);
            for wanted in &fleet.build_configurations {
                if !self.configurations.lacks(&wanted.value) {
                    continue;
                }
                check.report(|sources| {
                    let name = quote(&fleet.name.value);
                    let what = format!("fleet {name} asks for a build configuration that does not exist");
                    let problem = Problem::new(Code::UnknownBuildConfiguration, what);
                    let known = self.configurations.names.keys().map(String::as_str);
                    unknown_name(sources, problem, wanted, "no build configuration has this name", known)
                });
            }
        }
    }

    fn providers_are_known(&self, check: &mut Check<'_>, fleet: &Fleet) {
        for region in fleet.regions.values() {
            let Some(wanted) = &region.provider else { continue };
            if !self.providers.lacks(&wanted.value) {
                continue;
            }
            check.report(|sources| {
                let (region, fleet) = (quote(&region.name.value), quote(&fleet.name.value));
                let what = format!("region {region} of fleet {fleet} names a provider that does not exist");
                let problem = Problem::new(Code::UnknownProvider, what);
                let known = self.providers.names.keys().map(String::as_str);
                unknown_name(sources, problem, wanted, "no provider has this name", known)
            });
        }
    }

    /// A region is the same in every fleet that names it, so a name or an alias leads to one region alone, whatever its case.
    fn regions_are_told_apart(&self, check: &mut Check<'_>) {
        let regions = || self.fleets.entries.values().flat_map(|fleet| fleet.regions.values());
        let mut known: BTreeMap<String, (String, Option<Place>)> = BTreeMap::new();
        for region in regions() {
            let name = region.name.value.to_lowercase();
            known.entry(name.clone()).or_insert((name, region.name.place().cloned()));
        }
        for region in regions() {
            let name = region.name.value.to_lowercase();
            for alias in &region.aliases {
                let text = alias.value.to_lowercase();
                let (first, first_place) =
                    known.entry(text).or_insert_with(|| (name.clone(), alias.place().cloned())).clone();
                let Some(place) = alias.place().filter(|_| first != name) else { continue };
                check.report(|sources| {
                    let what = format!("{} leads to two regions", quote(&alias.value));
                    let problem = Problem::new(Code::DuplicateName, what).at(
                        sources,
                        place,
                        format!("an alias of region {}", quote(&region.name.value)),
                    );
                    let problem = match &first_place {
                        Some(first_place) => {
                            problem.at(sources, first_place, format!("of region {} here", quote(&first)))
                        }
                        None => problem,
                    };
                    problem
                        .why("names and aliases of regions are compared without case, over all fleets")
                        .fix("take another alias")
                });
            }
        }
    }

    /// Only a query tells that nobody plays.
    fn idle_ttl_is_judged(&self, check: &mut Check<'_>, fleet: &Fleet) {
        let (Some(_), TtlReading::Idle) = (fleet.allocation_ttl.value, fleet.allocation_ttl_reading.value)
        else {
            return;
        };
        let unqueried = |known: Option<&BuildConfiguration>| {
            known.is_some_and(|configuration| configuration.query.kind.value == QueryKind::None)
        };
        let configurations =
            || fleet.build_configurations.iter().map(|name| self.configurations.entries.get(&name.value));
        let never = configurations().next().is_some() && configurations().all(unqueried);
        let (Some(place), true) = (fleet.allocation_ttl.place(), never) else { return };
        let what =
            format!("fleet {} has an idle allocationTTL that nothing judges", quote(&fleet.name.value));
        no_effect(
            check,
            what,
            place,
            "none of its build configurations has a query, which alone tells that nobody plays",
        );
    }

    fn config(self, sources: Sources) -> Config {
        let playfab_builds = self.playfab_builds.entries;
        let queues = self.queues.entries.into_iter();
        Config {
            sources,
            builds: self.builds.entries,
            build_configurations: self.configurations.entries,
            fleets: self.fleets.entries,
            machines: self.machines.map_or_else(machines::nobody, |(_, machines)| machines),
            providers: self.providers.entries,
            queues: queues.filter_map(|(name, queue)| Some((name, queue.queue(&playfab_builds)?))).collect(),
            lobbies: self.lobbies.entries,
            playfab_title: self.playfab_title,
            playfab_builds,
        }
    }
}

fn version(check: &mut Check<'_>, fields: &Fields<'_>, top: &Place) {
    let written = fields.get("version").is_some();
    let version = fields.text(check, "version");
    let (place, label) = match &version {
        Some(version) if version.value.trim() == "1.0" => return,
        Some(version) => (version.place().unwrap_or(top), "this version knows 1.0 only"),
        None if written => return,
        None => (top, "version is missing"),
    };
    check.report(|sources| {
        Problem::new(Code::Version, format!("{} is not marked as version 1.0", fields.owner))
            .at(sources, place, label)
            .why(".gsh and mainstay.yaml both are version 1.0, written as a number or a string")
            .fix("write version: 1.0 as the first line")
    });
}
