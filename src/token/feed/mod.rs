//! The revocation feed: tells those who verify tokens by themselves which of them have ended, as soon as they do.

mod places;

use std::{
    collections::VecDeque,
    fmt,
    str::FromStr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::{sync::watch, time::timeout};
use uuid::Uuid;

use self::places::{Place, Places};
use super::{News, TokenMint};
use crate::{
    clock::{Clock, Timestamp},
    id::{NotAnId, parse_hyphenated},
    network::Requester,
    store::{self, Connectivity, Span, Store},
};

/// What has ended, for anybody who asks.
pub struct Feed {
    /// Named in every cursor, so that one of another process is not taken for one of ours.
    process: Uuid,
    mint: Arc<TokenMint>,
    store: Arc<dyn Store>,
    clock: Clock,
    waiting: Arc<Places>,
    under_way: Arc<Places>,
    closed: watch::Sender<bool>,
    pages: Mutex<VecDeque<Page>>,
    signatures: AtomicU64,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Nobody knows what has ended: whoever is told nothing must not take it for no news.
    #[error(transparent)]
    Unknown(#[from] store::Error),
    /// Too many answers to this client's network have not been taken yet.
    #[error("too many answers are under way")]
    TooMany,
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

/// A signed answer, which everybody who is to be told the same shares.
struct Page {
    complete: bool,
    span: Span,
    keys: u64,
    at: i64,
    news: Bytes,
}

/// An answer that is under way: the page belongs to everybody, the place to one client.
struct Answer {
    page: Bytes,
    _place: Place,
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        &self.page
    }
}

impl Feed {
    /// How long a question waits for news. Shorter than any request may take.
    const WAIT: Duration = Duration::from_secs(10);
    /// How long one waits that has been put to another process before.
    const PAUSE: Duration = Duration::from_millis(500);
    /// How far the clocks of two processes may be apart, and how late one may hear of what the other did.
    const APART: Duration = Duration::from_secs(60);
    /// Questions that wait at most, in all and of one network; beyond it they are answered at once, news or not.
    const WAITING: (usize, usize) = (1000, 100);
    /// Answers to one network that have not been written to its connections.
    const UNDER_WAY: usize = 100;
    /// Signed pages that are kept: two megabytes.
    const PAGES: usize = 64;
    /// For how many seconds a page is told that has others behind it. Whoever gets it has to ask again before they rely
    /// on it, so that it need not be fresh.
    const KEPT_SECONDS: i64 = 10;

    /// The feed of what ends in this store and of the keys of this mint.
    pub fn new(mint: Arc<TokenMint>, store: Arc<dyn Store>, clock: Clock) -> Self {
        Self {
            process: Uuid::new_v4(),
            mint,
            store,
            clock,
            waiting: Places::new(Self::WAITING.0, Self::WAITING.1),
            under_way: Places::new(usize::MAX, Self::UNDER_WAY),
            closed: watch::Sender::new(false),
            pages: Mutex::default(),
            signatures: AtomicU64::new(0),
        }
    }

    /// What has ended since this cursor, signed; waits a while if that is nothing. Everything at once for whoever has
    /// no cursor, or one that means nothing here.
    ///
    /// # Errors
    /// While nobody knows what has ended, and while too many answers to the requester's network have not been taken.
    pub async fn news(&self, since: Option<&str>, requester: Requester) -> Result<Bytes, Refused> {
        let since: Option<Cursor> = since.and_then(|text| text.parse().ok());
        match since {
            Some(own) if own.process == self.process => {
                self.wait_beyond(own, Self::WAIT, requester).await;
            }
            // Behind a load balancer every question may meet another process, and must not be asked without end.
            Some(foreign) => self.wait_beyond(foreign, Self::PAUSE, requester).await,
            None => {}
        }
        match self.store.changes().connectivity() {
            Connectivity::Embedded | Connectivity::Connected => {}
            Connectivity::Unreachable | Connectivity::Stale => {
                return Err(store::Error::Unavailable("it is away".into()).into());
            }
        }
        let place = self.under_way.take(requester).ok_or(Refused::TooMany)?;
        let page = self.tell(since, self.clock.now());
        // Dropped when the last byte has been written, or the connection is gone.
        Ok(Bytes::from_owner(Answer { page, _place: place }))
    }

    /// How many wait for news.
    pub fn waiting(&self) -> usize {
        self.waiting.count()
    }

    /// How many answers have not been written to their connections.
    pub fn under_way(&self) -> usize {
        self.under_way.count()
    }

    /// How many pages have been signed so far.
    pub fn signatures(&self) -> u64 {
        self.signatures.load(Ordering::Relaxed)
    }

    /// Lets nobody wait any longer, because the server stops.
    pub fn close(&self) {
        self.closed.send_replace(true);
    }

    async fn wait_beyond(&self, cursor: Cursor, most: Duration, requester: Requester) {
        let Some(_place) = self.waiting.take(requester) else { return };
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

    fn tell(&self, since: Option<Cursor>, now: Timestamp) -> Bytes {
        // Before the keys are looked at: a change in between is told again, not left out.
        let keys = *self.mint.key_changes().borrow();
        let endings = self.store.endings();
        let span = since.and_then(|cursor| {
            if cursor.process == self.process {
                return endings.since(cursor.endings);
            }
            let then = Timestamp::from_seconds(cursor.at);
            endings.since_time(then - Self::APART, then + Duration::from_secs(1))
        });
        // Locked until the page is there, so that those who wait for the same one do not each make it.
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let page = span.and_then(|span| self.page(&mut pages, false, span, keys, now));
        page.unwrap_or_else(|| {
            loop {
                if let Some(all) = self.page(&mut pages, true, endings.since_start(), keys, now) {
                    break all;
                }
            }
        })
    }

    /// The page of this span, from those that are kept or newly signed; none if some of it has been forgotten.
    fn page(
        &self,
        pages: &mut VecDeque<Page>,
        complete: bool,
        span: Span,
        keys: u64,
        now: Timestamp,
    ) -> Option<Bytes> {
        let is_good = |page: &Page| {
            let age = now.seconds() - page.at;
            page.keys == keys
                && (age == 0 || page.span.more && (0..Self::KEPT_SECONDS).contains(&age))
        };
        pages.retain(is_good);
        if let Some(page) = pages.iter().find(|page| (page.complete, page.span) == (complete, span))
        {
            return Some(page.news.clone());
        }
        let (revoked, latest) = self.store.endings().tokens(span)?;
        // Whoever has not read everything and goes on with another process has to be told what ended since the last
        // ending that they know.
        let at = if span.more { latest.map_or(now, |latest| latest.min(now)) } else { now };
        let cursor = Cursor { process: self.process, endings: span.end, keys, at: at.seconds() };
        let news = News { cursor: cursor.to_string(), complete, more: span.more, revoked };
        let news = Bytes::from(self.mint.tell(&news, now));
        self.signatures.fetch_add(1, Ordering::Relaxed);
        if pages.len() == Self::PAGES {
            pages.pop_front();
        }
        pages.push_back(Page { complete, span, keys, at: now.seconds(), news: news.clone() });
        Some(news)
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
