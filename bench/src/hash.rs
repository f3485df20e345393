//! Argon2id by itself, with the library and the cost that Doorward has.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context;
use argon2_rust::{Algorithm, Argon2, Hasher, Params, Version, params::Memory};
use serde_json::json;

/// Hashes on as many threads as asked; prints hashes per second and milliseconds of CPU time for one
#[derive(clap::Args)]
pub(crate) struct Hash {
    /// How long
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

impl Hash {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let stop = AtomicBool::new(false);
        let started = Instant::now();
        let hash = hash(&mut hasher()?)?;
        let hashes = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..self.threads).map(|_| scope.spawn(|| hash_until(&stop))).collect();
            thread::sleep(Duration::from_secs_f64(self.seconds));
            stop.store(true, Ordering::Relaxed);
            threads
                .into_iter()
                .map(|thread| thread.join().ok().context("a thread panicked")?)
                .sum::<anyhow::Result<u32>>()
        })?;
        let rate = f64::from(hashes) / started.elapsed().as_secs_f64();
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let cpu_ms = cpu_millis()? / f64::from(hashes);
        println!("{}", json!({ "rate": rate, "cpu_ms": cpu_ms, "hash": hash }));
        Ok(())
    }
}

fn hash_until(stop: &AtomicBool) -> anyhow::Result<u32> {
    let mut hasher = hasher()?;
    let mut hashes = 0;
    while !stop.load(Ordering::Relaxed) {
        std::hint::black_box(hash(&mut hasher)?);
        hashes += 1;
    }
    Ok(hashes)
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

/// CPU time of this process, which other work on the machine does not add to.
fn cpu_millis() -> anyhow::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").context("needs Linux")?;
    let (_, fields) = stat.rsplit_once(") ").context("no name in stat")?;
    let fields: Vec<_> = fields.split(' ').collect();
    let ticks = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
    Ok(ticks * 10.0)
}
