//! The certificate that the files of `deploy/tls/` name.

use std::path::{self, Path};

use anyhow::{Context, bail};

const CHAIN: &str = "/etc/ssl/doorward/fullchain.pem";
const KEY: &str = "/etc/ssl/doorward/privkey.pem";
const BOTH: &str = "/etc/ssl/doorward/fullchain-and-key.pem";

/// A certificate and its key.
pub(super) struct Certificate {
    chain: String,
    key: String,
}

impl Certificate {
    /// The files by their absolute paths, because a proxy may run elsewhere. Without `key`, the key is in the same file.
    pub(super) fn new(chain: &Path, key: Option<&Path>) -> anyhow::Result<Self> {
        Ok(Self { chain: absolute(chain)?, key: absolute(key.unwrap_or(chain))? })
    }

    pub(super) fn fill_in(&self, contents: &str) -> String {
        contents.replace(BOTH, &self.chain).replace(CHAIN, &self.chain).replace(KEY, &self.key)
    }
}

fn absolute(file: &Path) -> anyhow::Result<String> {
    let file = path::absolute(file).with_context(|| file.display().to_string())?;
    let text = file.to_str().unwrap_or_default();
    // Others would need quotes, differently in each file.
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@:".contains(c);
    if text.is_empty() || !text.chars().all(is_plain) {
        bail!("{}: choose a path of letters, digits and / . _ - + @ :", file.display());
    }
    Ok(text.to_owned())
}
