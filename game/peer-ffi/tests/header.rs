//! The header that games include is made of this crate, and says what it says.

use std::path::Path;

#[test]
fn the_header_is_the_one_that_cbindgen_makes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    cbindgen::Builder::new().with_crate(folder).with_config(config).generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let file = folder.join("include/mainstay_peer.h");
    if std::env::var_os("MAINSTAY_WRITE_HEADER").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!(
        kept, made,
        "MAINSTAY_WRITE_HEADER=1 cargo test -p mainstay-peer-ffi --test header rewrites it"
    );
}
