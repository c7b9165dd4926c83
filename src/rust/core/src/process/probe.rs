//! Whether this host can enforce a confinement, and with what: found out by building it.

use std::time::{Duration, Instant};

use nix::errno::Errno;
use rustix::event::PollFlags;

use super::confinement::{Confinement, Enforcement};
use super::protocol::{Event, Stage};
use super::supervisor::{Program, Said, Supervisor};
use crate::effect::Cancel;

/// How long it may take: a directory may lie on a file system that does not answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Why a confinement cannot be enforced here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unenforceable {
    /// In words, for a person.
    pub reason: String,
    /// What could not be built; none when the supervisor could not be asked.
    pub stage: Option<Stage>,
    /// The error number of the system.
    pub errno: i32,
    /// The bound that could not be set, where it was that.
    pub bound: Option<&'static str>,
}

/// Builds a confinement in a child that executes nothing, and tells what it is made of.
///
/// # Errors
/// [`Unenforceable`]: what failed of the weakest set of mechanisms that would do, or that the answer is not
/// wanted any more.
pub fn probe(program: &Program, confinement: &Confinement, cancel: &Cancel) -> Result<Enforcement, Unenforceable> {
    let unasked = |reason: &str, errno: Errno| Unenforceable {
        reason: format!("the supervisor {reason} ({})", errno.desc()),
        stage: None,
        errno: errno as i32,
        bound: None,
    };
    let mut supervisor =
        Supervisor::probe(program, confinement, cancel).map_err(|errno| unasked("cannot be started", errno))?;
    let begun = Instant::now();
    let answer = loop {
        match supervisor.hear() {
            Said::Event(Event::Confined(enforcement)) => break Ok(enforcement),
            Said::Event(Event::Failed(stage, errno)) => break Err(unenforceable(confinement, stage, errno)),
            Said::Event(_) => {}
            Said::Gone => break Err(unasked("ended without an answer", Errno::EPIPE)),
            Said::Nothing => {
                let Some(rest) = PATIENCE.checked_sub(begun.elapsed()) else {
                    break Err(unasked("does not answer", Errno::ETIMEDOUT));
                };
                if cancel.check().is_err() {
                    break Err(unasked("was not waited for", Errno::ECANCELED));
                }
                cancel.wait_beside(&supervisor, PollFlags::IN, rest);
            }
        }
    };
    // Dropped, it is ended and waited for; it is killed where it does not answer.
    answer
}

fn unenforceable(confinement: &Confinement, stage: Stage, errno: i32) -> Unenforceable {
    // The supervisor refuses no other bound.
    let bound = (stage == Stage::Bounds && confinement.bounds.processes.is_some()).then_some("processes");
    let what = match stage {
        Stage::Namespace => "namespaces cannot be made, and nothing else would enforce all of it",
        Stage::Mount => "its directories cannot be shown alone",
        Stage::Landlock => "neither namespaces nor a recent Landlock can be had",
        Stage::Seccomp => "system calls cannot be refused",
        Stage::Privileges => "privileges cannot be given up",
        Stage::Bounds if bound.is_some() => {
            "the kernel holds no bound on `processes` for root, nor where user namespaces cannot be had"
        }
        Stage::Bounds => "a bound cannot be enforced",
        _ => "the supervisor could not build it",
    };
    Unenforceable {
        reason: match bound {
            Some(_) => what.to_owned(),
            None => format!("{what} ({})", Errno::from_raw(errno).desc()),
        },
        stage: Some(stage),
        errno,
        bound,
    }
}
