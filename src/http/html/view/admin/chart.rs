//! A number for each of some days, as bars.

use std::fmt::Write;

use askama::{Template, filters::HtmlSafe};

use super::super::super::text::{Texts, grouped};

/// A number for each of some days.
#[derive(Template)]
#[template(path = "admin/chart.html", whitespace = "minimize")]
pub(super) struct Chart {
    words: &'static str,
    total: String,
    /// For those who do not see it.
    label: String,
    /// All bars in one path. `None` if every day has none.
    path: Option<String>,
    /// What stands in the place of the bars then.
    empty: &'static str,
}

impl HtmlSafe for Chart {}

impl Chart {
    const WIDTH: u64 = 300;
    const HEIGHT: u64 = 64;

    /// The oldest day comes first.
    pub(super) fn new(t: &Texts, words: &'static str, days: &[u64]) -> Self {
        let (total, most) = (days.iter().sum(), days.iter().copied().max().unwrap_or(0));
        let (count, scale) = (days.len().max(1) as u64, most.max(1));
        let mut path = String::new();
        for (index, number) in days.iter().enumerate().filter(|(_, number)| **number > 0) {
            let left = index as u64 * Self::WIDTH / count;
            let width = (Self::WIDTH / count).saturating_sub(2).max(1);
            let height =
                (u128::from(*number) * u128::from(Self::HEIGHT) / u128::from(scale)).max(1);
            let _ = write!(path, "M{left} {}v-{height}h{width}v{height}z", Self::HEIGHT);
        }
        Self {
            words,
            total: grouped(total),
            label: t.admin.chart(words, days.len(), &grouped(total), &grouped(most)),
            path: (most > 0).then_some(path),
            empty: t.admin.none_on_any_day,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;

    #[test]
    fn the_highest_bar_fills_the_height_and_a_day_without_any_has_none() {
        let t = Texts::of(Language::English);
        let chart = Chart::new(t, "Sign-ins", &[0, 50, 100]);
        assert_eq!(chart.path.as_deref(), Some("M100 64v-32h98v32zM200 64v-64h98v64z"));
        assert_eq!(chart.total, "150");
        assert_eq!(Chart::new(t, "Sign-ins", &[0; 30]).path, None, "words say so");
        let few = Chart::new(t, "Sign-ins", &[1, u64::MAX / 2]);
        let path = few.path.unwrap();
        assert!(path.starts_with("M0 64v-1h"), "one is seen beside many: {path}");
    }
}
