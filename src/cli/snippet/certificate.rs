//! The certificate that the files with TLS name.

use std::path::{self, Path};

use anyhow::{Context, bail};

/// The files with a certificate and its key.
pub(super) struct Certificate {
    pub(super) chain: String,
    pub(super) key: String,
    /// Both in one file, which HAProxy needs.
    pub(super) chain_and_key: String,
}

impl Certificate {
    /// Where a certificate could be.
    pub(super) fn example() -> Self {
        Self {
            chain: "/etc/ssl/doorward/fullchain.pem".into(),
            key: "/etc/ssl/doorward/privkey.pem".into(),
            chain_and_key: "/etc/ssl/doorward/fullchain-and-key.pem".into(),
        }
    }

    /// The files by their absolute paths, because a proxy may run elsewhere. Without `key`, the key is in the same file.
    pub(super) fn new(chain: &Path, key: Option<&Path>) -> anyhow::Result<Self> {
        let (chain, key) = (absolute(chain)?, absolute(key.unwrap_or(chain))?);
        Ok(Self { chain_and_key: chain.clone(), chain, key })
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
