//! Feeds libFuzzer's inputs to [`mainstay_fuzz::config`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mainstay_fuzz::config::run(bytes));
