//! Protection against account enumeration: the time of an answer must not tell whether an address is known. The same work is done for
//! every address, but a stored user still costs some microseconds more than none. So such an answer waits for the next tick after the
//! request.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::{
    Error,
    effects::{may_mail, without_secret},
};
use crate::{
    Doorward,
    event::EventKind,
    mail::Message,
    network::Requester,
    store::Effects,
    throttle::MailPurpose,
    token::one_time::Purpose,
    user::{Email, User},
};

/// Answers leave at multiples of this time after the request.
const TICK: Duration = Duration::from_millis(25);

/// Queues the mail that anybody can ask for, to the user with this address if there is one. Writes as many rows without one.
pub(super) async fn request_mail(
    doorward: &Doorward,
    email: Email,
    requester: &Requester,
    purpose: Purpose,
    effects_for: impl FnOnce(&User) -> Effects,
) -> Result<(), Error> {
    let earlier = doorward.throttle().charge_mail_request(requester, doorward.instant())?;
    let budget = match purpose {
        Purpose::SignIn => MailPurpose::SignIn,
        _ => MailPurpose::ResetPassword,
    };
    let queue = async {
        if !may_mail(doorward, &email, budget) {
            let event = doorward.event_by_unknown(None, requester, EventKind::MailWithheld);
            doorward.events().publish(&event);
            return Ok(());
        }
        let user = doorward.store().user_by_email(&email.key()).await?;
        let effects = match user.as_ref().filter(|user| !user.disabled) {
            Some(user) => effects_for(user),
            None => {
                let language = requester.language;
                without_secret(doorward, None, purpose, &email, language, Message::Nothing)
            }
        };
        let event =
            doorward.event_by_unknown(None, requester, EventKind::MailRequested { purpose });
        let effects = Effects { earlier, ..effects }.with(event);
        doorward.store().queue_mail(&effects).await?;
        Ok(())
    };
    on_tick(queue).await
}

/// Does the work and waits for the next tick.
pub(super) async fn on_tick<T>(work: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let done = work.await;
    let ticks = started.elapsed().as_nanos() / TICK.as_nanos() + 1;
    sleep_until(started + TICK * u32::try_from(ticks).unwrap_or(u32::MAX)).await;
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_of_different_length_ends_on_the_same_tick() {
        for (work, ticks) in [(0, 1), (1, 1), (24, 1), (25, 2), (26, 2), (49, 2), (1000, 41)] {
            let started = Instant::now();
            let done = on_tick(async {
                tokio::time::sleep(Duration::from_millis(work)).await;
                work
            });
            assert_eq!(done.await, work);
            assert_eq!(started.elapsed(), TICK * ticks, "{work} ms");
        }
    }
}
