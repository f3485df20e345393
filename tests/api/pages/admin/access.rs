//! Who sees which page, and who may send which form.

use doorward::internals::{
    access::scope::Scope,
    http::routes::{MayCall, Method, Route, routes},
};

use super::*;
use crate::pages::cross_site::path_of;

/// The pages of the administration with their scope, and whether they need a fresh sign-in.
fn pages() -> Vec<(Route, Scope, bool)> {
    let pages: Vec<_> = routes()
        .into_iter()
        .filter(|route| route.is_page() && route.path.starts_with("/admin"))
        .map(|route| match route.may_call {
            MayCall::Admin(scope) => (route, scope, false),
            MayCall::Fresh(scope) => (route, scope, true),
            other => panic!("{} is for {other:?}", route.path),
        })
        .collect();
    assert!(pages.len() >= 25);
    pages
}

async fn status(browser: &mut Browser<'_>, route: &Route, id: &str) -> (u16, Option<String>) {
    let path = path_of(route.path).replace("{id}", id);
    let answer = match route.method {
        Method::Get => browser.get(&path).await,
        _ => browser.post(&path, &[]).await,
    };
    let location = answer.header("location").map(str::to_owned);
    (answer.status.as_u16(), location)
}

#[tokio::test]
async fn a_page_is_for_those_who_have_its_scope() {
    let server = server().await;
    let mut nobody = Browser::new(&server);
    let mut user = Browser::of(&server, "Ada", "ada@example.com").await;
    let mut helpdesk = browser_of(&server, "help@example.com", "helpdesk").await;
    let mut auditor = browser_of(&server, "audit@example.com", "auditor").await;
    let mut admin = admin_browser(&server).await;
    let id = id_of(&server, "ada@example.com").await;
    let reads = [Scope::StatusRead, Scope::GuardsRead, Scope::InvitationsRead];
    // Forms that end the sessions of the user, or delete them, come last.
    let mut pages = pages();
    pages.sort_by_key(|(route, ..)| route.path.ends_with("/delete"));
    for (route, scope, _) in &pages {
        let name = format!("{} {}", route.method.as_str(), route.path);
        let (code, location) = status(&mut nobody, route, &id).await;
        assert_eq!(code, 303, "{name}");
        assert!(location.unwrap().starts_with("/sign-in?for="), "{name}");
        let of_user = status(&mut user, route, &id).await.0;
        // The administrator ends the sessions of the user.
        assert!([404, 303].contains(&of_user), "{name}: {of_user}");
        for (browser, may) in [
            (&mut helpdesk, [Scope::UsersRead, Scope::UsersWrite].contains(scope)),
            (&mut auditor, reads.contains(scope)),
            (&mut admin, true),
        ] {
            let (code, location) = status(browser, route, &id).await;
            match may {
                true => assert!(![401, 403, 405].contains(&code), "{name}: {code}"),
                // From the start page they are led to what they may see.
                false if route.path == "/admin" => {
                    assert_eq!((code, location.as_deref()), (303, Some("/admin/users")));
                }
                false => assert_eq!(code, 403, "{name}"),
            }
        }
    }
}

#[tokio::test]
async fn for_those_who_administer_nothing_there_is_no_such_page() {
    let server = server().await;
    let mut user = Browser::of(&server, "Ada", "ada@example.com").await;
    let id = id_of(&server, "ada@example.com").await;
    for (route, ..) in pages() {
        assert_eq!(status(&mut user, &route, &id).await.0, 404, "{}", route.path);
    }
    assert!(!user.get("/account").await.body.contains("/admin"));
}

#[tokio::test]
async fn what_cannot_be_undone_needs_a_fresh_sign_in() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    Browser::of(&server, "Eve", EVE).await;
    let id = id_of(&server, EVE).await;
    let_sign_ins_age(&server);
    let mut fresh = 0;
    for (route, _, needs_fresh) in pages() {
        let (code, location) = status(&mut admin, &route, &id).await;
        let location = location.unwrap_or_default();
        assert_eq!(location.starts_with("/step-up?next="), needs_fresh, "{}", route.path);
        if needs_fresh {
            let path = route.path.replace("{id}", &id);
            let (page, _) = path.rsplit_once('/').unwrap();
            let way = format!("/step-up?next={}", page.replace('/', "%2F"));
            assert_eq!((code, location), (303, way), "{}", route.path);
            fresh += 1;
        }
    }
    assert!(fresh >= 8);
    assert!(server.doorward.user_by_email(EVE).await.unwrap().is_some(), "nothing was done");
    // From there they come back.
    let page = page_of(&server, EVE).await;
    let way = format!("/step-up?next={}", page.replace('/', "%2F"));
    let asked = admin.get(&way).await;
    assert_shows(&asked, 200, &["Please confirm that it is you"]);
    let fields = [("ask", "again"), ("next", &*page), ("password", crate::pages::PASSWORD)];
    let done = admin.post("/step-up", &fields).await;
    assert_goes_to(&done, &format!("{page}?done=confirmed"));
    assert_shows(&admin.get(&format!("{page}?done=confirmed")).await, 200, &["It is you."]);
}

#[tokio::test]
async fn those_who_sign_in_return_to_the_page() {
    let server = server().await;
    admin_browser(&server).await;
    let mut browser = Browser::new(&server);
    let asked = browser.get("/admin/users?text=ad%20a").await;
    let way = asked.header("location").unwrap().to_owned();
    let page = browser.get(&way).await;
    let target = crate::pages::hidden(&page, "for");
    let fields = [("email", ADMIN), ("password", crate::pages::PASSWORD), ("for", &*target)];
    assert_goes_to(&browser.post("/sign-in", &fields).await, "/admin/users?text=ad%20a");
}

#[tokio::test]
async fn a_page_shows_only_what_the_administrator_may_do() {
    let server = server().await;
    let mut auditor = browser_of(&server, "audit@example.com", "auditor").await;
    let page = auditor.get("/admin").await;
    assert_shows(&page, 200, &["/admin/guards", "/admin/refusals", "/admin/invitations"]);
    for path in ["/admin/users", "/admin/mail", "/admin/signing-keys"] {
        assert!(!page.body.contains(&format!("href=\"{path}\"")), "{path}");
    }
    let page = auditor.get("/admin/invitations").await;
    assert!(!page.body.contains("<form"), "{}", page.body);
    let mut helpdesk = browser_of(&server, "help@example.com", "helpdesk").await;
    Browser::of(&server, "Eve", EVE).await;
    let page = helpdesk.get(&page_of(&server, EVE).await).await;
    assert_shows(&page, 200, &["/grant\"", "/disable\""]);
    assert!(!page.body.contains("/delete\""), "{}", page.body);
    // The account of an administrator leads to the administration.
    assert_shows(&helpdesk.get("/account").await, 200, &["href=\"/admin\""]);
}

#[tokio::test]
async fn nobody_gets_more_than_they_have() {
    let server = server().await;
    let mut helpdesk = browser_of(&server, "help@example.com", "helpdesk").await;
    let own = page_of(&server, "help@example.com").await;
    let refused = helpdesk.post(&format!("{own}/grant"), &[("role", "admin")]).await;
    assert_shows(&refused, 403, &["You may not do this"]);
    admin_browser(&server).await;
    let admin = page_of(&server, ADMIN).await;
    for form in ["reset-code", "password", "disable", "grant", "end-sessions", "verify"] {
        let fields = [("role", "staff"), ("password", "battery staple")];
        let refused = helpdesk.post(&format!("{admin}/{form}"), &fields).await;
        assert_shows(&refused, 403, &["You may not do this"]);
    }
    let page = helpdesk.get(&admin).await;
    assert_shows(&page, 200, &[ADMIN]);
    let export = format!("<form method=\"post\" action=\"{admin}/export\">");
    assert!(page.body.contains(&export), "{}", page.body);
    assert_eq!(page.body.matches("<form").count(), 1, "{}", page.body);
    // Other roles are theirs to give.
    assert_goes_to(
        &helpdesk.post(&format!("{own}/grant"), &[("role", "staff")]).await,
        &format!("{own}?done=granted"),
    );
}
