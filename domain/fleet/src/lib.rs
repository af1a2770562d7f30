//! The control plane's rules: fleets, machines, servers, allocations and where they go.
