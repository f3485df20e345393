//! The text that a scrape returns, in the format of OpenMetrics or in the older one of Prometheus.

use std::fmt::{self, Write as _};

use prometheus_client::{
    collector::Collector,
    encoding::{
        DescriptorEncoder, MetricEncoder, NoLabelSet,
        text::{encode, encode_registry},
    },
    metrics::MetricType,
    registry::Registry,
};

use crate::count::Histogram;

/// The format of a scrape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus.
    Text,
}

impl Format {
    /// The format that an `Accept` header asks for.
    pub(crate) fn accepted(accept: Option<&str>) -> Self {
        match accept {
            Some(accept) if accept.contains("application/openmetrics-text") => Self::OpenMetrics,
            _ => Self::Text,
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The metrics that `write` writes, as a text in this format.
///
/// # Errors
/// If `write` fails.
pub(crate) fn render(
    format: Format,
    write: impl Fn(&mut Exposition<'_>) -> fmt::Result + Send + Sync + 'static,
) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Written(write)));
    let mut text = String::new();
    match format {
        Format::OpenMetrics => encode(&mut text, &registry)?,
        Format::Text => {
            encode_registry(&mut text, &registry)?;
            text = as_prometheus_text(&text)?;
        }
    }
    Ok(text)
}

/// In OpenMetrics, the name of a counter is that of its samples without `_total`. In the format of Prometheus, both are equal.
fn as_prometheus_text(open_metrics: &str) -> Result<String, fmt::Error> {
    let mut text = String::with_capacity(open_metrics.len() + open_metrics.len() / 16);
    let mut lines = open_metrics.lines().peekable();
    while let Some(line) = lines.next() {
        let help = line.strip_prefix("# HELP ").and_then(|help| help.split_once(' '));
        let is_counter = lines
            .peek()
            .is_some_and(|next| next.starts_with("# TYPE ") && next.ends_with(" counter"));
        match (help, line.strip_suffix(" counter")) {
            (Some((name, help)), _) if is_counter => writeln!(text, "# HELP {name}_total {help}")?,
            (_, Some(head)) if head.starts_with("# TYPE ") => {
                writeln!(text, "{head}_total counter")?
            }
            _ => writeln!(text, "{line}")?,
        }
    }
    Ok(text)
}

/// Writes metrics. Every metric is written by one call.
pub(crate) struct Exposition<'e>(DescriptorEncoder<'e>);

impl Exposition<'_> {
    /// A counter. The name has no `_total`.
    pub(crate) fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.counters(name, help, [([], value)])
    }

    /// A counter for each set of labels. The name has no `_total`.
    pub(crate) fn counters<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = ([(&'static str, &'l str); N], u64)>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in values {
            with_labels(&mut metric, &labels, |metric| {
                metric.encode_counter::<NoLabelSet, _, f64>(&value, None)
            })?;
        }
        Ok(())
    }

    /// A counter of a fraction. The name has no `_total`.
    pub(super) fn fractional_counter(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    /// A gauge.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.gauges(name, help, [([], value)])
    }

    /// A gauge for each set of labels.
    pub(super) fn gauges<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = ([(&'static str, &'l str); N], u64)>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in values {
            with_labels(&mut metric, &labels, |metric| metric.encode_gauge(&value))?;
        }
        Ok(())
    }

    /// A gauge of a fraction.
    pub(super) fn fractional_gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        metric.encode_gauge(&value)
    }

    /// A histogram for each set of labels.
    pub(crate) fn histograms<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = ([(&'static str, &'l str); N], &'l Histogram)>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, times) in values {
            // The number is that of the buckets, so that the two never disagree.
            let buckets = times.buckets();
            let count = buckets.iter().map(|(_, count)| count).sum();
            with_labels(&mut metric, &labels, |metric| {
                metric.encode_histogram::<NoLabelSet>(times.sum(), count, &buckets, None)
            })?;
        }
        Ok(())
    }
}

fn with_labels<const N: usize>(
    metric: &mut MetricEncoder<'_>,
    labels: &[(&'static str, &str); N],
    write: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    match N {
        0 => write(metric),
        _ => write(&mut metric.encode_family(labels)?),
    }
}

/// Metrics that a function writes.
struct Written<F>(F);

impl<F> fmt::Debug for Written<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Written(…)")
    }
}

impl<F: Fn(&mut Exposition<'_>) -> fmt::Result + Send + Sync + 'static> Collector for Written<F> {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        (self.0)(&mut Exposition(encoder))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn write(metrics: &mut Exposition<'_>) -> fmt::Result {
        let times = Histogram::default();
        times.add(Duration::from_millis(20));
        metrics.counter("doors_opened", "Doors that were opened", 3)?;
        metrics.counters("keys", "Keys by kind", [([("kind", "a\"b")], 1)])?;
        metrics.gauge("doors", "Doors", 2)?;
        metrics.histograms("waiting_seconds", "Time", [([("door", "front")], &times)])
    }

    #[test]
    fn a_counter_has_one_name_in_the_format_of_prometheus() {
        let text = render(Format::Text, write).unwrap();
        assert!(
            text.starts_with(
                "# HELP doors_opened_total Doors that were opened\n# TYPE doors_opened_total counter\n\
                 doors_opened_total 3\n# HELP keys_total Keys by kind\n# TYPE keys_total counter\n\
                 keys_total{kind=\"a\\\"b\"} 1\n# HELP doors Doors\n# TYPE doors gauge\ndoors 2\n"
            ),
            "{text}"
        );
        assert!(!text.contains("# EOF"), "{text}");
    }

    #[test]
    fn open_metrics_ends_with_its_mark_and_names_a_counter_without_its_suffix() {
        let text = render(Format::OpenMetrics, write).unwrap();
        assert!(text.contains("# TYPE doors_opened counter\ndoors_opened_total 3\n"), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn buckets_are_cumulated_and_counted_to_infinity() {
        let text = render(Format::Text, write).unwrap();
        for line in [
            r#"waiting_seconds_bucket{le="0.01",door="front"} 0"#,
            r#"waiting_seconds_bucket{le="0.025",door="front"} 1"#,
            r#"waiting_seconds_bucket{le="+Inf",door="front"} 1"#,
            r#"waiting_seconds_count{door="front"} 1"#,
            r#"waiting_seconds_sum{door="front"} 0.02"#,
        ] {
            assert!(text.lines().any(|written| written == line), "{line} in {text}");
        }
    }

    #[test]
    fn the_accept_header_selects_the_format() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
        assert_eq!(Format::accepted(Some(prometheus)), Format::OpenMetrics);
        for other in [None, Some("*/*"), Some("text/plain")] {
            assert_eq!(Format::accepted(other), Format::Text);
        }
    }
}
