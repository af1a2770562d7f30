//! Bodies that come compressed: PlayFab's SDK for Unity sends `Content-Encoding: GZIP` unless it is told not to.

use std::io::Read as _;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_ENCODING;
use flate2::bufread::MultiGzDecoder;

use super::refusal::Refusal;

/// The body as it was before it was compressed, of at most so many bytes: what would be more is not inflated further.
pub(super) fn inflated(headers: &HeaderMap, body: Bytes, max: usize) -> Result<Bytes, Refusal> {
    let mut said = headers.get_all(CONTENT_ENCODING).iter();
    let encoding = match (said.next().map(|said| said.to_str().map(str::trim)), said.next()) {
        (None, _) => return Ok(body),
        (Some(Ok(encoding)), None) => encoding,
        (Some(_), _) => return Err(Refusal::encoding("several, or none that can be read")),
    };
    match encoding.to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(body),
        // The second is the first's old name (RFC 9110, 8.4.1.3).
        "gzip" | "x-gzip" => gunzipped(&body, max),
        _other => Err(Refusal::encoding(encoding)),
    }
}

fn gunzipped(body: &[u8], max: usize) -> Result<Bytes, Refusal> {
    let mut plain = Vec::new();
    let one_more = u64::try_from(max).map_or(u64::MAX, |max| max.saturating_add(1));
    MultiGzDecoder::new(body)
        .take(one_more)
        .read_to_end(&mut plain)
        .map_err(|error| Refusal::unread(format!("the body says that it is gzip, and is not: {error}")))?;
    if plain.len() > max { Err(Refusal::too_large(None, max)) } else { Ok(plain.into()) }
}
