//! What a demo tells as it goes: a line for people, a JSON object for programs.

use std::time::Instant;

use serde_json::Value;

use crate::arguments::{Output, Reader};
use crate::failure::Failure;
use crate::output;

/// Tells what happens, each with its time from the beginning.
pub struct Told {
    began: Instant,
    format: Output,
}

impl Told {
    pub fn new(format: &Output) -> Self {
        Self { began: Instant::now(), format: format.clone() }
    }

    /// Something happened: its name and facts, and the same in words.
    pub fn say(&self, event: &str, mut facts: Value, words: &str) -> Result<(), Failure> {
        let at = self.began.elapsed();
        match self.format.reader() {
            Reader::Person => {
                let asked_for = output::asked_for(&facts, &self.format);
                let said = asked_for.as_deref().unwrap_or(words);
                output::write(&format!("{:>6.2} s  {said}\n", at.as_secs_f64()))
            }
            Reader::Program => {
                if let Some(facts) = facts.as_object_mut() {
                    facts.insert("event".into(), event.into());
                    facts.insert("atMs".into(), u64::try_from(at.as_millis()).unwrap_or(u64::MAX).into());
                }
                output::event(&facts, &self.format)
            }
        }
    }

    /// Something that only people want to know.
    pub fn aside(&self, words: &str) -> Result<(), Failure> {
        match self.format.reader() {
            Reader::Person => {
                output::write(&format!("{:>6.2} s  {words}\n", self.began.elapsed().as_secs_f64()))
            }
            Reader::Program => Ok(()),
        }
    }

    /// A heading, for people alone.
    pub fn act(&self, heading: &str) -> Result<(), Failure> {
        match self.format.reader() {
            Reader::Person => output::write(&format!("\n  {heading}\n")),
            Reader::Program => Ok(()),
        }
    }
}
