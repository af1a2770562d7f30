//! Single values from text: numbers, durations, sizes, ports, bytes. Each returns why it refused, as a fragment that
//! fits after "… is".

use std::time::Duration;

use jiff::SignedDuration;

/// A whole number in decimal digits; `_` may group them, as YamlDotNet allows.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let digits: String = text.trim().chars().filter(|&c| c != '_').collect();
    let digits = digits.strip_prefix('+').unwrap_or(&digits);
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok()).flatten()
}

/// A decimal number as thousandths, exactly: `0.5` is 500. More than three decimals are refused, not rounded.
pub(crate) fn thousandths(text: &str) -> Option<u64> {
    let (whole_part, decimals) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole_part.is_empty() && decimals.is_empty()
        || !digits(whole_part)
        || !digits(decimals)
        || decimals.len() > 3
    {
        return None;
    }
    let units: u64 = if whole_part.is_empty() { 0 } else { whole_part.parse().ok()? };
    let part: u64 = format!("{decimals:0<3}").parse().ok()?;
    units.checked_mul(1_000)?.checked_add(part)
}

/// YamlDotNet's booleans, which `.gsh` files are read by.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "y" => Some(true),
        "false" | "no" | "off" | "n" => Some(false),
        _ => None,
    }
}

/// A duration with its unit: `500ms`, `20s`, `1h30m`. A bare number is none, except that zero needs no unit.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let days = text.strip_suffix('d').and_then(whole).and_then(|days| days.checked_mul(86_400));
    if let Some(seconds) = days {
        return Some(Duration::from_secs(seconds));
    }
    let parsed: SignedDuration = text.parse().ok()?;
    Duration::try_from(parsed).ok()
}

/// How a duration is written back to a person.
pub(crate) fn show(duration: Duration) -> String {
    let ms = duration.as_millis();
    match ms {
        0 => "0s".into(),
        ms if ms % 86_400_000 == 0 => format!("{}d", ms / 86_400_000),
        ms if ms % 3_600_000 == 0 => format!("{}h", ms / 3_600_000),
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1_000 == 0 => format!("{}s", ms / 1_000),
        ms => format!("{ms}ms"),
    }
}

const MIB: u64 = 1 << 20;

/// Memory in bytes. A bare whole number counts MiB, as in `.gsh`; otherwise the unit is written.
pub(crate) fn memory(text: &str) -> Option<u64> {
    const UNITS: &[(&str, u64)] = &[("MiB", MIB), ("GiB", 1 << 30), ("MB", 1_000_000), ("GB", 1_000_000_000)];
    let text = text.trim();
    if let Some(mib) = whole(text) {
        return mib.checked_mul(MIB);
    }
    UNITS.iter().find_map(|&(unit, bytes)| {
        let number = thousandths(text.strip_suffix(unit)?)?;
        number.checked_mul(bytes).map(|thousandths| thousandths / 1_000)
    })
}

/// Bytes written in hexadecimal, with spaces where they help.
pub(crate) fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_ascii_whitespace())
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// `first-last`, with an optional `/udp` behind, as ports are often written.
pub(crate) fn port_range(text: &str) -> Option<(u16, u16)> {
    let text = text.trim();
    let text = text.strip_suffix("/udp").unwrap_or(text);
    let (first, last) = text.split_once('-')?;
    let port = |text: &str| whole(text).and_then(|port| u16::try_from(port).ok());
    Some((port(first)?, port(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_units() {
        let rows: &[(&str, Option<u64>)] = &[
            ("20s", Some(20_000)),
            ("500ms", Some(500)),
            ("30m", Some(1_800_000)),
            ("1h", Some(3_600_000)),
            ("1h30m", Some(5_400_000)),
            ("1h 30m", Some(5_400_000)),
            ("2d", Some(172_800_000)),
            ("0", Some(0)),
            ("0s", Some(0)),
            ("20", None),
            ("-5s", None),
            ("s", None),
            ("", None),
            ("20 bananas", None),
            ("99999999999999999999d", None),
            ("9223372036854775807h", None),
        ];
        for (text, want) in rows {
            assert_eq!(duration(text).map(|d| d.as_millis()), want.map(u128::from), "{text}");
        }
    }

    #[test]
    fn durations_are_shown_as_written() {
        for text in ["0s", "20s", "1500ms", "30m", "90m", "2h", "7d"] {
            assert_eq!(show(duration(text).unwrap()), text);
        }
    }

    #[test]
    fn memory_takes_units_and_bare_mib() {
        let rows: &[(&str, Option<u64>)] = &[
            ("512", Some(512 << 20)),
            ("512MiB", Some(512 << 20)),
            ("1.5 GiB", Some(3 << 29)),
            ("1.5GiB", Some(3 << 29)),
            ("800MB", Some(800_000_000)),
            ("2GB", Some(2_000_000_000)),
            ("1KB", None),
            ("-1", None),
            ("99999999999999999999", None),
            ("18446744073709551615", None),
        ];
        for (text, want) in rows {
            assert_eq!(memory(text), *want, "{text}");
        }
    }

    #[test]
    fn small_values() {
        assert_eq!(thousandths("0.5"), Some(500));
        assert_eq!(thousandths(".25"), Some(250));
        assert_eq!(thousandths("2"), Some(2_000));
        assert_eq!(thousandths("2."), Some(2_000));
        assert_eq!(thousandths("0.0005"), None);
        assert_eq!(thousandths("."), None);
        assert_eq!(thousandths("1e3"), None);
        assert_eq!(whole("1_000"), Some(1_000));
        assert_eq!(whole("0x10"), None);
        assert_eq!(hex("4f45 74 03"), Some(vec![0x4f, 0x45, 0x74, 0x03]));
        assert_eq!(hex("4f4"), None);
        assert_eq!(hex("zz"), None);
        assert_eq!(hex(""), Some(vec![]));
        assert_eq!(port_range("20000-20999/udp"), Some((20_000, 20_999)));
        assert_eq!(port_range("20000"), None);
        assert_eq!(port_range("1-70000"), None);
        assert_eq!(boolean("Yes"), Some(true));
        assert_eq!(boolean("maybe"), None);
    }
}
