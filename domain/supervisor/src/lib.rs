//! The rules of one machine's slots: start, crash, back-off, stop.
