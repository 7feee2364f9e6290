//! Rates of violations, and how sure they are.
