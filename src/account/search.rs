//! Searching users, page by page.

use std::collections::BTreeSet;

use crate::{
    Doorward, store,
    user::{
        EmailKey, User,
        search_terms::{DISABLED, role_term, words},
    },
};

/// Which users to list. The default lists all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserFilter {
    /// Words, in any letter case. With each of them, a word of the name or the e-mail address starts.
    pub(crate) text: Option<String>,
    /// A role that the user has.
    pub(crate) role: Option<String>,
    /// Only disabled users.
    pub(crate) disabled: bool,
}

/// Users in the order of their addresses or, in a search for a word, of the words that match.
#[derive(Debug)]
pub(crate) struct UserPage {
    pub(crate) users: Vec<User>,
    /// Where the next page starts, if there may be one.
    pub(crate) next: Option<String>,
}

/// Up to `limit` users that the filter admits, from where `after` says, which is [`UserPage::next`] of the page before. Reads a
/// bounded number of records, so a page may hold fewer than `limit` users even if more follow.
pub(crate) async fn page(
    doorward: &Doorward,
    after: Option<&str>,
    limit: usize,
    filter: &UserFilter,
) -> Result<UserPage, store::Error> {
    const MAX_READ: usize = 1000;
    read(doorward, after, limit, filter, MAX_READ).await
}

async fn read(
    doorward: &Doorward,
    after: Option<&str>,
    limit: usize,
    filter: &UserFilter,
    max_read: usize,
) -> Result<UserPage, store::Error> {
    let Some(range) = TermRange::of(filter) else {
        return all(doorward, after, limit).await;
    };
    let words = filter.words();
    // Places of other terms are skipped.
    let mut place = after.unwrap_or_default().max(&range.start).to_owned();
    let (mut users, mut left) = (Vec::new(), max_read.max(limit + 1));
    while left > 0 {
        let wanted = left.min(limit + 1);
        let found = doorward.store().users_by_term(&place, &range.end, wanted).await?;
        let is_last = found.len() < wanted;
        left -= found.len();
        for (found_at, user) in found {
            let terms = user.search_terms();
            if range.is_first(&terms, &found_at) && filter.admits(&user, &terms, &words) {
                if users.len() == limit {
                    return Ok(UserPage { users, next: Some(place) });
                }
                users.push(user);
            }
            place = found_at;
        }
        if is_last {
            return Ok(UserPage { users, next: None });
        }
    }
    Ok(UserPage { users, next: Some(place) })
}

/// A page of all users.
async fn all(
    doorward: &Doorward,
    after: Option<&str>,
    limit: usize,
) -> Result<UserPage, store::Error> {
    let after = after.map(EmailKey::of);
    let mut users = doorward.store().users(after.as_ref(), limit + 1).await?;
    let has_more = users.len() > limit;
    users.truncate(limit);
    let last = users.last().filter(|_| has_more);
    let next = last.map(|user| user.email.key().as_str().to_owned());
    Ok(UserPage { users, next })
}

impl UserFilter {
    fn words(&self) -> Vec<String> {
        self.text.as_deref().map(|text| words(text).collect()).unwrap_or_default()
    }

    fn admits(&self, user: &User, terms: &BTreeSet<String>, words: &[String]) -> bool {
        words.iter().all(|word| terms.iter().any(|term| term.starts_with(word)))
            && self.role.as_ref().is_none_or(|role| user.roles.contains(role))
            && (user.disabled || !self.disabled)
    }
}

/// The places of the index that a search reads, each a term, a space and an address.
struct TermRange {
    /// Before the first place.
    start: String,
    /// After the last one.
    end: String,
}

impl TermRange {
    /// None if the filter admits all users.
    fn of(filter: &UserFilter) -> Option<Self> {
        // A long word is mostly rarer than a short one.
        let word = filter.words().into_iter().max_by_key(String::len);
        if let Some(word) = word {
            return Some(Self { end: format!("{word}{}", char::MAX), start: word });
        }
        let term = match (&filter.text, &filter.role) {
            // Nobody has the empty term.
            (Some(_), _) => String::new(),
            (None, Some(role)) => role_term(role),
            (None, None) if filter.disabled => DISABLED.to_owned(),
            (None, None) => return None,
        };
        // The exclamation mark follows the space.
        Some(Self { start: format!("{term} "), end: format!("{term}!") })
    }

    /// Whether the place is that of the first of a user's terms in this range. So each user is on one page.
    fn is_first(&self, terms: &BTreeSet<String>, place: &str) -> bool {
        let first = terms.range(self.start.trim_end().to_owned()..).next();
        first.map(String::as_str) == place.split(' ').next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Settings,
        clock::Timestamp,
        config::DatabaseUrl,
        store::Effects,
        user::{Email, Name, Role},
    };

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    /// Nine users, the third, sixth and ninth with a role, the fifth disabled.
    async fn nine_users(folder: &std::path::Path) -> Doorward {
        let database = DatabaseUrl::Sqlite(folder.join("doorward.db"));
        let doorward = Doorward::open(Settings { database, ..Settings::default() }).await.unwrap();
        for number in 1..=9 {
            let name = Name::parse(format!("Ünal {number}")).unwrap();
            let email = Email::parse(format!("User{number}@example.com")).unwrap();
            let user = User::new(name, email, None, NOW);
            doorward.store().add_user(&user, &Effects::NONE).await.unwrap();
            if number % 3 == 0 {
                let role = Role::parse("staff").unwrap();
                doorward.store().grant_role(user.id, &role, NOW, &Effects::NONE).await.unwrap();
            }
            if number == 5 {
                doorward.disable_user(user.id).await.unwrap();
            }
        }
        doorward
    }

    #[tokio::test]
    async fn pages_of_any_size_add_up_to_what_the_filter_admits() {
        let folder = tempfile::tempdir().unwrap();
        let doorward = nine_users(folder.path()).await;
        let text = |text: &str| UserFilter { text: Some(text.into()), ..UserFilter::default() };
        for (filter, wanted) in [
            (UserFilter::default(), &[1, 2, 3, 4, 5, 6, 7, 8, 9][..]),
            (UserFilter { role: Some("staff".into()), ..UserFilter::default() }, &[3, 6, 9]),
            (UserFilter { role: Some("stuff".into()), ..UserFilter::default() }, &[]),
            (UserFilter { disabled: true, ..UserFilter::default() }, &[5]),
            (UserFilter { disabled: true, ..text("USER4") }, &[]),
            (UserFilter { role: Some("staff".into()), ..text("user") }, &[3, 6, 9]),
            (text("uSER4@"), &[4]),
            (text("üNAL 7"), &[7]),
            (text("ün exam"), &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
            (text("nal"), &[]),
            (text("%"), &[]),
        ] {
            let wanted: Vec<_> = wanted.iter().map(|n| format!("User{n}@example.com")).collect();
            for (limit, max_read) in [(1, 1), (1, 4), (2, 3), (3, 3), (8, 9), (9, 100), (100, 2)] {
                let (mut found, mut after) = (Vec::new(), None::<String>);
                loop {
                    let page = read(&doorward, after.as_deref(), limit, &filter, max_read).await;
                    let UserPage { users, next } = page.unwrap();
                    assert!(users.len() <= limit);
                    found.extend(users.into_iter().map(|user| user.email.as_str().to_owned()));
                    let Some(next) = next else { break };
                    after = Some(next);
                }
                assert_eq!(found, wanted, "{filter:?} {limit} {max_read}");
            }
        }
    }
}
