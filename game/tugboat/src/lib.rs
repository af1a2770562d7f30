//! A small authoritative real-time UDP game whose state can be checked, and the fixture that misbehaves on command.
