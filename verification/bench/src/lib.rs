//! Benchmarks of the hot paths, with a workload generator and a fixed seed.
