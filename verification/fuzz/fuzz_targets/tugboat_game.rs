//! Feeds libFuzzer's inputs to [`mainstay_fuzz::tugboat_game`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mainstay_fuzz::tugboat_game::run(bytes));
