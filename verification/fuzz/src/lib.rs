//! What the fuzz targets share.

/// The input cut into packets: a length of two bytes, big-endian, and as many bytes each, the last as long as the input lasts.
pub fn packets(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (length, tail) = rest.split_first_chunk::<2>()?;
        let (packet, tail) = tail.split_at(usize::from(u16::from_be_bytes(*length)).min(tail.len()));
        rest = tail;
        Some(packet)
    })
}
