//! What every page is made of: its template and the values in it, its words, and the headers around it. Pages for people and the
//! answers of guards to browsers have these in common.

pub(super) mod answer;
pub(super) mod decision;
pub(super) mod text;
pub(super) mod view;

pub(super) use self::answer::Pages;
