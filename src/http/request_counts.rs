//! How many requests were answered, and how fast, by route and status. Requests to guards are not in here: a guard counts its
//! decisions, and measuring its time would cost as much as the decision.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::http::StatusCode;

use crate::{count::Histogram, metrics::Exposition};

/// The requests of this process.
pub(super) static REQUESTS: RequestCounts = RequestCounts(Mutex::new(BTreeMap::new()));

/// The times of answers, by the pattern of the route.
pub(super) struct RequestCounts(Mutex<BTreeMap<String, Vec<Answered>>>);

/// The answers of one route with one method and one kind of status.
struct Answered {
    method: &'static str,
    status_class: &'static str,
    times: Histogram,
}

impl RequestCounts {
    /// Counts an answer. `method` and `route` are what the log shows: a known method, and the pattern of a route.
    pub(super) fn add(
        &self,
        method: &'static str,
        route: &str,
        status: StatusCode,
        time: Duration,
    ) {
        let mut routes = self.routes();
        let answered = match routes.get_mut(route) {
            Some(answered) => answered,
            None => routes.entry(route.to_owned()).or_default(),
        };
        let status_class = status_class(status);
        let same = |other: &&Answered| other.method == method && other.status_class == status_class;
        if let Some(found) = answered.iter().find(same) {
            found.times.add(time);
        } else {
            let times = Histogram::default();
            times.add(time);
            answered.push(Answered { method, status_class, times });
        }
    }

    /// Writes the metric.
    pub(super) fn write(&self, metrics: &mut Exposition<'_>) -> fmt::Result {
        let routes = self.routes();
        let times = routes.iter().flat_map(|(route, answered)| {
            answered.iter().map(|Answered { method, status_class, times }| {
                let labels = [
                    ("http_request_method", *method),
                    ("http_route", route.as_str()),
                    ("http_response_status_class", *status_class),
                ];
                (labels, times)
            })
        });
        metrics.histograms(
            "http_server_request_duration_seconds",
            "Time to answer a request, by the pattern of the route. Requests to guards are in doorward_guard_decisions_total",
            times,
        )
    }

    fn routes(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Answered>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn status_class(status: StatusCode) -> &'static str {
    match status.as_u16() / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Format, render};

    #[test]
    fn answers_are_counted_by_method_route_and_kind_of_status() {
        let counts: &'static RequestCounts = Box::leak(Box::new(RequestCounts(Mutex::default())));
        for status in [200, 204, 404, 503, 503] {
            let status = StatusCode::from_u16(status).unwrap();
            counts.add("GET", "/api/user/{id}", status, Duration::from_millis(3));
        }
        let text = render(Format::Text, move |metrics| counts.write(metrics)).unwrap();
        for (class, count) in [("2xx", 2), ("4xx", 1), ("5xx", 2)] {
            let line = format!(
                "http_server_request_duration_seconds_count{{http_request_method=\"GET\",http_route=\"/api/user/{{id}}\",\
                 http_response_status_class=\"{class}\"}} {count}"
            );
            assert!(text.lines().any(|written| written == line), "{line} in {text}");
        }
    }
}
