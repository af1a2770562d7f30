//! Feeds libFuzzer's inputs to [`mainstay_fuzz::playfab_bodies`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mainstay_fuzz::playfab_bodies::run(bytes));
