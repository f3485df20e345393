//! The revocation feed: tells those who verify tokens by themselves which of them have ended, as soon as they do.

use std::{
    fmt,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
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
    store::{Page, Store},
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
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.process, self.endings, self.keys)
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
        parts.next().is_none().then_some(Self { process, endings, keys }).ok_or(NotAnId)
    }
}

/// The latest answer: most of those who wait for news have read equally far, and get the same one.
struct Told {
    since: Option<Cursor>,
    up_to: Cursor,
    seconds: i64,
    news: String,
}

impl Feed {
    /// How long a question waits for news. Shorter than any request may take.
    const WAIT: Duration = Duration::from_secs(10);
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
    pub async fn news(&self, since: Option<&str>) -> String {
        let since = since.and_then(|text| text.parse().ok());
        let since = since.filter(|cursor: &Cursor| cursor.process == self.process);
        if let Some(cursor) = since {
            self.wait_beyond(cursor).await;
        }
        self.tell(since, self.clock.now())
    }

    /// How many wait for news.
    pub fn waiting(&self) -> usize {
        Self::PLACES - self.places.available_permits()
    }

    /// Lets nobody wait any longer, because the server stops.
    pub fn close(&self) {
        self.closed.send_replace(true);
    }

    async fn wait_beyond(&self, cursor: Cursor) {
        let Ok(_place) = self.places.try_acquire() else { return };
        let (mut endings, mut keys) = (self.store.endings().count(), self.mint.key_changes());
        let mut closed = self.closed.subscribe();
        let news = async {
            tokio::select! {
                _ = endings.wait_for(|count| *count != cursor.endings) => {}
                _ = keys.wait_for(|count| *count != cursor.keys) => {}
                _ = closed.wait_for(|closed| *closed) => {}
            }
        };
        // Whoever has waited in vain is told so.
        let _ = timeout(Self::WAIT, news).await;
    }

    fn tell(&self, since: Option<Cursor>, now: Timestamp) -> String {
        // Before the keys are looked at: a change in between is told again, not left out.
        let keys = *self.mint.key_changes().borrow();
        let endings = self.store.endings();
        let page = since.and_then(|cursor| endings.since(cursor.endings, Self::PAGE));
        let complete = page.is_none();
        let Page { ended, up_to, more } = page.unwrap_or_else(|| endings.from_start(Self::PAGE));
        let up_to = Cursor { process: self.process, endings: up_to, keys };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = now.seconds();
        match &*last {
            Some(told) if (told.since, told.up_to, told.seconds) == (since, up_to, seconds) => {
                told.news.clone()
            }
            _ => {
                let news = News { cursor: up_to.to_string(), complete, more, revoked: ended };
                let news = self.mint.tell(&news, now);
                *last = Some(Told { since, up_to, seconds, news: news.clone() });
                news
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_is_written_and_not_otherwise() {
        let cursor = Cursor { process: Uuid::new_v4(), endings: 7, keys: 3 };
        let text = cursor.to_string();
        assert_eq!(text.parse(), Ok(cursor));
        for other in ["", "..", &text[1..], &format!("{text}."), &format!("{text}x"), "7.3"] {
            assert_eq!(other.parse::<Cursor>(), Err(NotAnId), "{other}");
        }
    }
}
