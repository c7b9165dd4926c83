//! Masking secrets in text.

pub mod names;
mod patterns;
pub mod shapes;
#[cfg(test)]
mod testing;
