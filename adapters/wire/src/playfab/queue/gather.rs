//! How long a queue gathers those who come, as a text with its unit. PlayFab's queues know nothing like it; ours say it in whatever form
//! they come, like their regions, so that what is shown can be set again.

use mainstay_matchmaking::spec::{Fault, Gather};

/// In milliseconds, the largest first: a time is shown by the largest that makes it whole.
const UNITS: [(&str, u32); 3] = [("m", 60_000), ("s", 1_000), ("ms", 1)];

/// What is said of it, if anything is.
///
/// # Errors
/// What is no time.
pub(super) fn read(said: Option<&str>) -> Result<Gather, Fault> {
    let Some(text) = said.filter(|text| !text.is_empty() && *text != "0") else { return Ok(Gather::NONE) };
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, ms)| *ms);
    let ms = factor.and_then(|ms| number.parse::<u32>().ok()?.checked_mul(ms));
    ms.map(Gather::for_ms).ok_or_else(|| Fault {
        place: "gather".into(),
        what: format!("`{}` is no time: a whole number of ms, s or m, as 500ms or 1s", told(text)),
    })
}

/// As it is shown: nothing of a queue that does not gather.
pub(super) fn shown(gather: Gather) -> Option<String> {
    let ms = gather.ms();
    let (unit, factor) = UNITS.into_iter().find(|(_, factor)| ms.is_multiple_of(*factor))?;
    (ms > 0).then(|| format!("{}{unit}", ms / factor))
}

/// So much of a text is told again.
fn told(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_as_it_is_read() {
        for (text, ms) in [("1s", 1_000), ("250ms", 250), ("1m", 60_000), ("1500ms", 1_500), ("90s", 90_000)]
        {
            assert_eq!(read(Some(text)).unwrap().ms(), ms);
            assert_eq!(shown(Gather::for_ms(ms)).as_deref(), Some(text));
        }
        for nothing in [None, Some(""), Some("0"), Some("0s"), Some("0ms")] {
            assert_eq!(read(nothing), Ok(Gather::NONE), "{nothing:?}");
        }
        assert_eq!(shown(Gather::NONE), None);
    }

    #[test]
    fn what_is_no_time_is_told() {
        for text in ["1", "s", "1 s", "1h", "-1s", "1.5s", "99999999999s", "4000000000s", "é"] {
            let fault = read(Some(text)).unwrap_err();
            assert_eq!(fault.place, "gather");
            assert!(fault.what.contains(text), "{fault}");
        }
    }
}
