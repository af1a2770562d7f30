//! Benchmarks of the hot paths, each with a workload generator and a fixed seed, reporting median and p99 over several
//! runs. Ratios are measured side by side in one run, because machines are noisy. Nothing here is a test: no figure
//! fails a build.

/// Prints a line of a report. A reader that went away (`| head`) ends the benchmark, and what it started with it.
macro_rules! say {
    ($($line:tt)*) => {
        std::io::Write::write_fmt(&mut std::io::stdout(), format_args!("{}\n", format_args!($($line)*)))?
    };
}

mod allocate;
mod crash;
mod density;
mod hang;
mod http;
mod idle;
mod instance;
mod matching;
mod memory;
mod migrate;
mod postgres;
mod relay;
mod report;
mod scale;
mod stream;

use std::process::ExitCode;

/// A benchmark that could not be run to its end.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str =
    "usage: mainstay bench allocate [--runs N] [--seconds N] [--connections N] [--servers N] [--no-postgres]
       mainstay bench crash [--runs N]
       mainstay bench density [--servers N]
       mainstay bench hang [--runs N]
       mainstay bench idle [--game teeworlds|tugboat] [--servers N] [--seconds N] [--checks-every N]
       mainstay bench match [--million | --service] | [--queue w1…w7|eight|late] [--gather MS]
                            [--tickets N [--one-by-one] | --rate N --seconds N [--tick MS] [--games PERCENT]]
       mainstay bench memory [--servers N]
       mainstay bench migrate [--players N] [--round-trip MS] [--loss PER-MILLE] [--seed N] [-o json]
                              [[--cause power-cut|graceful] [--times N] | --cost [--seconds N] | --trace wifi [--seconds N]]
       mainstay bench relay [--pairs N] [--rate N] [--bytes N] [--seconds N] [--runs N]
       mainstay bench scale [--machines N] [--minutes N] [--rate N]";

/// Runs the benchmark that the arguments name.
#[must_use]
pub fn main(arguments: &[String]) -> ExitCode {
    if arguments.iter().any(|it| matches!(it.as_str(), "help" | "--help" | "-h")) {
        return ended(usage());
    }
    if let Some(unknown) = unknown(arguments) {
        return ended(Err(format!("{unknown}: there is no such option\n{USAGE}").into()));
    }
    ended(match arguments.split_first().map(|(name, rest)| (name.as_str(), rest)) {
        Some(("allocate", rest)) => {
            allocate::Settings::read(rest).and_then(|settings| allocate::run(&settings))
        }
        Some(("crash", rest)) => crash::run(rest),
        Some(("density", rest)) => density::run(rest),
        Some(("hang", rest)) => hang::run(rest),
        Some(("idle", rest)) => idle::run(rest),
        Some(("match", rest)) => matching::run(rest),
        Some(("memory", rest)) => memory::run(rest),
        Some(("migrate", rest)) => migrate::run(rest),
        Some(("relay", rest)) => relay::run(rest),
        Some(("scale", rest)) => scale::run(rest),
        Some(_) | None => Err(USAGE.into()),
    })
}

fn usage() -> Result<(), Failure> {
    say!("{USAGE}");
    Ok(())
}

fn ended(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if is_unread(&failure) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// An option that the usage of the benchmark does not name: what it was to change would be measured as it is.
fn unknown(arguments: &[String]) -> Option<&String> {
    let (name, options) = arguments.split_first()?;
    let usage = USAGE.split("mainstay bench ").find(|usage| usage.split_whitespace().next() == Some(name))?;
    let known: Vec<&str> = usage.split(|it: char| it.is_whitespace() || "[]()|".contains(it)).collect();
    options.iter().find(|it| it.starts_with('-') && !known.contains(&it.as_str()))
}

/// Whether nobody reads the report any more.
fn is_unread(failure: &Failure) -> bool {
    failure
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// The value of `--name N`, where it is given.
fn option(arguments: &[String], name: &str) -> Result<Option<u64>, Failure> {
    let Some(value) = word(arguments, name)? else { return Ok(None) };
    value.parse().map(Some).map_err(|error| format!("{name} {value}: {error}").into())
}

/// The value of `--name WORD`, where it is given.
fn word(arguments: &[String], name: &str) -> Result<Option<String>, Failure> {
    let Some(at) = arguments.iter().position(|argument| argument == name) else { return Ok(None) };
    Ok(Some(arguments.get(at + 1).ok_or_else(|| format!("{name} needs a value"))?.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_benchmark_does_not_know_is_refused() {
        let unknown_of =
            |line: &str| unknown(&line.split(' ').map(String::from).collect::<Vec<_>>()).cloned();
        assert_eq!(unknown_of("migrate --players 8 --cause graceful --times 3 -o json"), None);
        assert_eq!(unknown_of("match --service"), None);
        assert_eq!(unknown_of("match --million"), None);
        assert_eq!(unknown_of("match --queue w1 --rate 1000 --tick 1 --gather 100"), None);
        assert_eq!(unknown_of("crash --runs 2"), None);
        assert_eq!(unknown_of("migrate --player 8").as_deref(), Some("--player"));
        assert_eq!(unknown_of("crash --servers 2").as_deref(), Some("--servers"));
    }
}
