//! Pages for people with a browser. They are rendered on the server and need no script.

pub(super) mod language;
pub(super) mod text;
pub(super) mod view;
