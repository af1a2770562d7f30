//! How far two tickets are from each other, by each rule that ranks (PlayFab, *Understanding rule weight in matchmaking*).
//!
//! "A distance of 0 means the tickets are a perfect match for that rule. A distance closer to 1 means the tickets are at the
//! edge of what the rule allows." Distances only order who is tried first; no distance ever lets a refused pair through.
//! A ticket that fits anyone by `MatchAny` is at distance 0 by that rule.

/// "`absoluteDifference / maxDifference`". Where nothing is allowed, 0 for equals and 1 for all others.
#[must_use]
pub fn difference(difference: f64, allowed: f64) -> f64 {
    if allowed > 0.0 {
        difference / allowed
    } else if difference > 0.0 {
        1.0
    } else {
        0.0
    }
}

/// "0 if strings match; 1 if the rule is optional and strings differ".
#[must_use]
pub fn text(equality: Equality) -> f64 {
    match equality {
        Equality::Same => 0.0,
        Equality::Different => 1.0,
    }
}

/// Whether two texts are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Equality {
    /// They are, or one ticket fits anyone.
    Same,
    /// They are not.
    Different,
}

/// "`1 / (1 + sharedItemCount)`".
#[must_use]
pub fn set(shared: u32) -> f64 {
    1.0 / (1.0 + f64::from(shared))
}

/// "`(maxTotal - (groupTotal + ticketValue)) / maxTotal`". Where the largest total is nothing, 0.
#[must_use]
pub fn total(max: f64, sum: f64) -> f64 {
    if max > 0.0 { (max - sum) / max } else { 0.0 }
}

/// "`1 / (1 + Σ qualityTerms)`" over the regions both could play in; the terms are [`quality`]'s.
#[must_use]
pub fn region(qualities: f64) -> f64 {
    1.0 / (1.0 + qualities)
}

/// How good a region is for two tickets: 1 where both are next to it, 0 where the worse stands at the limit. PlayFab says
/// "Many low-latency common regions" are near and does not publish its term; this is ours.
#[must_use]
pub fn quality(latency: u32, allowed: u32) -> f64 {
    if allowed == 0 || latency >= allowed {
        return 0.0;
    }
    f64::from(allowed - latency) / f64::from(allowed)
}
