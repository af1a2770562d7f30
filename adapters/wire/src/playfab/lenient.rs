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

/// A whole number, which clients whose numbers are all floating (Lua, JavaScript's own writers of some engines) write as `120.0` too;
/// `null` is none.
pub(super) fn integer<'de, D: Deserializer<'de>, T: TryFrom<i64>>(body: D) -> Result<Option<T>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(body)? else { return Ok(None) };
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked before")]
    let whole = |number: f64| (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64);
    let read = number.as_i64().or_else(|| number.as_f64().and_then(whole));
    let read = read.and_then(|number| T::try_from(number).ok());
    read.map(Some)
        .ok_or_else(|| D::Error::custom(format!("{number}: a whole number is needed, and not a larger one")))
}

/// The same, where it has a default; `null` is it.
pub(super) fn integer_or_default<'de, D: Deserializer<'de>, T: TryFrom<i64> + Default>(
    body: D,
) -> Result<T, D::Error> {
    Ok(integer(body)?.unwrap_or_default())
}

/// The same, where there has to be one.
pub(super) fn number_needed<'de, D: Deserializer<'de>, T: TryFrom<i64>>(body: D) -> Result<T, D::Error> {
    integer(body)?.ok_or_else(|| D::Error::custom("it is missing"))
}

/// Up to here every whole number is one of `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A number, written without a fraction where it has none: clients whose field is a whole number read no `5.0`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
pub(super) fn number<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
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
