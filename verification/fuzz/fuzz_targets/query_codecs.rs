//! Feeds libFuzzer's inputs to [`mainstay_fuzz::query_codecs`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mainstay_fuzz::query_codecs::run(bytes));
