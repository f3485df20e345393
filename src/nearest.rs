//! What somebody who mistyped a word probably meant.

/// The most similar of the known words, if any is similar enough.
pub(crate) fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const CLOSE: f64 = 0.75;
    known
        .map(|word| (strsim::jaro_winkler(typed, word), word))
        .filter(|(similarity, _)| *similarity >= CLOSE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, word)| word)
}
