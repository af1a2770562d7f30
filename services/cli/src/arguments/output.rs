//! The command line of answers: how they are written, what of them, and whether they are looked at again.

use clap::{Args, ValueEnum};

/// How answers are written to standard output.
#[derive(Debug, Clone, Args)]
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
}

/// How answers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
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
    /// Who reads.
    pub const fn reader(&self) -> Reader {
        match self.format {
            Format::Table | Format::Wide => Reader::Person,
            Format::Json | Format::Jsonl | Format::Yaml | Format::Name => Reader::Program,
        }
    }
}
