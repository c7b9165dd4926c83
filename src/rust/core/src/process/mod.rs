//! Running commands: R's side of it. The other side is the supervisor, a program of its own.

pub mod cloexec;
pub mod confinement;
pub mod engine;
pub mod errno;
pub mod group;
pub mod live;
pub mod lost;
pub mod mark;
pub mod output;
pub mod probe;
pub mod protocol;
pub mod socket;
pub mod spill;
pub mod status;
pub mod supervisor;
pub mod text;
