//! Masking secrets in text.

pub mod names;
pub mod shapes;
#[cfg(test)]
mod testing;
