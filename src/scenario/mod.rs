//! Scenario files: the TOML schema, its validation, overrides and grids.
