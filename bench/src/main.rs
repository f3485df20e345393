//! The programs of `bench/run` and `bench/count`: bare routes, a load generator, Argon2id and SQLite alone, timed
//! starts, and operations whose instructions are counted.

mod ceiling;
mod condition;
mod count;
mod hash;
mod load;
mod select;
mod start;

use clap::Parser;

#[derive(Parser)]
enum Tool {
    Ceiling(ceiling::Ceiling),
    Count(count::Count),
    Hash(hash::Hash),
    Load(load::Load),
    Select(select::Select),
    Start(start::Start),
}

fn main() -> anyhow::Result<()> {
    match Tool::parse() {
        Tool::Ceiling(ceiling) => ceiling.run(),
        Tool::Count(count) => count.run(),
        Tool::Hash(hash) => hash.run(),
        Tool::Load(load) => load.run(),
        Tool::Select(select) => select.run(),
        Tool::Start(start) => start.run(),
    }
}
