//! The runtime around a small state machine and a journal whose sync the test holds back.
#![cfg(test)]

mod deadline;
mod drain;
mod order;
mod pressure;
mod restart;
mod stories;
mod support;
