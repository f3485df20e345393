//! The revocation feed: signed pages of the tokens that ended before they expired, for external verifiers.

mod permits;

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

use self::permits::{Permit, Permits};
use super::{
    FeedPage, TokenMint,
    endings::{Endings, Span},
};
use crate::{
    clock::{Clock, Timestamp},
    id::{NotAnId, parse_hyphenated},
    network::Requester,
};

/// Serves signed pages of ended tokens to verifiers.
pub struct Feed {
    /// Part of every cursor, so that cursors of other processes are recognised.
    process: Uuid,
    mint: Arc<TokenMint>,
    endings: Arc<Endings>,
    is_up_to_date: Box<dyn Fn() -> bool + Send + Sync>,
    clock: Clock,
    waiting: Arc<Permits>,
    unsent: Arc<Permits>,
    closed: watch::Sender<bool>,
    pages: Mutex<VecDeque<SignedPage>>,
    signatures: AtomicU64,
}

/// Why there is no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeedError {
    /// The log may lack endings. An empty page would claim that nothing has ended.
    #[error("the revocation feed is not up to date: the database does not answer")]
    Outdated,
    /// Too many pages for the requester's network have not been sent yet.
    #[error("too many pages for one network have not been sent yet")]
    TooManyUnsent,
}

/// How far a verifier has read the endings and the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    process: Uuid,
    endings: u64,
    keys: u64,
    /// When the cursor was issued, in seconds. Another process can use only this.
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

/// A cached page, shared by all verifiers that need the same endings.
struct SignedPage {
    complete: bool,
    span: Span,
    keys: u64,
    at: i64,
    jwt: Bytes,
}

/// The body of an answer: a shared page, with a permit that is released when the body is dropped.
struct Body {
    page: Bytes,
    _permit: Permit,
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        &self.page
    }
}

impl Feed {
    /// How long a request waits for a change. Shorter than any request timeout.
    const MAX_WAIT: Duration = Duration::from_secs(10);
    /// How long a request with the cursor of another process waits.
    const FOREIGN_WAIT: Duration = Duration::from_millis(500);
    /// The largest difference between the clocks of two processes, including the delay until one learns of an ending in
    /// the other.
    const MAX_SKEW: Duration = Duration::from_secs(60);
    /// The maximum number of waiting requests. Others are answered at once.
    const MAX_WAITING: usize = 1000;
    /// The maximum number of waiting requests from one network.
    const MAX_WAITING_PER_NETWORK: usize = 100;
    /// The maximum number of pages for one network that are not yet written to its connections.
    const MAX_UNSENT: usize = 100;
    /// The maximum number of cached pages: two megabytes.
    const MAX_PAGES: usize = 64;
    /// How long a page with further pages behind it is cached. The verifier must ask again before it relies on the
    /// result, so the page need not be fresh.
    const PARTIAL_PAGE_SECONDS: i64 = 10;

    /// A feed of these endings and of the keys of this mint. `is_up_to_date` says whether the log holds every ending.
    pub fn new(
        mint: Arc<TokenMint>,
        endings: Arc<Endings>,
        is_up_to_date: impl Fn() -> bool + Send + Sync + 'static,
        clock: Clock,
    ) -> Self {
        Self {
            process: Uuid::new_v4(),
            mint,
            endings,
            is_up_to_date: Box::new(is_up_to_date),
            clock,
            waiting: Permits::new(Self::MAX_WAITING, Self::MAX_WAITING_PER_NETWORK),
            unsent: Permits::new(usize::MAX, Self::MAX_UNSENT),
            closed: watch::Sender::new(false),
            pages: Mutex::default(),
            signatures: AtomicU64::new(0),
        }
    }

    /// A signed page with what has ended since this cursor. Waits for a while if nothing has. Without a usable cursor, the
    /// first page of everything.
    ///
    /// # Errors
    /// If the log may lack endings, or too many pages for the requester's network have not been sent.
    pub async fn page_since(
        &self,
        cursor: Option<&str>,
        requester: &Requester,
    ) -> Result<Bytes, FeedError> {
        let cursor: Option<Cursor> = cursor.and_then(|text| text.parse().ok());
        match cursor {
            Some(own) if own.process == self.process => {
                self.wait_for_change_since(own, Self::MAX_WAIT, requester).await;
            }
            // Behind a load balancer every request may reach another process. The wait limits the rate of requests.
            Some(foreign) => {
                self.wait_for_change_since(foreign, Self::FOREIGN_WAIT, requester).await
            }
            None => {}
        }
        if !(self.is_up_to_date)() {
            return Err(FeedError::Outdated);
        }
        let permit = self.unsent.acquire(requester).ok_or(FeedError::TooManyUnsent)?;
        let page = self.signed_page(cursor, self.clock.now());
        // Dropped when the last byte has been written or the connection is closed.
        Ok(Bytes::from_owner(Body { page, _permit: permit }))
    }

    /// How many requests wait for a change.
    #[cfg(feature = "internals")]
    pub fn waiting(&self) -> usize {
        self.waiting.count()
    }

    /// How many pages have not been written to their connections.
    #[cfg(feature = "internals")]
    pub fn unsent(&self) -> usize {
        self.unsent.count()
    }

    /// How many pages have been signed so far.
    #[cfg(feature = "internals")]
    pub fn signatures(&self) -> u64 {
        self.signatures.load(Ordering::Relaxed)
    }

    /// Ends all waits, because the server stops.
    pub fn close(&self) {
        self.closed.send_replace(true);
    }

    async fn wait_for_change_since(
        &self,
        cursor: Cursor,
        max_wait: Duration,
        requester: &Requester,
    ) {
        let Some(_permit) = self.waiting.acquire(requester) else { return };
        let is_own = cursor.process == self.process;
        let (mut endings, mut keys) = (self.endings.count(), self.mint.key_changes());
        let mut closed = self.closed.subscribe();
        let change = async {
            tokio::select! {
                _ = endings.wait_for(|count| is_own && *count != cursor.endings) => {}
                _ = keys.wait_for(|count| is_own && *count != cursor.keys) => {}
                _ = closed.wait_for(|closed| *closed) => {}
            }
        };
        // After the timeout the page is empty.
        let _ = timeout(max_wait, change).await;
    }

    fn signed_page(&self, cursor: Option<Cursor>, now: Timestamp) -> Bytes {
        // Read before the keys are: a change in between is reported twice rather than lost.
        let keys = *self.mint.key_changes().borrow();
        let span = cursor.and_then(|cursor| {
            if cursor.process == self.process {
                return self.endings.since(cursor.endings);
            }
            let then = Timestamp::from_seconds(cursor.at);
            self.endings.since_time(then - Self::MAX_SKEW, then + Duration::from_secs(1))
        });
        // Locked until the page exists, so that concurrent requests do not all sign the same page.
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let page = span.and_then(|span| self.page_of(&mut pages, false, span, keys, now));
        page.unwrap_or_else(|| {
            loop {
                let all = self.endings.since_start();
                if let Some(page) = self.page_of(&mut pages, true, all, keys, now) {
                    break page;
                }
            }
        })
    }

    /// The page of a span, cached or newly signed. None if a part of the span has been removed from the log.
    fn page_of(
        &self,
        pages: &mut VecDeque<SignedPage>,
        complete: bool,
        span: Span,
        keys: u64,
        now: Timestamp,
    ) -> Option<Bytes> {
        let is_usable = |page: &SignedPage| {
            let age = now.seconds() - page.at;
            page.keys == keys
                && (age == 0 || page.span.more && (0..Self::PARTIAL_PAGE_SECONDS).contains(&age))
        };
        pages.retain(is_usable);
        if let Some(page) = pages.iter().find(|page| (page.complete, page.span) == (complete, span))
        {
            return Some(page.jwt.clone());
        }
        let (revoked, latest) = self.endings.tokens(span)?;
        // A verifier that continues with another process must receive everything since the last ending that it has read.
        let at = if span.more { latest.map_or(now, |latest| latest.min(now)) } else { now };
        let cursor = Cursor { process: self.process, endings: span.end, keys, at: at.seconds() };
        let page = FeedPage { cursor: cursor.to_string(), complete, more: span.more, revoked };
        let jwt = Bytes::from(self.mint.sign_feed_page(&page, now));
        self.signatures.fetch_add(1, Ordering::Relaxed);
        if pages.len() == Self::MAX_PAGES {
            pages.pop_front();
        }
        pages.push_back(SignedPage { complete, span, keys, at: now.seconds(), jwt: jwt.clone() });
        Some(jwt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_parses_only_in_the_form_in_which_it_is_written() {
        let cursor = Cursor { process: Uuid::new_v4(), endings: 7, keys: 3, at: 1_800_000_000 };
        let text = cursor.to_string();
        assert_eq!(text.parse(), Ok(cursor));
        for other in ["", "..", &text[1..], &format!("{text}."), &format!("{text}x"), "7.3"] {
            assert_eq!(other.parse::<Cursor>(), Err(NotAnId), "{other}");
        }
    }
}
