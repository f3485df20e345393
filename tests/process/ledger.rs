//! A client-side record of what a server acknowledged, compared with its data after a crash.
//!
//! Only a completely read answer is an acknowledgement.

use std::{
    collections::{HashMap, HashSet},
    sync::Mutex,
};

use serde_json::{Value, json};

use crate::support::{Answer, Client, Home, Member, PASSWORD, member, name_for};

/// A registration that was sent.
#[derive(Clone, Debug)]
pub struct Entry {
    email: String,
    has_password: bool,
}

impl Entry {
    fn body(&self) -> Value {
        let mut body = json!({"name": name_for(&self.email), "email": self.email});
        if self.has_password {
            body["password"] = PASSWORD.into();
        }
        body
    }
}

#[derive(Default)]
struct Pages {
    registered: Vec<(Entry, Member)>,
    /// Tokens of logins.
    logged_in: Vec<String>,
    /// Sent, and answered with an error or not at all. Each is stored in full or not at all.
    unanswered: Vec<Entry>,
    /// Stored although the client got no answer.
    made_untold: Vec<Entry>,
}

/// The ledger of one data folder.
#[derive(Default)]
pub struct Ledger {
    pages: Mutex<Pages>,
}

/// Counts of every outcome.
#[derive(Debug)]
pub struct Figures {
    pub registered: usize,
    #[expect(dead_code, reason = "printed")]
    pub logged_in: usize,
    #[expect(dead_code, reason = "printed")]
    pub made_untold: usize,
}

impl Pages {
    fn figures(&self) -> Figures {
        Figures {
            registered: self.registered.len(),
            logged_in: self.logged_in.len(),
            made_untold: self.made_untold.len(),
        }
    }
}

impl Ledger {
    /// Registers a user and records the outcome; false if the server does not answer.
    pub fn register(&self, client: &Client, email: &str, has_password: bool) -> bool {
        let entry = Entry { email: email.to_owned(), has_password };
        let answer = client.try_post("/api/user", &entry.body());
        let mut pages = self.pages.lock().unwrap();
        match answer {
            Ok(answer) if answer.status == 201 => {
                let member = member(email, &answer);
                pages.registered.push((entry, member));
                true
            }
            Ok(answer) => {
                answer.must_be_unavailable();
                pages.unanswered.push(entry);
                true
            }
            Err(_) => {
                pages.unanswered.push(entry);
                false
            }
        }
    }

    /// Logs a user in and records it; false if the server does not answer.
    pub fn login(&self, client: &Client, email: &str) -> bool {
        let body = json!({"email": email, "password": PASSWORD});
        match client.try_post("/api/auth/login", &body) {
            Ok(answer) if answer.status == 200 => {
                self.pages.lock().unwrap().logged_in.push(answer.field("token"));
                true
            }
            Ok(answer) => {
                answer.must_be_unavailable();
                true
            }
            Err(_) => false,
        }
    }

    /// A registered user, selected by a random number.
    pub fn any_member(&self, number: usize, with_password: bool) -> Option<Member> {
        let pages = self.pages.lock().unwrap();
        let count = pages.registered.len();
        let mut from_there =
            (0..count).map(|step| &pages.registered[(number % count + step) % count]);
        let found = from_there.find(|(entry, _)| entry.has_password || !with_password);
        found.map(|(_, member)| member.clone())
    }

    pub fn figures(&self) -> Figures {
        self.pages.lock().unwrap().figures()
    }

    /// Repeats every registration without an answer, to learn whether it was stored.
    pub fn settle(&self, client: &Client) {
        let unanswered = std::mem::take(&mut self.pages.lock().unwrap().unanswered);
        for entry in unanswered {
            let answer = client.post("/api/user", &entry.body());
            let mut pages = self.pages.lock().unwrap();
            match answer.status {
                201 => {
                    let member = member(&entry.email, &answer);
                    pages.registered.push((entry, member));
                }
                409 => {
                    if entry.has_password {
                        let login = client.login(&entry.email, PASSWORD);
                        assert_eq!(login.status, 200, "made by half: {entry:?}: {login:?}");
                    }
                    pages.made_untold.push(entry);
                }
                _ => panic!("{entry:?}: {answer:?}"),
            }
        }
    }

    /// Asserts that the server has every acknowledged registration and login. Checks as many passwords as `sample`.
    pub fn compare(&self, client: &Client, sample: usize) -> Figures {
        const ASKING: usize = 4;
        let pages = self.pages.lock().unwrap();
        assert!(pages.unanswered.is_empty(), "not settled");
        let lost = Mutex::new(Vec::new());
        let note = |what: String, answer: Answer| lost.lock().unwrap().push((what, answer));
        std::thread::scope(|scope| {
            for share in 0..ASKING {
                let (pages, note) = (&pages, &note);
                scope.spawn(move || {
                    for (_, member) in pages.registered.iter().skip(share).step_by(ASKING) {
                        let profile = client.profile(&member.id);
                        let whole = json!({"id": member.id, "name": member.name});
                        if profile.status != 200 || profile.json() != whole {
                            note(format!("profile of {member:?}"), profile);
                        }
                        let guard = client.try_guard(&member.token).unwrap();
                        if guard.status != 200 {
                            note(format!("token of {member:?}"), guard);
                        }
                    }
                    for token in pages.logged_in.iter().skip(share).step_by(ASKING) {
                        let guard = client.try_guard(token).unwrap();
                        if guard.status != 200 {
                            note(format!("token {token}"), guard);
                        }
                    }
                    let with_password =
                        pages.registered.iter().filter(|(entry, _)| entry.has_password);
                    for (_, member) in
                        with_password.skip(share).step_by(ASKING).take(sample / ASKING)
                    {
                        let login = client.login(&member.email, PASSWORD);
                        if login.status != 200 {
                            note(format!("login of {member:?}"), login);
                        }
                    }
                });
            }
        });
        let lost = lost.into_inner().unwrap();
        assert!(lost.is_empty(), "{} lost, such as {:#?}", lost.len(), &lost[..lost.len().min(3)]);
        let ids: HashSet<_> = pages.registered.iter().map(|(_, member)| &member.id).collect();
        assert_eq!(ids.len(), pages.registered.len(), "an id was assigned twice");
        pages.figures()
    }

    /// Asserts, while no server runs, that `user list` has every user of the ledger exactly once, with all fields, and no
    /// others except those in `besides`.
    pub fn compare_with_list(&self, home: &Home, besides: &[&Member]) {
        let listed = home.run(&["user", "list", "--json"]);
        assert!(listed.status.success(), "{}", listed.stderr);
        let listed: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
        let pages = self.pages.lock().unwrap();
        let entries = pages.registered.iter().map(|(entry, _)| entry).chain(&pages.made_untold);
        let mut wanted: HashMap<&str, &Entry> = entries.map(|e| (e.email.as_str(), e)).collect();
        let mut ids = HashSet::new();
        for user in &listed {
            let email = user["email"].as_str().unwrap();
            if besides.iter().any(|member| member.email == email) {
                continue;
            }
            let entry =
                wanted.remove(email).unwrap_or_else(|| panic!("never sent, or twice: {user}"));
            assert_eq!(user["name"], name_for(email), "{user}");
            assert_eq!(user["hasPassword"], entry.has_password, "{user}");
            assert!(ids.insert(user["id"].as_str().unwrap()), "an id twice: {user}");
        }
        assert!(wanted.is_empty(), "not listed: {:?}", wanted.into_keys().collect::<Vec<_>>());
    }
}

/// The result of SQLite's integrity check. No server may be running.
pub fn integrity(home: &Home) -> String {
    let db = rusqlite::Connection::open(home.database()).unwrap();
    db.pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap()
}
