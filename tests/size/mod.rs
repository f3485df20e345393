//! How often a test repeats what chance decides: by default as often as is quick.

/// The number that the environment names, or the default.
#[expect(clippy::disallowed_methods, reason = "the environment chooses the length of the test")]
pub fn chosen(variable: &str, default: u64) -> u64 {
    let chosen = std::env::var(variable).ok();
    chosen.map_or(default, |number| {
        number.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {number}"))
    })
}
