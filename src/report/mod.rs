//! Charts and diagrams. Reads results and histories only.
