//! The durable event log: one narrow port, three adapters, and the write-ahead Writer.
