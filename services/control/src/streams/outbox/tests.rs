//! What waits on a stream: merged, split, bounded.
