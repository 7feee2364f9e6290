//! The scenarios that ship, embedded in the program.

/// Embeds `scenarios/NAME.toml` for each name.
macro_rules! embed {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../scenarios/", $name, ".toml")))),*]
    };
}

/// Name and text of each, sorted by name.
pub const SHIPPED: &[(&str, &str)] = embed!["kleppmann/k1",];
