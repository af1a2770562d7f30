//! The order of a list and where a page of it begins: `sortBy`, `sortDir`, `lastVal` and `lastId` (reference 3.9).
//!
//! No list of the fields is published; here they are those of the answer that have one number or text for each item. Items
//! of the same value go by their id, so that a page begins after exactly one item: the last of the page before, named by
//! its value and its id.

use serde::Serialize;
use serde_json::Value;

use super::super::failure::Unity;
use super::call::Call;

/// A field that a list can be ordered by, as answers name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// Its values are numbers.
    Number(&'static str),
    /// Its values are texts.
    Text(&'static str),
}

impl Field {
    const fn name(self) -> &'static str {
        match self {
            Self::Number(name) | Self::Text(name) => name,
        }
    }
}

/// A value of a field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Number(u64),
    Text(String),
}

/// Which way a list goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Rising,
    Falling,
}

/// What of a list that is kept by rising ids a page is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// What follows this id, from the first where there is none.
    After(Option<u64>),
    /// All of it.
    Whole,
}

/// How a list is ordered, and after which item it begins.
#[derive(Debug, Clone)]
pub(super) struct Order {
    by: Field,
    direction: Direction,
    after: Option<(Key, u64)>,
}

impl Order {
    /// What a call asks for: by id and rising, where it says nothing. The first of the fields is the id.
    pub(super) fn read(call: &Call, fields: &'static [Field]) -> Result<Self, Unity> {
        let either =
            |one: &str, other: &str| call.asked(one).or_else(|| call.asked(other)).map(str::to_owned);
        let names = || fields.iter().map(|field| field.name()).collect::<Vec<_>>().join(", ");
        let bad = |name: &str, text: &str, wanted: &str| {
            Unity::bad_query(&format!("`{name}` is `{text}`, and should be {wanted}"))
        };
        let id = *fields.first().ok_or_else(|| Unity::bad_query("this list has no order"))?;
        let by = match either("sortBy", "sort_by") {
            None => id,
            Some(text) => {
                let plain = text.replace('_', "");
                let named = fields.iter().find(|field| field.name().eq_ignore_ascii_case(&plain));
                *named.ok_or_else(|| bad("sortBy", &text, &format!("one of {}", names())))?
            }
        };
        let direction = match either("sortDir", "sort_dir") {
            None => Direction::Rising,
            Some(text) if text.eq_ignore_ascii_case("asc") => Direction::Rising,
            Some(text) if text.eq_ignore_ascii_case("desc") => Direction::Falling,
            Some(text) => return Err(bad("sortDir", &text, "ASC or DESC")),
        };
        let number = |name: &str, text: &str| text.parse::<u64>().map_err(|_| bad(name, text, "a number"));
        let last = either("lastId", "last_id").map(|text| number("lastId", &text)).transpose()?;
        let value = either("lastVal", "last_val");
        let after = match (last, value) {
            (None, None) => None,
            (Some(last), None) if by == id => Some((Key::Number(last), last)),
            (Some(last), Some(value)) => match by {
                Field::Number(_) => Some((Key::Number(number("lastVal", &value)?), last)),
                Field::Text(_) => Some((Key::Text(value), last)),
            },
            (Some(_), None) | (None, Some(_)) => {
                let why =
                    format!("a page in the order of `{}` begins after `lastVal` and `lastId`", by.name());
                return Err(Unity::bad_query(&why));
            }
        };
        Ok(Self { by, direction, after })
    }

    /// Which part of what is kept by rising ids it takes to fill a page.
    pub(super) fn part(&self, id: Field) -> Part {
        match self.direction {
            Direction::Rising if self.by == id => Part::After(self.after.as_ref().map(|(_, last)| *last)),
            Direction::Rising | Direction::Falling => Part::Whole,
        }
    }

    /// A page of these items.
    pub(super) fn page<T: Serialize>(&self, items: Vec<T>, id: impl Fn(&T) -> u64, limit: usize) -> Vec<T> {
        let mut keyed: Vec<((Key, u64), T)> =
            items.into_iter().map(|item| ((self.key(&item), id(&item)), item)).collect();
        keyed.sort_by(|(one, _), (other, _)| match self.direction {
            Direction::Rising => one.cmp(other),
            Direction::Falling => other.cmp(one),
        });
        let is_later = |at: &(Key, u64)| match (&self.after, self.direction) {
            (None, _) => true,
            (Some(after), Direction::Rising) => at > after,
            (Some(after), Direction::Falling) => at < after,
        };
        keyed.into_iter().filter(|(at, _)| is_later(at)).map(|(_, item)| item).take(limit).collect()
    }

    fn key<T: Serialize>(&self, item: &T) -> Key {
        let value = serde_json::to_value(item).ok().and_then(|item| item.get(self.by.name()).cloned());
        match (self.by, value) {
            (Field::Number(_), Some(Value::Number(number))) => Key::Number(number.as_u64().unwrap_or(0)),
            (Field::Number(_), _) => Key::Number(0),
            (Field::Text(_), Some(Value::String(text))) => Key::Text(text),
            (Field::Text(_), _) => Key::Text(String::new()),
        }
    }
}
