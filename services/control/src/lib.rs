//! The control plane: HTTP faces, agent streams, shards.
