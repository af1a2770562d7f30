//! Libraries that must not come in, by whatever way: they need cmake, perl or a system's headers to build, and the
//! stranger's machine is bare. `deny.toml` says the same to `cargo deny`; this holds where that tool is not there.

use crate::Violation;
use crate::tree::File;

/// Library, and why not.
pub const BANNED: &[(&str, &str)] = &[
    ("aws-lc-sys", "needs cmake: rustls, quinn and tonic work with `ring`"),
    ("openssl-sys", "needs the system's OpenSSL headers: use rustls"),
    ("native-tls", "leads to OpenSSL: use rustls"),
    ("protobuf-src", "builds protoc with cmake: protox needs none"),
];

/// Banned libraries in `Cargo.lock`.
#[must_use]
pub fn violations(file: &File) -> Vec<Violation> {
    file.text
        .lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let name = line.strip_prefix("name = \"")?.strip_suffix('"')?;
            let (_, why) = BANNED.iter().find(|(banned, _)| *banned == name)?;
            Some(Violation::new(&file.path, index + 1, format!("{name} {why}")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banned_library_is_found_by_its_whole_name() {
        let text = "[[package]]\nname = \"openssl-sys\"\n[[package]]\nname = \"openssl-system\"\n".to_owned();
        let found = violations(&File { path: "Cargo.lock".to_owned(), text });
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
    }
}
