//! The revocation feed: tells those who verify tokens by themselves which of them have ended, as soon as they do.

use std::{
    fmt,
    str::FromStr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, watch},
    time::timeout,
};
use uuid::Uuid;

use crate::{
    clock::{Clock, Timestamp},
    id::{NotAnId, parse_hyphenated},
    store::{self, Hearing, Page, Store},
    token::{News, TokenMint},
};

/// What has ended, for anybody who asks.
pub struct Feed {
    /// Named in every cursor, so that one of another process is not taken for one of ours.
    process: Uuid,
    mint: Arc<TokenMint>,
    store: Arc<dyn Store>,
    clock: Clock,
    places: Semaphore,
    closed: watch::Sender<bool>,
    last: Mutex<Option<Told>>,
}

/// How far somebody has read: up to which ending, and which keys they know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    process: Uuid,
    endings: u64,
    keys: u64,
    /// When that was, in seconds: all that means something to another process.
    at: i64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{}", self.process, self.endings, self.keys, self.at)
    }
}

impl FromStr for Cursor {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let mut parts = text.split('.');
        let mut part = || parts.next().ok_or(NotAnId);
        let process = parse_hyphenated(part()?)?;
        let endings = part()?.parse().map_err(|_| NotAnId)?;
        let keys = part()?.parse().map_err(|_| NotAnId)?;
        let at = part()?.parse().map_err(|_| NotAnId)?;
        parts.next().is_none().then_some(Self { process, endings, keys, at }).ok_or(NotAnId)
    }
}

/// The latest answer: most of those who wait for news have read equally far, and get the same one.
struct Told {
    since: Option<Cursor>,
    up_to: Cursor,
    news: String,
}

impl Feed {
    /// How long a question waits for news. Shorter than any request may take.
    const WAIT: Duration = Duration::from_secs(10);
    /// How long one waits that has been put to another process before.
    const PAUSE: Duration = Duration::from_millis(500);
    /// How far the clocks of two processes may be apart, and how late one may hear of what the other did.
    const APART: Duration = Duration::from_secs(60);
    /// Questions that wait at most; beyond it they are answered at once, news or not.
    const PLACES: usize = 1000;
    /// Endings in one answer: half a megabyte.
    const PAGE: usize = 10_000;

    /// The feed of what ends in this store and of the keys of this mint.
    pub fn new(mint: Arc<TokenMint>, store: Arc<dyn Store>, clock: Clock) -> Self {
        Self {
            process: Uuid::new_v4(),
            mint,
            store,
            clock,
            places: Semaphore::new(Self::PLACES),
            closed: watch::Sender::new(false),
            last: Mutex::default(),
        }
    }

    /// What has ended since this cursor, signed; waits a while if that is nothing. Everything at once for whoever has
    /// no cursor, or one that means nothing here.
    ///
    /// # Errors
    /// While nobody knows what has ended: whoever is told nothing must not take it for no news.
    pub async fn news(&self, since: Option<&str>) -> Result<String, store::Error> {
        let since: Option<Cursor> = since.and_then(|text| text.parse().ok());
        match since {
            Some(own) if own.process == self.process => self.wait_beyond(own, Self::WAIT).await,
            // Behind a load balancer every question may meet another process, and must not be asked without end.
            Some(foreign) => self.wait_beyond(foreign, Self::PAUSE).await,
            None => {}
        }
        match self.store.changes().hearing() {
            Hearing::Alone | Hearing::Good => Ok(self.tell(since, self.clock.now())),
            Hearing::Away | Hearing::Lost => Err(store::Error::Unavailable("it is away".into())),
        }
    }

    /// How many wait for news.
    pub fn waiting(&self) -> usize {
        Self::PLACES - self.places.available_permits()
    }

    /// Lets nobody wait any longer, because the server stops.
    pub fn close(&self) {
        self.closed.send_replace(true);
    }

    async fn wait_beyond(&self, cursor: Cursor, most: Duration) {
        let Ok(_place) = self.places.try_acquire() else { return };
        let is_own = cursor.process == self.process;
        let (mut endings, mut keys) = (self.store.endings().count(), self.mint.key_changes());
        let mut closed = self.closed.subscribe();
        let news = async {
            tokio::select! {
                _ = endings.wait_for(|count| is_own && *count != cursor.endings) => {}
                _ = keys.wait_for(|count| is_own && *count != cursor.keys) => {}
                _ = closed.wait_for(|closed| *closed) => {}
            }
        };
        // Whoever has waited in vain is told so.
        let _ = timeout(most, news).await;
    }

    fn tell(&self, since: Option<Cursor>, now: Timestamp) -> String {
        // Before the keys are looked at: a change in between is told again, not left out.
        let keys = *self.mint.key_changes().borrow();
        let endings = self.store.endings();
        let page = since.and_then(|cursor| {
            if cursor.process == self.process {
                return endings.since(cursor.endings, Self::PAGE);
            }
            let then = Timestamp::from_seconds(cursor.at) - Self::APART;
            endings.since_time(then, Self::PAGE)
        });
        let complete = page.is_none();
        let Page { ended, up_to, more } = page.unwrap_or_else(|| endings.from_start(Self::PAGE));
        let at = now.seconds();
        let up_to = Cursor { process: self.process, endings: up_to, keys, at };
        if let Some(told) = &*self.last()
            && (told.since, told.up_to) == (since, up_to)
        {
            return told.news.clone();
        }
        let news = News { cursor: up_to.to_string(), complete, more, revoked: ended };
        let news = self.mint.tell(&news, now);
        *self.last() = Some(Told { since, up_to, news: news.clone() });
        news
    }

    fn last(&self) -> MutexGuard<'_, Option<Told>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_is_written_and_not_otherwise() {
        let cursor = Cursor { process: Uuid::new_v4(), endings: 7, keys: 3, at: 1_800_000_000 };
        let text = cursor.to_string();
        assert_eq!(text.parse(), Ok(cursor));
        for other in ["", "..", &text[1..], &format!("{text}."), &format!("{text}x"), "7.3"] {
            assert_eq!(other.parse::<Cursor>(), Err(NotAnId), "{other}");
        }
    }
}
