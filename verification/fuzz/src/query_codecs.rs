//! Any packet to the SQP and A2S readers: what they read survives being written and read again.

use mainstay_query::sqp::{Chunks, QueryAnswer};
use mainstay_query::{a2s, sqp};

/// Feeds one input; panics where a promise is broken.
pub fn run(bytes: &[u8]) {
    let Some((asked, packet)) = bytes.split_first() else { return };
    let asked = Chunks::from_bits(*asked);
    if let Ok(answer) = QueryAnswer::decode(packet, asked) {
        // A text that was no UTF-8 grows when it is mended, so the second form may not fit any more.
        if let Ok(written) = answer.encode()
            && let Err(error) = QueryAnswer::decode(&written, Chunks::from_bits(0x1f))
        {
            // Without its first chunks an answer reads its later ones as those: only a full set says all.
            assert!(asked.bits() & 0x1f != 0x1f, "{error}: {answer:?}");
        }
    }
    if let Ok(request) = sqp::Request::decode(packet) {
        assert_eq!(sqp::Request::decode(&request.encode()), Ok(request));
    }
    if let Ok(request) = a2s::Request::decode(packet) {
        assert_eq!(a2s::Request::decode(&request.encode()), Ok(request));
    }
    if let Ok(info) = a2s::Info::decode(packet) {
        assert_eq!(a2s::Info::decode(&info.encode()), Ok(info));
    }
}
