//! Users as an operator looks for them: page by page, and one with their sessions.

use serde::{Deserialize, Serialize};

use super::{Report, UserReport};
use crate::{
    Doorward,
    session::Session,
    store,
    user::{EmailKey, User},
};

/// Which users are listed. An empty filter is for all of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct UserFilter {
    /// Part of the address or the name, in any case.
    pub text: Option<String>,
    /// A role that they have.
    pub role: Option<String>,
    /// Only those who are disabled.
    pub disabled: bool,
}

impl UserFilter {
    fn admits(&self, user: &User) -> bool {
        let contains = |text: &str| {
            let (name, email) = (user.name.as_str().to_lowercase(), user.email.as_str());
            name.contains(text) || email.to_lowercase().contains(text)
        };
        self.text.as_ref().is_none_or(|text| contains(&text.to_lowercase()))
            && self.role.as_ref().is_none_or(|role| user.roles.iter().any(|own| own == role))
            && (user.disabled || !self.disabled)
    }
}

/// A session as an operator sees one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionReport {
    /// The id.
    pub id: String,
    /// When the user signed in.
    pub created_at: String,
    /// When it was last used, to within some minutes.
    pub last_seen_at: String,
    /// When it ends by itself.
    pub expires_at: String,
    /// From which address the user signed in.
    pub address: String,
    /// With which program, by its own account.
    pub user_agent: String,
}

impl From<Session> for SessionReport {
    fn from(session: Session) -> Self {
        Self {
            id: session.id.to_string(),
            created_at: session.created_at.to_string(),
            last_seen_at: session.last_seen_at.to_string(),
            expires_at: session.expires_at.to_string(),
            address: session.origin.address.to_string(),
            user_agent: session.origin.user_agent,
        }
    }
}

/// Users behind `after` that the filter admits, up to `limit`. Reads a bounded number of records, however many there are:
/// the report says where to go on.
pub(super) async fn page(
    doorward: &Doorward,
    after: Option<EmailKey>,
    limit: usize,
    filter: &UserFilter,
) -> Result<Report, store::Error> {
    read(doorward, after, limit, filter, 1000, 10).await
}

async fn read(
    doorward: &Doorward,
    mut after: Option<EmailKey>,
    limit: usize,
    filter: &UserFilter,
    batch_size: usize,
    batches: usize,
) -> Result<Report, store::Error> {
    let mut users = Vec::new();
    for _ in 0..batches {
        let batch = doorward.store().users(after.as_ref(), batch_size).await?;
        let is_last = batch.len() < batch_size;
        for user in batch {
            let key = user.email.key();
            if filter.admits(&user) {
                if users.len() >= limit.min(batch_size) {
                    return Ok(told(users, after));
                }
                users.push(UserReport::from(user));
            }
            after = Some(key);
        }
        if is_last {
            return Ok(told(users, None));
        }
    }
    Ok(told(users, after))
}

fn told(users: Vec<UserReport>, next: Option<EmailKey>) -> Report {
    Report::Users { users, next: next.map(|key| key.as_str().to_owned()) }
}

/// A user, with the sessions that they have.
pub(super) async fn with_sessions(doorward: &Doorward, user: User) -> Result<Report, store::Error> {
    let sessions = doorward.store().sessions_by_user(user.id, doorward.now()).await?;
    let sessions = sessions.into_iter().map(SessionReport::from).collect();
    Ok(Report::User(UserReport { sessions: Some(sessions), ..user.into() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Settings,
        clock::Timestamp,
        config::DatabaseUrl,
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
            doorward.store().add_user(&user, None).await.unwrap();
            if number % 3 == 0 {
                let role = Role::parse("staff").unwrap();
                doorward.store().grant_role(user.id, &role, NOW).await.unwrap();
            }
            if number == 5 {
                doorward.store().disable_user(user.id, NOW).await.unwrap();
            }
        }
        doorward
    }

    #[tokio::test]
    async fn pages_add_up_to_what_the_filter_admits_whatever_their_size() {
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
                    let Ok(Report::Users { users, next }) = page else { panic!("{page:?}") };
                    assert!(users.len() <= limit.min(batch_size));
                    found.extend(users.into_iter().map(|user| user.email));
                    let Some(next) = next else { break };
                    after = Some(EmailKey::of(&next));
                }
                assert_eq!(found, wanted, "{filter:?} {limit} {batch_size} {batches}");
            }
        }
    }
}
