//! Feeds libFuzzer's inputs to [`mainstay_fuzz::peer_streams`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mainstay_fuzz::peer_streams::run(bytes));
