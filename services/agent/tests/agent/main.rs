//! The agent with real processes: shell scripts and, where it is installed, a stock game server, under real holders,
//! against a control plane that only says what it is told to and writes down what it hears.

mod daemon;
mod games;
mod guest;
mod host;
mod life;
mod misbehaviour;
mod outlive;
mod plane;
mod stock;
