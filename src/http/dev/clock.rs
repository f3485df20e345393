//! `/dev/clock`: read, set, advance, stop and start the clock.

use axum::{extract::State, http::StatusCode};
use serde::Serialize;

use super::Control;
use crate::{
    config::parse_duration,
    dev::{InvalidTime, parse_time},
    fault::Fault,
    http::{
        Error,
        answer::NoStore,
        form::{Form, flag},
    },
};

#[derive(Serialize)]
pub(super) struct ClockState {
    time: String,
    frozen: bool,
}

/// `GET /dev/clock`
pub(super) async fn show(State(control): State<Control>) -> NoStore<ClockState> {
    let clock = control.server.clock();
    let state = ClockState { time: clock.now().to_string(), frozen: clock.is_frozen() };
    NoStore(StatusCode::OK, state)
}

/// `POST /dev/clock` with `time` or `advance`, and `frozen`. Without a time, only `frozen` changes.
pub(super) async fn set(
    State(control): State<Control>,
    mut form: Form,
) -> Result<NoStore<ClockState>, Error> {
    let clock = control.server.clock();
    let time = form.optional("time", |text| parse_time(&text).map_err(fault));
    let advance = form.optional("advance", |text| {
        let duration = parse_duration(&text)
            .ok_or(Fault::malformed("Not a number with a unit, such as 90s, 15m, 1h or 7d"))?;
        clock.later(duration).map_err(fault)
    });
    let frozen = form.parsed("frozen", flag);
    let (Ok(time), Ok(advance), Ok(frozen), Ok(())) =
        (time, advance, frozen, form.reject_misspelled())
    else {
        return Err(form.into_error());
    };
    if time.is_some() && advance.is_some() {
        let fault = Fault::malformed("Send either time or advance");
        return Err(Error::Invalid(vec![("advance".into(), fault)]));
    }
    let time = time.or(advance).unwrap_or_else(|| clock.now());
    clock.set(time, frozen.unwrap_or_else(|| clock.is_frozen()));
    control.server.apply_time().await?;
    Ok(show(State(control)).await)
}

fn fault(error: InvalidTime) -> Fault {
    Fault::malformed(format!("The result is {error}"))
}
