//! Answers whose time must not tell whether an address is known. The same work is done for every address, but a stored user still
//! costs some microseconds more than none. So such an answer waits for the next tick after the request.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::{
    Failure,
    mailing::{may_mail, without_secret},
};
use crate::{
    Doorward,
    log::FloodLine,
    mail::{Mailing, Message},
    network::Requester,
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
    requester: Requester,
    purpose: Purpose,
    mailing_to: impl FnOnce(&User) -> Mailing,
) -> Result<(), Failure> {
    let (now, network) = (doorward.instant(), requester.network);
    let earlier = doorward.throttle().charge_mail_request(requester, now)?;
    let budget = match purpose {
        Purpose::SignIn => MailPurpose::SignIn,
        _ => MailPurpose::ResetPassword,
    };
    let queue = async {
        if !may_mail(doorward, &email, budget) {
            if FloodLine::MailRequested.is_written("the address has got too much") {
                tracing::info!(%network, "no mail: the address has got too much");
            }
            return Ok(());
        }
        let user = doorward.store().user_by_email(&email.key()).await?;
        let mailing = match user.as_ref().filter(|user| !user.disabled) {
            Some(user) => mailing_to(user),
            None => {
                let language = requester.language;
                without_secret(doorward, None, purpose, &email, language, Message::Nothing)
            }
        };
        let mailing = Mailing { earlier, ..mailing };
        doorward.store().queue_mail(&mailing).await?;
        doorward.announce(&mailing);
        if FloodLine::MailRequested.is_written(purpose.as_str()) {
            tracing::info!(%network, purpose = purpose.as_str(), "mail requested");
        }
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
