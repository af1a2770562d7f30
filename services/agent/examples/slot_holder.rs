//! The holder as a program of its own, for the agent's tests; the `mainstay` binary branches to the same function.

fn main() -> std::process::ExitCode {
    mainstay_holder::main(std::env::args_os().skip(1))
}
