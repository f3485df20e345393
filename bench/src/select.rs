//! Reads users by id with rusqlite alone: the lower bound of a look-up's cost.

use std::{
    io,
    path::PathBuf,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;

/// Repeatedly reads the users whose ids come from the input; prints microseconds per read
#[derive(clap::Args)]
pub(crate) struct Select {
    /// The database file
    file: PathBuf,
    /// The duration in seconds
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
}

impl Select {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let ids = io::read_to_string(io::stdin())?;
        let ids: Vec<_> = ids.split_whitespace().map(Uuid::try_parse).collect::<Result<_, _>>()?;
        let db = Connection::open_with_flags(&self.file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut select = db.prepare("SELECT name FROM users WHERE id = ?1")?;
        let started = Instant::now();
        let mut reads = 0_u32;
        while started.elapsed() < Duration::from_secs_f64(self.seconds) {
            for id in &ids {
                let name: String = select.query_row([id.as_bytes()], |row| row.get(0))?;
                std::hint::black_box(name);
                reads += 1;
            }
        }
        println!("{}", started.elapsed().as_secs_f64() * 1e6 / f64::from(reads));
        Ok(())
    }
}
