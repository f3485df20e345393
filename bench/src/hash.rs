//! Argon2id alone, with Doorward's library and cost.

use std::{
    fs,
    hint::black_box,
    time::{Duration, Instant},
};

use anyhow::Context;
use argon2_rust::{Algorithm, Argon2, Hasher, Params, Version, params::Memory};
use serde_json::json;

/// Hashes continuously; prints hashes per second and milliseconds of CPU time per hash
#[derive(clap::Args)]
pub(crate) struct Hash {
    /// The duration in seconds
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
}

impl Hash {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut hasher = hasher()?;
        // The first hash is slower, because its memory comes from the kernel.
        let hash = hash(&mut hasher)?;
        let (started, cpu_before) = (Instant::now(), cpu()?);
        let mut hashes = 0;
        while started.elapsed().as_secs_f64() < self.seconds {
            black_box(self::hash(&mut hasher)?);
            hashes += 1;
        }
        let rate = f64::from(hashes) / started.elapsed().as_secs_f64();
        let cpu_ms = (cpu()? - cpu_before).as_secs_f64() * 1000.0 / f64::from(hashes);
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        println!("{}", json!({ "rate": rate, "cpu_ms": cpu_ms, "hash": hash }));
        Ok(())
    }
}

fn hasher() -> anyhow::Result<Hasher> {
    let params = Params::builder().memory(Memory::kib(19_456)).passes(2).build()?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params).hasher())
}

fn hash(hasher: &mut Hasher) -> anyhow::Result<[u8; 32]> {
    let mut output = [0; 32];
    hasher.hash_into(b"correct horse battery", b"sixteen bytes ok", &mut output)?;
    Ok(output)
}

/// CPU time of this thread, the only one. Other work on the machine does not add to it.
fn cpu() -> anyhow::Result<Duration> {
    let stat = fs::read_to_string("/proc/self/schedstat").context("needs Linux")?;
    let nanos = stat.split(' ').next().context("schedstat is empty")?.parse()?;
    Ok(Duration::from_nanos(nanos))
}
