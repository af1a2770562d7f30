//! Control plane, agents, processes and callers on one seeded clock, with faults and laws.
