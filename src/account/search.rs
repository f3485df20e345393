//! Searching users, page by page.

use crate::{
    Doorward, store,
    user::{EmailKey, User},
};

/// Which users to list. The default lists all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserFilter {
    /// A part of the e-mail address or the name, in any letter case.
    pub(crate) text: Option<String>,
    /// A role that the user has.
    pub(crate) role: Option<String>,
    /// Only disabled users.
    pub(crate) disabled: bool,
}

impl UserFilter {
    fn admits(&self, user: &User) -> bool {
        let contains = |text: &str| {
            let (name, email) = (user.name.as_str().to_lowercase(), user.email.as_str());
            name.contains(text) || email.to_lowercase().contains(text)
        };
        self.text.as_ref().is_none_or(|text| contains(&text.to_lowercase()))
            && self.role.as_ref().is_none_or(|role| user.roles.contains(role))
            && (user.disabled || !self.disabled)
    }
}

/// Users in the order of their addresses.
#[derive(Debug)]
pub(crate) struct UserPage {
    pub(crate) users: Vec<User>,
    /// The address after which the next page starts, if there may be one.
    pub(crate) next: Option<EmailKey>,
}

/// Up to `limit` users after this address that the filter admits. Reads a bounded number of records, so a page may hold
/// fewer than `limit` users even if more follow.
pub(crate) async fn page(
    doorward: &Doorward,
    after: Option<EmailKey>,
    limit: usize,
    filter: &UserFilter,
) -> Result<UserPage, store::Error> {
    const BATCH_SIZE: usize = 1000;
    const BATCHES: usize = 10;
    read(doorward, after, limit, filter, BATCH_SIZE, BATCHES).await
}

async fn read(
    doorward: &Doorward,
    mut after: Option<EmailKey>,
    limit: usize,
    filter: &UserFilter,
    batch_size: usize,
    batches: usize,
) -> Result<UserPage, store::Error> {
    let mut users = Vec::new();
    for _ in 0..batches {
        let batch = doorward.store().users(after.as_ref(), batch_size).await?;
        let is_last = batch.len() < batch_size;
        for user in batch {
            let key = user.email.key();
            if filter.admits(&user) {
                if users.len() >= limit.min(batch_size) {
                    return Ok(UserPage { users, next: after });
                }
                users.push(user);
            }
            after = Some(key);
        }
        if is_last {
            return Ok(UserPage { users, next: None });
        }
    }
    Ok(UserPage { users, next: after })
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
            doorward.store().add_user(&user, None, None, &Effects::NONE).await.unwrap();
            if number % 3 == 0 {
                let role = Role::parse("staff").unwrap();
                doorward.store().grant_role(user.id, &role, NOW, &Effects::NONE).await.unwrap();
            }
            if number == 5 {
                doorward.store().disable_user(user.id, NOW, &Effects::NONE).await.unwrap();
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
            (text("uSER4@"), &[4]),
            (text("üNAL 7"), &[7]),
            (text("%"), &[]),
        ] {
            let wanted: Vec<_> = wanted.iter().map(|n| format!("User{n}@example.com")).collect();
            for (limit, batch_size, batches) in
                [(1, 1, 1), (1, 4, 2), (2, 3, 1), (3, 3, 2), (100, 2, 1), (100, 9, 1), (9, 100, 10)]
            {
                let (mut found, mut after) = (Vec::new(), None);
                loop {
                    let page = read(&doorward, after, limit, &filter, batch_size, batches).await;
                    let UserPage { users, next } = page.unwrap();
                    assert!(users.len() <= limit.min(batch_size));
                    found.extend(users.into_iter().map(|user| user.email.as_str().to_owned()));
                    let Some(next) = next else { break };
                    after = Some(next);
                }
                assert_eq!(found, wanted, "{filter:?} {limit} {batch_size} {batches}");
            }
        }
    }
}
