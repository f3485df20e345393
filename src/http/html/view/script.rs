//! The one script of the pages: passkeys are the one thing that browsers offer only to scripts.

use std::sync::LazyLock;

use super::style::{csp_hash, without_comments};

/// The script as it is written into the pages that ask for a passkey.
pub struct Script {
    /// The text of the `<script>` element.
    pub text: String,
    /// The source that allows it, for `script-src`.
    pub csp_hash: String,
}

/// The script, made at its first use.
pub static SCRIPT: LazyLock<Script> = LazyLock::new(|| {
    let text = minified(include_str!("../../../../assets/passkey.js"));
    Script { csp_hash: csp_hash(&text), text }
});

/// Without comments and spaces that mean nothing. No text in the script contains any of these.
fn minified(script: &str) -> String {
    let mut script = without_comments(script);
    for mark in ["=>", "=", "{", "}", ",", ":", "?", "(", ")", "[", "]", "&&", "||", "+"] {
        for spaced in [format!(" {mark} "), format!("{mark} "), format!(" {mark}")] {
            script = script.replace(&spaced, mark);
        }
    }
    script.replace("; ", ";").replace(";}", "}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_small_and_loads_nothing() {
        let Script { text, csp_hash } = &*SCRIPT;
        assert!(text.len() <= 1024, "{} bytes: {text}", text.len());
        for banned in ["</", "fetch", "XMLHttp", "import", "eval", "innerHTML", "toJSON", "  "] {
            assert!(!text.contains(banned), "{banned}: {text}");
        }
        assert_eq!(*csp_hash, super::csp_hash(text));
    }
}
