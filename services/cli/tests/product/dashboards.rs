//! The dashboard and the alerts that are shipped, against what a real instance serves after a real game: a panel of a metric that
//! is not there stays empty, and an alert of one never comes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::product::{Home, until};

const DASHBOARD: &str = include_str!("../../../../deploy/grafana/mainstay.json");
const ALERTS: &str = include_str!("../../../../deploy/prometheus/mainstay.rules.yaml");

/// What is served of a metric: the values of each of its labels.
type Labels = BTreeMap<String, BTreeSet<String>>;

/// The series of a scrape, by the names that expressions know them by.
fn series(text: &str) -> BTreeMap<String, Labels> {
    let mut all: BTreeMap<String, Labels> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
        let labels = rest.strip_prefix('{').and_then(|rest| rest.split_once("\"}")).map(|(labels, _)| labels);
        let known = all.entry(name.to_owned()).or_default();
        for label in labels.into_iter().flat_map(|labels| labels.split("\",")) {
            let (label, value) = label.split_once("=\"").unwrap();
            known.entry(label.to_owned()).or_default().insert(value.to_owned());
        }
    }
    all
}

/// What is wrong with an expression: metrics, labels and values of labels that are not served.
fn unknown(expression: &str, series: &BTreeMap<String, Labels>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut labels_of_all = BTreeSet::new();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for (at, _) in expression.match_indices(['m', 'p']) {
        let rest = &expression[at..];
        let begins = !expression[..at].ends_with(is_word);
        if !begins || !["mainstay_", "process_"].iter().any(|prefix| rest.starts_with(prefix)) {
            continue;
        }
        let name = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        let Some(labels) = series.get(name) else {
            wrong.push(name.to_owned());
            continue;
        };
        labels_of_all.extend(labels.keys().map(String::as_str));
        let picked = rest[name.len()..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
        for one in picked.into_iter().flat_map(|(picked, _)| picked.split(',')) {
            let (label, matched) = one.split_at(one.find(|c| !is_word(c)).unwrap());
            let Some(known) = labels.get(label) else {
                wrong.push(format!("{name}: {label}"));
                continue;
            };
            // What is left out need not have come yet; what is asked for has to.
            let values = matched.trim_matches(['=', '~', '"']).split('|');
            wrong.extend(
                values
                    .filter(|value| !matched.starts_with('!') && !known.contains(*value))
                    .map(|value| format!("{name}: {label}={value}")),
            );
        }
    }
    for by in expression.split("by (").skip(1) {
        let by = by.split_once(')').unwrap().0.split(", ");
        wrong.extend(by.filter(|label| !labels_of_all.contains(label)).map(|label| format!("by {label}")));
    }
    wrong
}

/// What no scrape has is found out, in every way to write it.
#[test]
fn what_an_expression_asks_for_in_vain_is_told() {
    let served = series("mainstay_x_count{a=\"b\",c=\"d\"} 1\nmainstay_x_count{a=\"e\",c=\"d\"} 2\n");
    for (expression, wrong) in [
        (r#"sum by (a) (mainstay_x_count{a="b",c="d"})"#, &[][..]),
        (r#"rate(mainstay_x_count{a=~"b|e"}[5m])"#, &[]),
        (r#"rate(mainstay_x_count{a=~"b|f"}[5m])"#, &["mainstay_x_count: a=f"]),
        (r#"mainstay_x_count{a!="f"} / mainstay_x_count{a!~"f|b"}"#, &[]),
        (r#"mainstay_x_count{f!~"b"}"#, &["mainstay_x_count: f"]),
        ("sum by (f) (mainstay_y_count) + mainstay_x_count", &["mainstay_y_count", "by f"]),
    ] {
        assert_eq!(unknown(expression, &served), wrong, "{expression}");
    }
}

/// ux.md 8.11: each row of matchmaking with its labels, and "Alerts shipped with Grafana JSON".
#[test]
fn whatever_the_dashboard_and_the_alerts_ask_for_is_served() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let played = up.run(&["demo", "play"]);
    assert!(played.status.success(), "{played:?}");
    let caller = up.caller();
    let served = until("the history has followed the crash", || {
        let text = caller.get("/metrics").text;
        let crashes = text.lines().filter(|line| line.starts_with("mainstay_server_crashes_total"));
        let is_followed = crashes.into_iter().any(|line| !line.ends_with(" 0"))
            && text.contains("mainstay_allocation_seconds_count");
        is_followed.then(|| series(&text))
    });
    let dashboard: Value = DASHBOARD.parse().unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
    let expressions: Vec<String> =
        targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect();
    assert!(expressions.len() > 20, "{}", expressions.len());
    // An alert's expression is on the lines between `expr:` and the next key.
    let alerts: Vec<String> = ALERTS
        .split("expr:")
        .skip(1)
        .map(|rest| rest.split_once("\n        for:").unwrap().0.to_owned())
        .collect();
    assert_eq!(alerts.len(), ALERTS.matches("- alert:").count());
    for expression in expressions.iter().chain(&alerts) {
        assert_eq!(unknown(expression, &served), [""; 0], "{expression}");
    }
    for (name, labels) in [
        ("queue_tickets", &["queue", "kind"][..]),
        ("queue_players", &["queue", "kind"]),
        ("queue_oldest_ticket_seconds", &["queue"]),
        ("time_to_match_seconds_bucket", &["queue", "kind", "le"]),
        ("matches_total", &["queue"]),
        ("match_players_bucket", &["queue", "le"]),
        ("match_spread_bucket", &["queue", "rule", "le"]),
        ("ticket_endings_total", &["queue", "kind", "reason"]),
        ("rule_evaluations_total", &["queue", "rule", "result"]),
        ("matcher_pass_seconds_bucket", &["queue", "le"]),
        ("backfill_filled_places_total", &["queue"]),
        ("time_to_play_seconds_bucket", &["queue", "fleet", "le"]),
    ] {
        let known = served.get(&format!("mainstay_{name}")).unwrap_or_else(|| panic!("{name}"));
        let known: BTreeSet<&str> = known.keys().map(String::as_str).collect();
        assert_eq!(known, labels.iter().copied().collect(), "{name}");
    }
}
