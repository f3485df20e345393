//! How many requests were answered, and how fast, by route and status. Requests to guards are not in here: a guard counts its
//! decisions, and measuring its time would cost as much as the decision.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::count::Histogram;

/// The times of answers, by the pattern of the route.
#[derive(Default)]
pub struct RequestCounts(Mutex<BTreeMap<String, Vec<Answered>>>);

/// The answers of one route with one method and one kind of status.
pub struct Answered {
    /// The method, if it is a known one.
    pub method: &'static str,
    /// The kind of status, such as `2xx`.
    pub status_class: &'static str,
    pub times: Histogram,
}

impl RequestCounts {
    /// Counts an answer. `method` and `route` are what the log shows: a known method, and the pattern of a route.
    pub(crate) fn add(&self, method: &'static str, route: &str, status: u16, time: Duration) {
        let mut routes = self.by_route();
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

    pub(crate) fn by_route(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Answered>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn status_class(status: u16) -> &'static str {
    match status / 100 {
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

    #[test]
    fn answers_are_counted_by_method_route_and_kind_of_status() {
        let counts = RequestCounts::default();
        for status in [200, 204, 404, 503, 503] {
            counts.add("GET", "/api/user/{id}", status, Duration::from_millis(3));
        }
        let routes = counts.by_route();
        let counted: Vec<_> = routes["/api/user/{id}"]
            .iter()
            .map(|Answered { method, status_class, times }| {
                let count: u64 = times.buckets().iter().map(|(_, count)| count).sum();
                (*method, *status_class, count)
            })
            .collect();
        assert_eq!(counted, [("GET", "2xx", 2), ("GET", "4xx", 1), ("GET", "5xx", 2)]);
    }
}
