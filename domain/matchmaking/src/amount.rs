//! Numbers that rules compare: decimals of six places, so that sums and bounds are exact and `0.8 - 0.6` is `0.2`.

use core::fmt;
use core::ops::{Add, Sub};

/// A number with six decimal places, between -[`Amount::MAX`] and [`Amount::MAX`].
///
/// Binary fractions would refuse a pair that stands exactly at a limit written in decimals (0.8 and 0.6 are further apart
/// than 0.2 in `f64`), and their sums depend on the order of the players.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Amount(i64);

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// One.
    pub const ONE: Self = Self(MICROS);
    /// The largest: ten thousand million. A hundred players of it, and an allowed difference of it besides, stay far
    /// below what an `i64` of millionths holds. Unix seconds fit; Unix milliseconds do not.
    pub const MAX: Self = Self(10_000_000_000 * MICROS);

    /// The nearest amount to a number; `None` for what is no number, or lies beyond [`Amount::MAX`].
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the bounds are checked before")]
    pub fn from_f64(number: f64) -> Option<Self> {
        let scaled = number * MICROS as f64;
        let bound = Self::MAX.0 as f64;
        if !(-bound..=bound).contains(&scaled) {
            return None;
        }
        Some(Self(if scaled < 0.0 { scaled - 0.5 } else { scaled + 0.5 } as i64))
    }

    /// A whole number.
    #[must_use]
    pub const fn whole(number: i32) -> Self {
        Self(number as i64 * MICROS)
    }

    /// From millionths. Clamped to what an amount may be.
    #[must_use]
    pub const fn from_millionths(millionths: i64) -> Self {
        match millionths {
            below if below < -Self::MAX.0 => Self(-Self::MAX.0),
            above if above > Self::MAX.0 => Self::MAX,
            within => Self(within),
        }
    }

    /// In millionths.
    #[must_use]
    pub const fn millionths(self) -> i64 {
        self.0
    }

    /// As the nearest binary number: for distances and for showing, never for comparing with a limit.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / MICROS as f64
    }
}

/// How many millionths one is.
const MICROS: i64 = 1_000_000;

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::from_millionths(self.0 + other.0)
    }
}

impl Sub for Amount {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::from_millionths(self.0 - other.0)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_f64(), f)
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_what_they_are_written_as() {
        let of = |number| Amount::from_f64(number).unwrap();
        assert_eq!(of(0.8) - of(0.6), of(0.2));
        assert_eq!(of(-0.0000006), Amount::from_millionths(-1));
        assert_eq!(of(16.0), Amount::whole(16));
    }

    #[test]
    fn what_is_no_number_or_too_large_is_none() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e11, -1e11] {
            assert_eq!(Amount::from_f64(number), None, "{number}");
        }
        assert_eq!(Amount::MAX + Amount::ONE, Amount::MAX);
    }
}
