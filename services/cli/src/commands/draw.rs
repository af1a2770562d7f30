//! `mainstay draw`: pictures of what goes on, as SVG on standard output.
//!
//! Of a queue: who waits and for how long, a bar a ticket, and below it what its rules leave of all pairs: whether people wait
//! because nobody is there, or because of a rule.

use std::fmt::Write as _;
use std::process::ExitCode;

use jiff::Timestamp;
use serde_json::Value;

use super::every;
use super::queue::meant;
use crate::arguments::{DrawVerb, OfQueue, Output, Reader};
use crate::client::Client;
use crate::failure::Failure;
use crate::output;
use crate::target::Target;

/// How wide a picture is, in SVG's units.
const WIDTH: u32 = 800;
/// From where on bars begin: left of it is what they are of.
const LEFT: u32 = 220;
/// How high a row is.
const ROW: u32 = 18;
/// The most tickets that are drawn, those that have waited longest: more rows than fit on a page show nothing more.
const TICKETS_MAX: usize = 60;

pub fn run(verb: &DrawVerb, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    if format.reader() == Reader::Program {
        let what = "a picture is SVG, whatever -o says";
        return Err(Failure::flag(what).fix("leave -o out"));
    }
    let client = Client::of(target)?;
    match verb {
        DrawVerb::Queue { name } => {
            let path = meant(&client, &OfQueue { queue: name.clone() })?;
            let queue = client.get(&path)?;
            let tickets = every(&client, &format!("{path}/tickets"))?;
            let funnel = client.get(&format!("{path}/funnel"))?;
            output::write(&drawn(&queue, &tickets, &funnel, Timestamp::now()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A ticket that waits.
struct Waits<'a> {
    id: &'a str,
    players: usize,
    seconds: f64,
    /// How long it does in all.
    until: f64,
}

impl<'a> Waits<'a> {
    fn of(ticket: &'a Value, now: Timestamp) -> Option<Self> {
        if !ticket["ended"].is_null() {
            return None;
        }
        let at = |field: &str| ticket[field].as_str()?.parse::<Timestamp>().ok();
        let since = |then: Timestamp, from: Timestamp| then.duration_since(from).as_secs_f64().max(0.0);
        let created = at("created")?;
        Some(Self {
            id: ticket["id"].as_str()?,
            players: ticket["players"].as_array().map_or(0, Vec::len),
            seconds: since(now, created),
            until: since(at("givesUp")?, created),
        })
    }
}

/// The whole picture.
fn drawn(queue: &Value, tickets: &Value, funnel: &Value, now: Timestamp) -> String {
    let mut waits: Vec<Waits<'_>> =
        tickets.as_array().into_iter().flatten().filter_map(|ticket| Waits::of(ticket, now)).collect();
    waits.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    let open = waits.len();
    waits.truncate(TICKETS_MAX);
    let mut sheet = Sheet { body: String::new(), y: ROW };
    let name = queue["name"].as_str().unwrap_or_default();
    sheet.heading(&format!("queue {name}: {open} tickets wait, {} players", queue["playersMatching"]));
    ages(&mut sheet, &waits);
    if open > waits.len() {
        sheet.heading(&format!("and {} that came later", open - waits.len()));
    }
    narrowing(&mut sheet, funnel);
    sheet.finished()
}

/// How long each has waited, within how long it does.
fn ages(sheet: &mut Sheet, waits: &[Waits<'_>]) {
    let longest = waits.iter().map(|ticket| ticket.until.max(ticket.seconds)).fold(1.0, f64::max);
    for ticket in waits {
        let short = ticket.id.get(..8).unwrap_or(ticket.id);
        let label = format!("{short} ({})", ticket.players);
        let told = format!("{:.0} of {:.0} s", ticket.seconds, ticket.until);
        sheet.bar(&label, (ticket.seconds / longest, ticket.until / longest), &told);
    }
}

/// What each rule leaves of the pairs.
fn narrowing(sheet: &mut Sheet, funnel: &Value) {
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let pairs = number(&funnel["pairs"]);
    sheet.heading(&format!("{pairs} pairs of {} tickets; left by each rule:", funnel["tickets"]));
    for rule in funnel["rules"].as_array().into_iter().flatten() {
        let left = number(&rule["left"]);
        let label = rule["rule"].as_str().unwrap_or_default();
        let told = format!("{left}; it keeps {} apart, {} it alone", rule["apart"], rule["alone"]);
        sheet.bar(label, (left / pairs.max(1.0), 1.0), &told);
    }
}

/// A picture as it grows downward.
struct Sheet {
    body: String,
    y: u32,
}

impl Sheet {
    fn heading(&mut self, text: &str) {
        let _infallible =
            writeln!(self.body, r#"<text class="h" x="10" y="{}">{}</text>"#, self.y, escaped(text));
        self.y += ROW + ROW / 2;
    }

    /// A bar in a longer one: shares of all the room there is.
    fn bar(&mut self, label: &str, (share, of): (f64, f64), told: &str) {
        let room = f64::from(WIDTH - LEFT - 10);
        let (y, height) = (self.y - ROW + 6, ROW - 4);
        let _infallible = writeln!(
            self.body,
            r#"<text x="10" y="{base}">{label}</text><rect class="of" x="{LEFT}" y="{y}" width="{of:.1}" height="{height}"/><rect class="is" x="{LEFT}" y="{y}" width="{is:.1}" height="{height}"/><text x="{text}" y="{base}">{told}</text>"#,
            base = self.y,
            label = escaped(label),
            of = of.clamp(0.0, 1.0) * room,
            is = share.clamp(0.0, 1.0) * room,
            text = LEFT + 6,
            told = escaped(told),
        );
        self.y += ROW;
    }

    fn finished(self) -> String {
        let height = self.y + ROW;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\">\n\
             <style>text{{font:12px sans-serif;fill:#222}}.h{{font-weight:bold}}.of{{fill:#e6e6e6}}.is{{fill:#8ab4e8}}</style>\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// Text between tags: names of queues and rules are whatever a studio writes. XML knows no control characters, not even escaped.
fn escaped(text: &str) -> String {
    let is_none = |c: char| c.is_control() || ['\u{fffe}', '\u{ffff}'].contains(&c);
    text.replace(is_none, "\u{fffd}").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_picture_is_xml_whatever_its_names_are() {
        assert_eq!(
            escaped("a\u{0}<\u{1b}&\u{7f}\u{ffff}>é"),
            "a\u{fffd}&lt;\u{fffd}&amp;\u{fffd}\u{fffd}&gt;é"
        );
    }

    #[test]
    fn a_queue_is_drawn_with_who_waits_longest_first_and_what_its_rules_leave() {
        let queue = json!({ "name": "a<b", "playersMatching": 3 });
        let ticket = |id: &str, created: &str| json!({ "id": id, "created": created, "givesUp": "2026-01-01T00:02:00Z", "players": [1] });
        let mut over = ticket("over", "2026-01-01T00:00:00Z");
        over["ended"] = json!("2026-01-01T00:00:05Z");
        let tickets =
            json!([ticket("later", "2026-01-01T00:00:30Z"), ticket("earlier", "2026-01-01T00:00:00Z"), over]);
        let funnel = json!({ "tickets": 2, "pairs": 1, "rules": [{ "rule": "skill", "apart": 1, "alone": 1, "left": 0 }] });
        let picture = drawn(&queue, &tickets, &funnel, "2026-01-01T00:01:00Z".parse().unwrap());
        assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{picture}");
        let at = |text: &str| picture.find(text).unwrap_or_else(|| panic!("{text} in {picture}"));
        assert!(at("queue a&lt;b: 2 tickets wait, 3 players") < at("earlier (1)"));
        assert!(at("earlier (1)") < at("60 of 120 s") && at("60 of 120 s") < at("later (1)"));
        assert!(at("later (1)") < at("30 of 90 s") && at("30 of 90 s") < at("skill"));
        assert!(
            at("0; it keeps 1 apart, 1 it alone") > at("skill") && !picture.contains("over ("),
            "{picture}"
        );
        // Half of the two minutes that the one with most of them has.
        assert!(picture.contains("class=\"is\" x=\"220\" y=\"33\" width=\"285.0\""), "{picture}");
    }
}
