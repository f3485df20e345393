//! What a person does on the pages with the links and codes in mails. The mails are read from the outbox.

use std::time::Duration;

use axum::http::header;
use doorward::internals::{Internals, mail::link, token::one_time::Purpose};

use super::{
    Browser, PASSWORD, PUBLIC, assert_goes_to, assert_shows, server as server_without_mail,
};
use crate::{
    outbox::{messages, one_time},
    support::{Answer, TestServer, with_mail},
};

const ADA: &str = "ada@example.com";
const NEW_PASSWORD: &str = "battery staple";

/// A service that mails links and codes, also to sign in. Nothing takes them out of the outbox, because no upkeep runs.
async fn server() -> TestServer {
    TestServer::open_with(|settings| {
        with_mail(settings).with("public_url", PUBLIC).with("sign_in.mail_code", "true")
    })
    .await
}

/// The link and the code in the latest mail to an address.
pub(super) struct Mailed {
    pub(super) path: String,
    secret: String,
    pub(super) code: String,
}

pub(super) async fn mailed(server: &TestServer, to: &str, purpose: Purpose) -> Mailed {
    let id = one_time(server, to, purpose).await;
    let mint = server.doorward.one_time_secrets();
    let secret = mint.secret(id, purpose);
    let link = link(PUBLIC, purpose, &secret);
    Mailed {
        path: link.strip_prefix(PUBLIC).unwrap().to_owned(),
        secret: secret.as_str().to_owned(),
        code: mint.code(id, purpose).to_text(),
    }
}

/// The hidden fields of the form with this action, with more that the person types.
pub(super) fn fields<'a>(
    page: &'a Answer,
    action: &str,
    typed: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let start = page.body.find(&format!("action=\"{action}\"")).expect("the form is there");
    let form = &page.body[start..];
    let form = &form[..form.find("</form>").unwrap()];
    let mut fields: Vec<_> = form
        .match_indices("<input type=\"hidden\" name=\"")
        .map(|(at, opening)| {
            let (name, rest) = form[at + opening.len()..].split_once('"').unwrap();
            let (_, rest) = rest.split_once("value=\"").unwrap();
            (name, rest.split_once('"').unwrap().0)
        })
        .collect();
    fields.extend(typed);
    fields
}

/// A page whose URL contains a secret keeps it from every other page.
#[track_caller]
fn assert_hides_its_url(page: &Answer) {
    assert_eq!(page.header(header::REFERRER_POLICY), Some("strict-origin"));
    assert_eq!(page.header(header::CACHE_CONTROL), Some("no-store"));
    let policy = page.header(header::CONTENT_SECURITY_POLICY).unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
}

async fn is_verified(server: &TestServer, email: &str) -> bool {
    server.doorward.user_by_email(email).await.unwrap().unwrap().email_verified
}

#[tokio::test]
async fn a_link_verifies_the_address_after_a_button_was_pressed() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", ADA).await;
    let page = browser.get("/account").await;
    let texts = [
        "Not confirmed",
        "We sent a mail to ada@example.com.",
        "inputmode=\"numeric\"",
        "Send it again",
    ];
    assert_shows(&page, 200, &texts);
    let mail = mailed(&server, ADA, Purpose::VerifyEmail).await;
    for _ in 0..3 {
        let page = browser.get(&mail.path).await;
        assert_shows(&page, 200, &["Confirm that ada@example.com is your address.", &mail.secret]);
        assert_hides_its_url(&page);
        assert!(!is_verified(&server, ADA).await, "opening a link changes nothing");
    }
    let page = browser.get(&mail.path).await;
    let answer = browser.post("/verify", &fields(&page, "/verify", &[])).await;
    assert_goes_to(&answer, "/account?done=verified");
    assert!(is_verified(&server, ADA).await);
    let page = browser.get("/account?done=verified").await;
    assert_shows(&page, 200, &["Your e-mail address is confirmed.", ">Confirmed<"]);
    assert!(!page.body.contains("We sent a mail"), "{}", page.body);

    // A second click.
    let page = browser.get(&mail.path).await;
    assert_shows(
        &page,
        410,
        &["This link is no longer valid", "Open your account", "href=\"/account\""],
    );
    assert_hides_its_url(&page);
    assert!(!page.body.contains(&mail.secret));
    let answer = browser.post("/verify", &[("code", &mail.secret), ("link", ADA)]).await;
    assert_shows(&answer, 410, &["This link is no longer valid"]);
}

#[tokio::test]
async fn somebody_who_is_not_signed_in_verifies_the_address_and_then_signs_in() {
    let server = server().await;
    Browser::of(&server, "Ada", ADA).await;
    let mail = mailed(&server, ADA, Purpose::VerifyEmail).await;
    let mut browser = Browser::new(&server);
    let page = browser.get(&mail.path).await;
    let answer = browser.post("/verify", &fields(&page, "/verify", &[])).await;
    assert_goes_to(&answer, "/sign-in?done=verified");
    let page = browser.get("/sign-in?done=verified").await;
    assert_shows(&page, 200, &["Your e-mail address is confirmed."]);
}

#[tokio::test]
async fn the_code_is_typed_on_the_account_or_with_the_address() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", ADA).await;
    let mail = mailed(&server, ADA, Purpose::VerifyEmail).await;
    let page = browser.get("/account").await;
    let wrong = browser.post("/verify", &fields(&page, "/verify", &[("code", "0000 0000")])).await;
    assert_shows(&wrong, 400, &["code-fault", "This code is wrong", "value=\"ada@example.com\""]);
    let empty = browser.post("/verify", &fields(&page, "/verify", &[])).await;
    assert_shows(&empty, 400, &["code-fault", "Fill in this field."]);
    assert!(!is_verified(&server, ADA).await);
    let right = browser.post("/verify", &fields(&page, "/verify", &[("code", &mail.code)])).await;
    assert_goes_to(&right, "/account?done=verified");
    assert!(is_verified(&server, ADA).await);

    Browser::of(&server, "Bob", "bob@example.com").await;
    let mail = mailed(&server, "bob@example.com", Purpose::VerifyEmail).await;
    let mut anonymous = Browser::new(&server);
    let page = anonymous.get("/verify").await;
    assert_shows(&page, 200, &["name=\"email\"", "name=\"code\"", "one-time-code"]);
    let typed = [("email", "bob@example.com"), ("code", &*mail.code)];
    assert_goes_to(&anonymous.post("/verify", &typed).await, "/sign-in?done=verified");
}

#[tokio::test]
async fn the_account_offers_another_mail_when_no_code_can_be_typed_any_more() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", ADA).await;
    let page = browser.get("/account").await;
    for _ in 0..10 {
        let wrong = fields(&page, "/verify", &[("code", "0000 0000")]);
        assert_shows(&browser.post("/verify", &wrong).await, 400, &["code-fault"]);
    }
    let page = browser.get("/account").await;
    assert_shows(&page, 200, &["We can send a mail with a link and a code to it."]);
    assert!(!page.body.contains("name=\"code\""), "{}", page.body);
    // The new code is the one that expires last.
    server.let_pass(Duration::from_secs(1));
    assert_goes_to(&browser.post("/account/verify", &[]).await, "/account?done=verify-sent");
    assert_shows(&browser.get("/account").await, 200, &["name=\"code\""]);
}

#[tokio::test]
async fn the_mail_that_verifies_the_address_is_sent_again() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", ADA).await;
    assert_goes_to(&browser.post("/account/verify", &[]).await, "/account?done=verify-sent");
    let page = browser.get("/account?done=verify-sent").await;
    assert_shows(&page, 200, &["A mail is on its way."]);
    assert_eq!(messages(&server, ADA).await.len(), 2);
    for _ in 0..20 {
        if browser.post("/account/verify", &[]).await.status == 429 {
            let answer = browser.post("/account/verify", &[]).await;
            assert_shows(&answer, 429, &["There were too many attempts.", "Your account"]);
            assert!(answer.header(header::RETRY_AFTER).is_some());
            assert_goes_to(&Browser::new(&server).post("/account/verify", &[]).await, "/sign-in");
            return;
        }
    }
    panic!("an address gets only a few mails");
}

#[tokio::test]
async fn a_new_address_is_confirmed_and_the_change_is_undone_from_the_old_one() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", ADA).await;
    let mail = mailed(&server, ADA, Purpose::VerifyEmail).await;
    browser.post("/verify", &[("code", &mail.secret), ("link", ADA)]).await;
    let change = [("email", "eve@example.com"), ("password", PASSWORD)];
    assert_goes_to(&browser.post("/account/email", &change).await, "/account?done=email-sent");
    let page = browser.get("/account?done=email-sent").await;
    let texts =
        ["We sent a mail to your new address.", "eve@example.com becomes your address", ADA];
    assert_shows(&page, 200, &texts);
    let mail = mailed(&server, "eve@example.com", Purpose::ChangeEmail).await;
    let page = browser.get(&mail.path).await;
    assert_shows(&page, 200, &["Confirm that eve@example.com is your address."]);
    let answer = browser.post("/verify", &fields(&page, "/verify", &[])).await;
    assert_goes_to(&answer, "/account?done=verified");
    assert_shows(&browser.get("/account").await, 200, &["eve@example.com"]);

    let mail = mailed(&server, ADA, Purpose::RestoreEmail).await;
    let mut owner = Browser::new(&server);
    let page = owner.get(&mail.path).await;
    let texts = ["ada@example.com becomes the address of your account again.", "new-password"];
    assert_shows(&page, 200, &texts);
    assert_hides_its_url(&page);
    let short = fields(&page, "/restore-email", &[("password", "short")]);
    let answer = owner.post("/restore-email", &short).await;
    assert_shows(&answer, 400, &["password-fault", &mail.secret, "ada@example.com becomes"]);
    assert!(browser.is_signed_in().await);
    let long = fields(&page, "/restore-email", &[("password", NEW_PASSWORD)]);
    assert_goes_to(&owner.post("/restore-email", &long).await, "/sign-in?done=restored");
    let page = owner.get("/sign-in?done=restored").await;
    assert_shows(&page, 200, &["Your old e-mail address and your new password are saved."]);
    assert!(!browser.is_signed_in().await);
    let fields = [("email", ADA), ("password", NEW_PASSWORD)];
    assert_goes_to(&owner.post("/sign-in", &fields).await, "/account");
    let page = owner.get(&mail.path).await;
    assert_shows(
        &page,
        410,
        &["This link is no longer valid", "ask the people who run this service"],
    );
}

#[tokio::test]
async fn a_new_address_is_mailed_again_or_cancelled_on_the_account() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", ADA).await;
    let change = [("email", "eve@example.com"), ("password", PASSWORD)];
    browser.post("/account/email", &change).await;
    let page = browser.get("/account").await;
    let forms = [
        "action=\"/account/email/again\"",
        "Send it again",
        "formaction=\"/account/email/cancel\">Cancel the change</button>",
    ];
    assert_shows(&page, 200, &forms);
    let answer = browser.post("/account/email/again", &[]).await;
    assert_shows(&answer, 429, &["There were too many attempts.", "Your account"]);
    server.let_pass(Duration::from_secs(15 * 60));
    let answer = browser.post("/account/email/again", &[]).await;
    assert_goes_to(&answer, "/account?done=email-sent");
    assert_eq!(messages(&server, "eve@example.com").await.len(), 2);
    let mail = mailed(&server, "eve@example.com", Purpose::ChangeEmail).await;
    for _ in 0..2 {
        let answer = browser.post("/account/email/cancel", &[]).await;
        assert_goes_to(&answer, "/account?done=email-cancelled");
    }
    let page = browser.get("/account?done=email-cancelled").await;
    assert_shows(
        &page,
        200,
        &["Your e-mail address stays as it is.", "action=\"/account/verify\""],
    );
    assert!(!page.body.contains("eve@example.com"), "{}", page.body);
    assert_shows(&browser.get(&mail.path).await, 410, &["This link is no longer valid"]);
    assert_goes_to(&browser.post("/account/email/again", &[]).await, "/account");
}

#[tokio::test]
async fn a_change_of_the_address_is_undone_by_no_code() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", ADA).await;
    let mail = mailed(&server, ADA, Purpose::VerifyEmail).await;
    browser.post("/verify", &[("code", &mail.secret), ("link", ADA)]).await;
    let change = [("email", "eve@example.com"), ("password", PASSWORD)];
    browser.post("/account/email", &change).await;
    let mail = mailed(&server, "eve@example.com", Purpose::ChangeEmail).await;
    browser.post("/verify", &[("code", &mail.code), ("email", "eve@example.com")]).await;
    let mail = mailed(&server, ADA, Purpose::RestoreEmail).await;
    assert_goes_to(&browser.get("/restore-email").await, "/sign-in");
    let typed = [("email", ADA), ("code", &*mail.code), ("password", NEW_PASSWORD)];
    let answer = browser.post("/restore-email", &typed).await;
    assert_shows(&answer, 410, &["This link is no longer valid"]);
    let linked = [("code", &*mail.secret), ("password", NEW_PASSWORD)];
    assert_goes_to(&browser.post("/restore-email", &linked).await, "/sign-in?done=restored");
}

#[tokio::test]
async fn a_forgotten_password_is_set_with_the_link() {
    let server = server().await;
    let mut signed_in = Browser::of(&server, "Ada", ADA).await;
    let mut browser = Browser::new(&server);
    let page = browser.get("/sign-in").await;
    assert_shows(&page, 200, &["href=\"/forgot\"", "href=\"/sign-in/code\""]);
    assert_shows(&browser.get("/forgot").await, 200, &["Send mail", "href=\"/reset\""]);
    let answer = browser.post("/forgot", &[("email", ADA)]).await;
    assert_shows(&answer, 200, &["If this address has an account, a mail is on its way."]);
    let mail = mailed(&server, ADA, Purpose::ResetPassword).await;
    let page = browser.get(&mail.path).await;
    assert_shows(
        &page,
        200,
        &["Set a new password for ada@example.com.", "autocomplete=\"username\""],
    );
    assert_hides_its_url(&page);
    let short = fields(&page, "/reset", &[("password", "short")]);
    let answer = browser.post("/reset", &short).await;
    assert_shows(&answer, 400, &["password-fault", "Set a new password for ada@example.com."]);
    assert!(signed_in.is_signed_in().await);
    let long = fields(&page, "/reset", &[("password", NEW_PASSWORD)]);
    assert_goes_to(&browser.post("/reset", &long).await, "/sign-in?done=reset");
    assert!(!signed_in.is_signed_in().await);
    let sign_in = [("email", ADA), ("password", NEW_PASSWORD)];
    assert_goes_to(&browser.post("/sign-in", &sign_in).await, "/account");
    let page = browser.get(&mail.path).await;
    assert_shows(
        &page,
        410,
        &["This link is no longer valid", "Have a new mail sent", "href=\"/forgot\""],
    );
    assert_shows(&browser.post("/reset", &long).await, 410, &["This link is no longer valid"]);
}

#[tokio::test]
async fn a_forgotten_password_is_set_with_the_code() {
    let server = server().await;
    Browser::of(&server, "Ada", ADA).await;
    let mut browser = Browser::new(&server);
    let page = browser.post("/forgot", &[("email", ADA)]).await;
    let mail = mailed(&server, ADA, Purpose::ResetPassword).await;
    assert!(!page.body.contains(&mail.secret) && !page.body.contains(&mail.code));
    let typed = |code| [("code", code), ("password", NEW_PASSWORD)];
    let wrong = fields(&page, "/reset", &typed("1"));
    let answer = browser.post("/reset", &wrong).await;
    assert_shows(&answer, 400, &["code-fault", "the code from the mail to ada@example.com"]);
    assert!(!answer.body.contains(NEW_PASSWORD));
    let right = fields(&answer, "/reset", &typed(&mail.code));
    assert_goes_to(&browser.post("/reset", &right).await, "/sign-in?done=reset");
    assert_eq!(server.login(ADA, NEW_PASSWORD).await.status, 200);
}

#[tokio::test]
async fn a_link_that_has_expired_says_so() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", ADA).await;
    browser.post("/forgot", &[("email", ADA)]).await;
    let reset = mailed(&server, ADA, Purpose::ResetPassword).await;
    server.let_pass(Duration::from_secs(61 * 60));
    assert_shows(&browser.get(&reset.path).await, 410, &["This link is no longer valid"]);
    let verify = mailed(&server, ADA, Purpose::VerifyEmail).await;
    assert_shows(&browser.get(&verify.path).await, 200, &["Confirm that"]);
    server.let_pass(Duration::from_secs(3 * 24 * 60 * 60));
    assert_shows(&browser.get(&verify.path).await, 410, &["This link is no longer valid"]);
}

#[tokio::test]
async fn a_secret_of_another_purpose_opens_no_page() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", ADA).await;
    let mail = mailed(&server, ADA, Purpose::VerifyEmail).await;
    for path in ["/reset", "/restore-email", "/sign-in/code/use"] {
        let page = browser.get(&format!("{path}?code={}", mail.secret)).await;
        assert_shows(&page, 410, &["This link is no longer valid"]);
        assert_hides_its_url(&page);
    }
    let page = browser.get(&format!("/sign-up?invitation={}", mail.secret)).await;
    assert_shows(&page, 410, &["This invitation is no longer valid"]);
    assert_hides_its_url(&page);
    for path in ["/verify?code=", "/reset?code=%00%ff", "/verify?code=x&code=y"] {
        assert_shows(&browser.get(path).await, 410, &["This link is no longer valid"]);
    }
}

/// A user without a password.
async fn register_without_password(server: &TestServer, email: &str) {
    server.register_with(serde_json::json!({"name": "Grace", "email": email})).await;
}

#[tokio::test]
async fn a_person_without_a_password_signs_in_with_a_link_or_a_code() {
    let server = server().await;
    register_without_password(&server, ADA).await;
    let mut browser = Browser::new(&server);
    assert_shows(&browser.get("/sign-in/code").await, 200, &["Sign in with a code", "Send mail"]);
    let page = browser.post("/sign-in/code", &[("email", ADA)]).await;
    assert_shows(&page, 200, &["If this address has an account", "inputmode=\"numeric\""]);
    let mail = mailed(&server, ADA, Purpose::SignIn).await;
    let action = "/sign-in/code/use";
    let wrong = browser.post(action, &fields(&page, action, &[("code", "00000000")])).await;
    assert_shows(&wrong, 400, &["code-fault", "This code is wrong"]);
    assert!(browser.cookies.is_empty());
    let right = fields(&page, action, &[("code", &mail.code), ("stay", "1")]);
    let answer = browser.post(action, &right).await;
    assert_goes_to(&answer, "/account");
    assert!(answer.set_cookies()[0].contains("Max-Age="), "stays signed in");
    let page = browser.get("/account").await;
    assert_shows(&page, 200, &["We can mail you a link to set one.", "href=\"/forgot\""]);

    let mut other = Browser::new(&server);
    other.post("/sign-in/code", &[("email", ADA)]).await;
    let mail = mailed(&server, ADA, Purpose::SignIn).await;
    let page = other.get(&mail.path).await;
    assert_shows(&page, 200, &["You sign in as ada@example.com.", &mail.secret]);
    assert!(!page.body.contains("This browser is signed in"), "{}", page.body);
    assert_hides_its_url(&page);
    assert!(other.cookies.is_empty(), "opening a link signs nobody in");
    assert_goes_to(&other.post(action, &fields(&page, action, &[])).await, "/account");
    assert!(other.is_signed_in().await);
    let page = other.get(&mail.path).await;
    assert_shows(&page, 410, &["This link is no longer valid", "href=\"/sign-in/code\""]);
    assert_goes_to(&Browser::new(&server).get(action).await, "/sign-in/code");
}

#[tokio::test]
async fn the_page_for_a_code_says_whom_it_is_for() {
    let only = "This is for accounts without a password.";
    assert_shows(&Browser::new(&server().await).get("/sign-in/code").await, 200, &[only]);
    let server = TestServer::open_with(|settings| {
        with_mail(settings).with("public_url", PUBLIC).with("sign_in.mail_code", "everybody")
    })
    .await;
    let mut browser = Browser::new(&server);
    let page = browser.get("/sign-in/code").await;
    assert_shows(&page, 200, &["We mail you a link and a code."]);
    assert!(!page.body.contains(only), "{}", page.body);
}

#[tokio::test]
async fn a_link_to_sign_in_names_the_account_and_the_one_that_the_browser_leaves() {
    let server = server().await;
    register_without_password(&server, "eve@example.com").await;
    let mut browser = Browser::of(&server, "Ada", ADA).await;
    Browser::new(&server).post("/sign-in/code", &[("email", "eve@example.com")]).await;
    let mail = mailed(&server, "eve@example.com", Purpose::SignIn).await;
    let page = browser.get(&mail.path).await;
    let both = ["You sign in as eve@example.com.", "This browser is signed in as ada@example.com."];
    assert_shows(&page, 200, &both);
    assert!(browser.is_signed_in().await, "opening a link changes nothing");
}

#[tokio::test]
async fn a_request_for_mail_does_not_tell_whether_the_address_is_known() {
    let server = server().await;
    Browser::of(&server, "Ada", ADA).await;
    register_without_password(&server, "bob@example.com").await;
    for path in ["/forgot", "/sign-in/code"] {
        let mut answers = Vec::new();
        for email in [ADA, "bob@example.com", "eve@example.com"] {
            let answer = Browser::new(&server).post(path, &[("email", email)]).await;
            let is_the_same = |name: &str| name != "x-request-id";
            let headers: Vec<_> =
                answer.headers.iter().filter(|(name, _)| is_the_same(name.as_str())).collect();
            answers.push((answer.status, format!("{headers:?}"), answer.body.replace(email, "X")));
        }
        assert_eq!(answers[0].0, 200);
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{path}");
    }
}

#[tokio::test]
async fn a_request_for_mail_with_an_address_that_is_not_one_names_the_field() {
    let server = server().await;
    for path in ["/forgot", "/sign-in/code"] {
        for fields in [&[("email", "ada")][..], &[]] {
            let answer = Browser::new(&server).post(path, fields).await;
            assert_shows(&answer, 400, &["email-fault", "Error: "]);
        }
    }
}

#[tokio::test]
async fn a_service_without_mail_offers_none() {
    let server = server_without_mail().await;
    let mut browser = Browser::of(&server, "Ada", ADA).await;
    let account = browser.get("/account").await;
    assert!(!account.body.contains("/verify\""), "{}", account.body);
    let mut browser = Browser::new(&server);
    let page = browser.get("/sign-in").await;
    assert_shows(&page, 200, &["href=\"/reset\""]);
    assert!(!page.body.contains("/sign-in/code") && !page.body.contains("/forgot"));
    assert_goes_to(&browser.get("/forgot").await, "/reset");
    assert_goes_to(&browser.get("/sign-in/code").await, "/sign-in");
    for path in ["/forgot", "/sign-in/code"] {
        let answer = browser.post(path, &[("email", ADA)]).await;
        assert_shows(&answer, 501, &["This service sends no mail"]);
    }
}

#[tokio::test]
async fn the_pages_are_german_for_those_who_prefer_it() {
    let server = server().await;
    let mut browser = Browser::new(&server);
    browser.language = "de";
    assert_shows(&browser.get("/forgot").await, 200, &["Passwort vergessen?", "Mail senden"]);
    assert_shows(&browser.get("/verify").await, 200, &["Bestätigen Sie Ihre E-Mail-Adresse"]);
    assert_shows(&browser.get("/verify?code=x").await, 410, &["Dieser Link gilt nicht mehr"]);
}
