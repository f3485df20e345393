//! `/api/admin/users`: lists, adds, shows, changes and deletes users.

use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    repeated,
    sessions::SessionInfo,
    target::{Named, find},
    version::{expected, tag_of},
};
use crate::{
    Doorward,
    account::{
        NewUser,
        factor_list::{self, FactorInfo, TrustedDeviceInfo},
        identity_list::{self, IdentityInfo},
        key_list::ApiKeyInfo,
        keys,
        order::{AddUser, Delete, Edit},
        register,
        search::{self, UserFilter, UserPage},
        sessions,
    },
    clock::Timestamp,
    http::{
        Error,
        admin::{Admin, UsersRead},
        answer::{NoContent, NoStore},
        description::{Answer, Created, Schemas, Success},
        form::{CheckedLater, JsonForm, NewPassword, form},
        query::{Flag, Limit, Query},
    },
    id::Id,
    user::{ApiKey, Email, HeldFactors, Name, User, UserId},
};

/// A page of users. It may be short although more follow.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UserPage")]
pub struct Users {
    pub users: Vec<UserInfo>,
    /// The parameter `after` of the next page, if there may be one.
    pub next: Option<String>,
}

/// A user as an administrator sees them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedUser")]
pub struct UserInfo {
    pub id: UserId,
    pub name: String,
    pub email: String,
    pub email_verified: bool,
    pub roles: Vec<String>,
    pub has_password: bool,
    pub disabled: bool,
    /// When the user registered.
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub last_login_at: Option<Timestamp>,
    /// What one user has. Only the answer about one has it, which is a [`ShownUser`].
    #[serde(flatten)]
    #[schemars(skip)]
    pub held: Option<Held>,
}

/// A user with what they have.
#[derive(Serialize, JsonSchema)]
pub(in crate::http) struct ShownUser {
    #[serde(flatten)]
    user: UserInfo,
    #[serde(flatten)]
    held: Held,
}

/// The sessions of a user, and what they hold besides the password.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Held {
    pub sessions: Vec<SessionInfo>,
    pub factors: Vec<FactorInfo>,
    /// How many recovery codes the user has.
    pub recovery_codes: usize,
    /// The browsers that the user trusts.
    pub trusted_devices: Vec<TrustedDeviceInfo>,
    /// The API keys of the user that have not ended.
    #[serde(default)]
    pub api_keys: Vec<ApiKeyInfo>,
    /// The accounts of the user at other providers.
    #[serde(default)]
    pub identities: Vec<IdentityInfo>,
}

impl Held {
    fn new(
        sessions: Vec<SessionInfo>,
        held: &HeldFactors,
        keys: Vec<ApiKey>,
        identities: Vec<IdentityInfo>,
    ) -> Self {
        Self {
            sessions,
            factors: factor_list::factors(held),
            recovery_codes: held.recovery_codes,
            trusted_devices: factor_list::trusted_devices(held),
            api_keys: keys.into_iter().map(ApiKeyInfo::from).collect(),
            identities,
        }
    }
}

impl From<&User> for UserInfo {
    fn from(user: &User) -> Self {
        Self {
            id: user.id,
            name: user.name.as_str().to_owned(),
            email: user.email.as_str().to_owned(),
            email_verified: user.email_verified,
            roles: user.roles.iter().map(str::to_owned).collect(),
            has_password: user.password_hash.is_some(),
            disabled: user.disabled,
            created_at: user.created_at,
            updated_at: user.updated_at,
            last_login_at: user.last_login_at,
            held: None,
        }
    }
}

/// The most users of a page.
pub const MAX_PAGE: usize = 1000;

form! {
    pub(in crate::http) struct UserQuery {
        /// How many.
        limit: Limit<50, MAX_PAGE>,
        /// Only disabled users.
        disabled: Option<Flag>,
        /// Where the page starts: `next` of the page before.
        after: Option<String>,
        /// Words, in any letter case. With each of them, a word of the name or the address begins: `ada lov` finds Ada Lovelace, and
        /// `example.com` every address there. Parts within a word find nothing: `car` finds Carl, `arl` does not.
        text: Option<String>,
        /// Only users with this role.
        role: Option<String>,
    }
}

form! {
    pub(in crate::http) struct NewUserForm as "NewUser" {
        name: CheckedLater<Name>,
        email: CheckedLater<Email>,
        password: Option<CheckedLater<NewPassword>>,
    }
}

form! {
    pub(in crate::http) struct UserChangeForm as "UserChange" {
        name: Option<Name>,
        email: Option<Email>,
        email_verified as "emailVerified": Option<bool>,
        disabled: Option<bool>,
    }
}

pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    _: Admin<UsersRead>,
    query: Query<UserQuery>,
) -> Result<NoStore<Users>, Error> {
    let UserQuery { limit, disabled, after, text, role } = query.read(&doorward)?;
    let filter = UserFilter { text, role, disabled: disabled.unwrap_or_default() };
    let UserPage { users, next } =
        search::page(&doorward, after.as_deref(), limit, &filter).await?;
    let users = users.iter().map(UserInfo::from).collect();
    Ok(NoStore(StatusCode::OK, Users { users, next }))
}

pub(in crate::http) async fn create(
    State(doorward): State<Doorward>,
    admin: Admin<AddUser>,
    headers: HeaderMap,
    form: JsonForm<NewUserForm>,
) -> Result<Tagged<Created<UserInfo>>, Error> {
    let id = repeated::id_of(&doorward, &admin, "user", &headers)?.map(UserId::from_uuid);
    let NewUserForm { name, email, password } = form.read(&doorward)?;
    let user = NewUser::new(name, email);
    let user = match password {
        Some(password) => user.password(password),
        None => user,
    };
    let user = register::create_once(&doorward, user, id, &admin).await?;
    Ok(Tagged::new(&user, Created(UserInfo::from(&user))))
}

pub(in crate::http) async fn show(
    State(doorward): State<Doorward>,
    _: Admin<UsersRead>,
    Named(user): Named<String>,
) -> Result<Tagged<NoStore<ShownUser>>, Error> {
    let user = find(&doorward, &user).await?;
    let sessions = sessions::list(&doorward, user.id).await?;
    let sessions = sessions.into_iter().map(SessionInfo::from).collect();
    let held = doorward.store().factors_of(&user, doorward.now()).await?;
    let keys = keys::valid_of_user(&doorward, user.id).await?;
    let identities = identity_list::list(&doorward, user.id).await?;
    let held = Held::new(sessions, &held, keys, identities);
    let shown = ShownUser { user: UserInfo::from(&user), held };
    Ok(Tagged::new(&user, NoStore(StatusCode::OK, shown)))
}

pub(in crate::http) async fn change(
    State(doorward): State<Doorward>,
    admin: Admin<Edit>,
    Named(user): Named<String>,
    headers: HeaderMap,
    form: JsonForm<UserChangeForm>,
) -> Result<Tagged<NoStore<UserInfo>>, Error> {
    let user = admin.subject(&doorward, &user).await?;
    let UserChangeForm { name, email, email_verified, disabled } = form.read(&doorward)?;
    // After the body: a request that would be refused without its precondition is refused for that (RFC 9110, 13.2.1).
    let version = expected(&headers, &user)?;
    let edit = Edit { name, email, email_verified, disabled, version };
    let user = admin.carry_out(&doorward, edit, &user).await?.user;
    Ok(Tagged::new(&user, NoStore(StatusCode::OK, UserInfo::from(&user))))
}

pub(in crate::http) async fn delete(
    State(doorward): State<Doorward>,
    admin: Admin<Delete>,
    Named(user): Named<String>,
    headers: HeaderMap,
) -> Result<NoContent, Error> {
    let user = admin.subject(&doorward, &user).await?;
    let version = expected(&headers, &user)?;
    admin.carry_out(&doorward, Delete { version }, &user).await?;
    Ok(NoContent)
}

/// An answer with the version of the record.
pub(in crate::http) struct Tagged<A>(HeaderValue, A);

impl<A> Tagged<A> {
    fn new(user: &User, answer: A) -> Self {
        Self(tag_of(user), answer)
    }
}

impl<A: IntoResponse> IntoResponse for Tagged<A> {
    fn into_response(self) -> Response {
        ([(header::ETAG, self.0)], self.1).into_response()
    }
}

impl<A: Answer> Answer for Tagged<A> {
    fn describe(schemas: &mut Schemas) -> Vec<Success> {
        A::describe(schemas).into_iter().map(|answer| answer.with("ETag", "ETag")).collect()
    }
}
