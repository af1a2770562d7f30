//! The command line of answers: how they are written, what of them, and whether they are looked at again.

use clap::{ArgAction, Args, ValueEnum};

/// How answers are written to standard output.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Answers")]
pub struct Output {
    /// How answers are written to standard output
    #[arg(short = 'o', long = "output", global = true, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Only these fields of each answer, as its JSON names them: id,status,server.region
    #[arg(long, global = true, value_name = "FIELD", value_delimiter = ',')]
    pub fields: Vec<String>,
    /// Look again until it ends or is interrupted: at a terminal in place, else each change is a line of JSON
    #[arg(short, long, global = true)]
    pub watch: bool,
    /// How moments stand in tables: how long ago, as the API gives them, or in seconds since 1970
    #[arg(long, global = true, value_name = "HOW", value_enum, default_value_t = Time::Relative)]
    pub time: Time,
    /// Whether states have colours, which say no more than their words; `auto`: at a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
    /// Destroy what is named without asking, also at a terminal
    #[arg(long, global = true)]
    pub yes: bool,
    /// No hints on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say on standard error what is asked, and how long each answer took; -vv: more
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

/// How moments are written for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Time {
    /// How long ago, or in how long.
    #[default]
    Relative,
    /// As the API gives them (RFC 3339).
    Iso,
    /// In seconds since 1970.
    Unix,
}

/// Whether states have colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// At a terminal.
    #[default]
    Auto,
    /// Wherever it is written to.
    Always,
    /// Nowhere.
    Never,
}

/// How answers are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For people; of a list, with every field there is.
    Wide,
    /// For programs.
    Json,
    /// For programs that read lines: of a list, a line each.
    Jsonl,
    /// For people who have it in a file, and programs that read such files.
    Yaml,
    /// Ids alone, a line each; names of what has none.
    Name,
}

/// Who reads an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Somebody at a terminal.
    Person,
    /// A program.
    Program,
}

impl Output {
    /// Says a hint on standard error, where hints are wanted.
    pub fn hint(&self, hint: &str) {
        if !self.quiet {
            eprintln!("{hint}");
        }
    }

    /// Who reads.
    pub const fn reader(&self) -> Reader {
        match self.format {
            Format::Table | Format::Wide => Reader::Person,
            Format::Json | Format::Jsonl | Format::Yaml | Format::Name => Reader::Program,
        }
    }
}
