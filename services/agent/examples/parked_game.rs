//! A game in Rust that hangs: for tests of signals. The standard library handles SIGSEGV to tell a stack overflow, so the
//! first one that is sent from outside does not end it.

fn main() {
    loop {
        std::thread::park();
    }
}
