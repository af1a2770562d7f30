//! Golden bytes and round trips of the agent stream.
