//! `/dev/logins/NAME`: the provider that a login has in `doorward dev`, its page for people, and what tests let it say.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::Control;
use crate::{
    dev::{AuthorizationRequest, Faults, ProviderAnswer, Redemption},
    fault::Fault,
    federation::Login,
    http::{
        Error,
        answer::{NO_STORE, NoContent, NoStore},
        form::{Form, PageForm},
        html::{
            answer::Pages,
            view::{DevLogin, TypedPerson, html},
        },
    },
    language::Language,
    user::User,
};

/// The most users that the page offers.
const MAX_OFFERED: usize = 8;

/// `POST /dev/logins/NAME`: what the next visitor is answered.
pub(super) async fn expect(
    State(control): State<Control>,
    Path(name): Path<String>,
    form: Form,
) -> Result<NoContent, Error> {
    let login = find(&control, &name)?;
    let answer = ProviderAnswer::parse(form.into_fields()).map_err(Error::Invalid)?;
    control.server.provider().expect(&login, answer);
    Ok(NoContent)
}

/// `GET /dev/logins/NAME/.well-known/openid-configuration`
pub(super) async fn discovery(
    State(control): State<Control>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Error> {
    let login = find(&control, &name)?;
    Ok(Json(control.server.provider().discovery(&login)))
}

/// `GET /dev/logins/NAME/keys`
pub(super) async fn keys(State(control): State<Control>) -> Json<Value> {
    Json(control.server.provider().keys())
}

/// `GET /dev/logins/NAME/authorize`: answers as a test wants it, or shows the page.
pub(super) async fn authorize(
    State(control): State<Control>,
    Path(name): Path<String>,
    uri: Uri,
) -> Result<Response, Error> {
    let login = find(&control, &name)?;
    let request = requested(&control, &login, &uri)?;
    match control.server.provider().expected(&login) {
        Some(answer) => Ok(go_back(&control, &login, request, answer)),
        None if !request.may_ask => {
            // Nobody is signed in at this provider.
            let answer = ProviderAnswer::Error("login_required".to_owned());
            Ok(go_back(&control, &login, request, answer))
        }
        None => page(&control, &login, TypedPerson::default(), None).await,
    }
}

/// `POST /dev/logins/NAME/authorize`: somebody has sent the page.
pub(super) async fn choose(
    State(control): State<Control>,
    Path(name): Path<String>,
    uri: Uri,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let login = find(&control, &name)?;
    let request = requested(&control, &login, &uri)?;
    let typed = TypedPerson {
        sub: form.typed("sub"),
        email: form.typed("email"),
        name: form.typed("name"),
        claims: form.typed("claims"),
        is_unverified: form.typed("verified").is_empty(),
    };
    match typed_answer(form.into_fields()) {
        Ok(answer) => Ok(go_back(&control, &login, request, answer)),
        Err(faults) => {
            let shown = faults.iter().map(|(field, fault)| format!("{field}: {}", fault.message()));
            let problem = shown.collect::<Vec<_>>().join(". ");
            page(&control, &login, typed, Some(problem)).await
        }
    }
}

/// The fields of the page as a test would send them.
fn typed_answer(mut fields: BTreeMap<String, Value>) -> Result<ProviderAnswer, Faults> {
    if let Some(verified) = fields.get_mut("verified") {
        *verified = true.into();
    }
    if let Some(Value::String(claims)) = fields.get("claims") {
        let parsed = serde_json::from_str(claims).map_err(|error| {
            vec![("claims".into(), Fault::malformed(format!("Not a JSON object: {error}")))]
        })?;
        fields.insert("claims".to_owned(), parsed);
    }
    ProviderAnswer::parse(fields)
}

/// `POST /dev/logins/NAME/token`
pub(super) async fn token(
    State(control): State<Control>,
    Path(name): Path<String>,
    PageForm(form): PageForm,
) -> Result<NoStore<Value>, Error> {
    let login = find(&control, &name)?;
    let redemption = Redemption {
        code: form.typed("code"),
        client_id: form.typed("client_id"),
        redirect_uri: form.typed("redirect_uri"),
        verifier: form.typed("code_verifier"),
    };
    Ok(match control.server.provider().redeem(&login, &redemption) {
        Some(token) => {
            NoStore(StatusCode::OK, json!({ "token_type": "Bearer", "id_token": token }))
        }
        None => NoStore(StatusCode::BAD_REQUEST, json!({ "error": "invalid_grant" })),
    })
}

/// The login of this name. The error names those that there are.
fn find(control: &Control, name: &str) -> Result<Arc<Login>, Error> {
    let doorward = control.server.doorward();
    let logins = doorward.logins();
    logins.by_name(name).cloned().ok_or_else(|| {
        let known: Vec<_> = logins.iter().map(|login| &*login.name).collect();
        let message = match known.is_empty() {
            true => {
                "There are no logins: the settings have no table such as [logins.google]".into()
            }
            false => format!("No such login: there are {}", known.join(", ")),
        };
        Error::NoSuch("login", Fault::malformed(message))
    })
}

/// What a browser was sent with. What differs from what Doorward sends is refused, so that nobody is led elsewhere.
fn requested(control: &Control, login: &Login, uri: &Uri) -> Result<AuthorizationRequest, Error> {
    let mut form = Form::of_query(uri.query().unwrap_or_default())?;
    let redirect_uri = login.redirect_uri(&control.server.doorward().public_base());
    let mut is_fixed = true;
    for (field, expected) in [
        ("response_type", "code"),
        ("client_id", &login.client_id),
        ("redirect_uri", &redirect_uri),
        ("code_challenge_method", "S256"),
    ] {
        let same = |sent: String| match sent == expected {
            true => Ok(()),
            false => Err(Fault::malformed(format!("Not {expected}"))),
        };
        is_fixed &= form.required(field, same).is_ok();
    }
    let [state, nonce, challenge] =
        ["state", "nonce", "code_challenge"].map(|field| form.required(field, Ok));
    let may_ask = form.typed("prompt") != "none";
    match (state, nonce, challenge) {
        (Ok(state), Ok(nonce), Ok(challenge)) if is_fixed => {
            Ok(AuthorizationRequest { redirect_uri, state, nonce, challenge, may_ask })
        }
        _ => Err(form.into_error()),
    }
}

fn go_back(
    control: &Control,
    login: &Login,
    request: AuthorizationRequest,
    answer: ProviderAnswer,
) -> Response {
    let now = control.server.clock().now();
    let url = control.server.provider().answer(login, request, answer, now);
    match HeaderValue::try_from(url) {
        Ok(url) => {
            let headers = [(header::LOCATION, url), (header::CACHE_CONTROL, NO_STORE)];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Err(error) => Error::Internal(error.to_string()).into_response(),
    }
}

async fn page(
    control: &Control,
    login: &Login,
    typed: TypedPerson,
    problem: Option<String>,
) -> Result<Response, Error> {
    let pages = Pages::new(control.server.doorward());
    let users = control.server.users().await?;
    let offered = users.into_iter().filter(|user| !user.disabled).take(MAX_OFFERED);
    let named = |user: User| (user.name.as_str().to_owned(), user.email.as_str().to_owned());
    let users: Vec<_> = offered.map(named).collect();
    let status = match problem {
        None => StatusCode::OK,
        Some(_) => StatusCode::BAD_REQUEST,
    };
    let language = Language::English;
    let page = pages.context(language);
    let view = DevLogin { page, label: &login.label, users: &users, typed, problem };
    // Browsers hold the redirects after a form to the policy, too, and they lead to this service and then to an app.
    Ok(pages.html(status, language, html(&view), Some("*")))
}
