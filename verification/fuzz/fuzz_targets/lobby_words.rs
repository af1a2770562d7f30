//! Feeds libFuzzer's inputs to [`mainstay_fuzz::lobby_words`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mainstay_fuzz::lobby_words::run(bytes));
