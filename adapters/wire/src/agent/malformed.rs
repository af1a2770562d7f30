//! What can be wrong with a message of the agent stream.

use mainstay_core::IdError;

/// Why a message is not one of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A field without which the message says nothing.
    #[error("{message}.{field} is missing")]
    Missing {
        /// In which message.
        message: &'static str,
        /// Which field.
        field: &'static str,
    },
    /// A field with a value that has no meaning.
    #[error("{message}.{field} is {value}, which has no meaning")]
    Meaningless {
        /// In which message.
        message: &'static str,
        /// Which field.
        field: &'static str,
        /// The value.
        value: i64,
    },
    /// A UUID of another length than 16 bytes.
    #[error("{message}.{field} has {bytes} bytes; a UUID has 16")]
    Uuid {
        /// In which message.
        message: &'static str,
        /// Which field.
        field: &'static str,
        /// How many it has.
        bytes: usize,
    },
    /// An address that is none.
    #[error("{message}.{field} is no address")]
    Address {
        /// In which message.
        message: &'static str,
        /// Which field.
        field: &'static str,
    },
    /// An id above 2^53 - 1.
    #[error("{message}.{field}")]
    Id {
        /// In which message.
        message: &'static str,
        /// Which field.
        field: &'static str,
        /// What is wrong with it.
        #[source]
        cause: IdError,
    },
    /// A list or text over its limit.
    #[error("{message}.{field} has {found} entries or bytes; at most {max} are allowed")]
    TooLong {
        /// In which message.
        message: &'static str,
        /// Which field.
        field: &'static str,
        /// How many.
        found: usize,
        /// How many may be.
        max: usize,
    },
    /// A protocol this program does not speak.
    #[error("the agent speaks protocol {found}; this control plane speaks {}", super::PROTOCOL)]
    Protocol {
        /// What it speaks.
        found: u32,
    },
}
