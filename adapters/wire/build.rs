//! Turns the files of `proto` into Rust with protox, a compiler of protocol buffers in Rust: no protoc is needed.

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors =
        protox::compile(["agent.proto", "builds.proto", "join.proto"], [PathBuf::from("proto")])?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
