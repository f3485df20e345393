//! Reads tokens from standard input and prints whether each is valid. `verify.rs` is the module to copy.
//!
//! `cargo run --example verify http://127.0.0.1:3000 doorward < tokens`

mod verify;

use std::{env, io};

use self::verify::Verifier;

fn main() -> anyhow::Result<()> {
    let [url, audience] = [1, 2].map(|place| env::args().nth(place).unwrap_or_default());
    let verifier = Verifier::start(&url, &audience)?;
    for token in io::stdin().lines() {
        match verifier.verify(&token?) {
            Ok(claims) => println!("good {}", claims.sub),
            Err(_) => println!("refused"),
        }
    }
    Ok(())
}
