//! Giving up every privilege, for good.

use nix::errno::Errno;
use rhocap_core::process::errno::same;
use rustix::thread::{
    capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_capabilities_secure_bits, set_no_new_privs, CapabilitiesSecureBits, CapabilitySet, CapabilitySets,
};

/// Drops all capabilities, also those that root would get back by executing a file, and has no file
/// give any. An ordinary user outside a user namespace has none, and may not lower what bounds them:
/// that no file gives any is enough then.
pub fn drop_all() -> Result<(), Errno> {
    set_no_new_privs(true).map_err(same)?;
    let held = capabilities(None).map_err(same)?;
    if held.effective.contains(CapabilitySet::SETPCAP) {
        for number in 0..64 {
            match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
                Ok(()) => {}
                // One that this kernel does not know, as it knows none after it.
                Err(rustix::io::Errno::INVAL) => break,
                Err(failed) => return Err(same(failed)),
            }
        }
        set_capabilities_secure_bits(
            CapabilitiesSecureBits::NO_ROOT
                | CapabilitiesSecureBits::NO_ROOT_LOCKED
                | CapabilitiesSecureBits::NO_SETUID_FIXUP
                | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
                | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
                | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
                | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED,
        )
        .map_err(same)?;
    } else if rustix::process::geteuid().is_root() && !held.permitted.is_empty() {
        // Root would have them again after the exec.
        return Err(Errno::EPERM);
    }
    clear_ambient_capability_set().map_err(same)?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    set_capabilities(None, sets).map_err(same)
}
