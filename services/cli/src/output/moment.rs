//! Moments as people want them: how long ago, where nobody says otherwise.

use jiff::Timestamp;

use crate::arguments::Time;

/// The shortest text that is a moment: `2026-11-23T12:00:00Z`.
const SHORTEST: usize = 20;

/// A moment, as it is wanted; nothing where the text is none.
pub fn written(text: &str, how: Time, now: Timestamp) -> Option<String> {
    // The API writes moments in one form; names that look like dates in another are names.
    if text.len() < SHORTEST || !text.ends_with('Z') || text.as_bytes().get(10) != Some(&b'T') {
        return None;
    }
    let moment: Timestamp = text.parse().ok()?;
    Some(match how {
        Time::Iso => text.to_owned(),
        Time::Unix => moment.as_second().to_string(),
        Time::Relative => relative(now.duration_since(moment).as_secs()),
    })
}

/// So many seconds ago, or in so many.
fn relative(ago: i64) -> String {
    let seconds = ago.unsigned_abs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let long = match seconds {
        0 => return "now".to_owned(),
        1..120 => format!("{seconds}s"),
        120..7_200 => format!("{minutes}m"),
        7_200..172_800 => format!("{hours}h"),
        172_800.. => format!("{days}d"),
    };
    if ago > 0 { format!("{long} ago") } else { format!("in {long}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_it_is_wanted() {
        let now = "2026-11-23T12:00:00Z".parse().unwrap();
        for (text, written_relative, unix) in [
            ("2026-11-23T12:00:00.4Z", "now", "1795435200"),
            ("2026-11-23T11:58:01Z", "119s ago", "1795435081"),
            ("2026-11-23T11:58:00Z", "2m ago", "1795435080"),
            ("2026-11-23T10:00:00.000001Z", "119m ago", "1795428000"),
            ("2026-11-22T12:00:00Z", "24h ago", "1795348800"),
            ("2026-11-01T12:00:00Z", "22d ago", "1793534400"),
            ("2026-11-23T12:00:45Z", "in 45s", "1795435245"),
        ] {
            assert_eq!(written(text, Time::Relative, now).as_deref(), Some(written_relative), "{text}");
            assert_eq!(written(text, Time::Unix, now).as_deref(), Some(unix), "{text}");
            assert_eq!(written(text, Time::Iso, now).as_deref(), Some(text));
        }
        for text in ["", "ONLINE", "2026-11-23", "a name of no moment: QTZ", "2026-13-23T12:00:00Z"] {
            assert_eq!(written(text, Time::Unix, now), None, "{text}");
        }
    }
}
