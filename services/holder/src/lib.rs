//! A tiny parent per game server, so that servers and their exit codes outlive an agent.
