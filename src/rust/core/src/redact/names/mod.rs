//! Values beside names that say that they are secret.
