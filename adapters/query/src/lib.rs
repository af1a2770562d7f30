//! Query protocols as bytes to values: SQP, A2S, Quake 3, Teeworlds, TCP, UDP.
