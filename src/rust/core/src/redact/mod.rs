//! Masking secrets in text.

pub mod names;
pub mod patterns;
pub mod shapes;
#[cfg(test)]
mod testing;
