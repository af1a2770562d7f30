//! Feeds libFuzzer's inputs to [`mainstay_fuzz::session_inputs`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mainstay_fuzz::session_inputs::run(bytes));
