//! The admin API: what administrators order, one file for each kind of data. The command line and the holders of API keys use it.
//! Its types are read by the command line, too.

pub mod keys;
pub mod signing_keys;
