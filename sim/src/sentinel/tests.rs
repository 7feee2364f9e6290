//! Scripted sentinels.
