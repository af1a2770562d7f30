//! What PlayFab's SDKs send and PlayFab takes: nulls for what is left out, and an empty object for an empty list (the Unreal
//! SDK). Absent, `null` and empty are one thing.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serializer};
use serde_json::Value;

/// A list; `null` and `{}` are an empty one.
pub(super) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(body: D) -> Result<Vec<T>, D::Error> {
    match Option::<Value>::deserialize(body)? {
        None => Ok(Vec::new()),
        Some(Value::Object(fields)) if fields.is_empty() => Ok(Vec::new()),
        Some(value) => serde_json::from_value(value).map_err(D::Error::custom),
    }
}

/// A value that has a default; `null` is it.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    body: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(body)?.unwrap_or_default())
}

/// A number, written without a fraction where it has none: clients whose field is a whole number read no `5.0`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
pub(super) fn number<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
    /// Up to here every whole number is one of `f64`.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked before")]
    let whole = (number.fract() == 0.0 && number.abs() <= EXACT).then_some(*number as i64);
    match whole {
        Some(whole) => to.serialize_i64(whole),
        None => to.serialize_f64(*number),
    }
}

/// The same, where there is one.
#[expect(clippy::ref_option, reason = "serde passes fields so")]
pub(super) fn number_or_none<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => number(value, to),
        None => to.serialize_none(),
    }
}
