//! Has the linker pack the addresses that the loader fills in at the start, where the C library can read that: the names
//! of time zones alone are 60,000 of them, a megabyte to read and to keep in memory.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if is_for_this_machine() && glibc_minor_version().is_some_and(|minor| minor >= 36) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

#[expect(clippy::disallowed_methods, reason = "Cargo tells a build script by the environment")]
fn is_for_this_machine() -> bool {
    let (host, target) = (std::env::var("HOST"), std::env::var("TARGET"));
    host == target && target.is_ok_and(|target| target.ends_with("-linux-gnu"))
}

fn glibc_minor_version() -> Option<u32> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let version = String::from_utf8(told.stdout).ok()?;
    version.trim().strip_prefix("glibc 2.")?.parse().ok()
}
