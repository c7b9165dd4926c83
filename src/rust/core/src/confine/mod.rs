//! What a confined command sees and may do.

pub mod system;
