//! Every message another program sees, and its error codes.
