//! The log line of each event. Its level and its words stand in the table of kinds. Every line names the user, and the network of the
//! request or who has given the order. What else a kind tells is added here.

use std::fmt;

use tracing::field::{DisplayValue, display};

use super::{
    AccessEnded, Actor, Event, EventKind, RegistrationRefusal, Reloaded,
    kind_info::{LogLevel, LogLine, LogWords},
};
use crate::{count::Label, log::FloodLine, network::Network, session::Method, user::UserId};

/// Writes a line with these fields at a level that is known when it is written.
macro_rules! line {
    ($level:expr, $($fields:tt)+) => {
        match $level {
            LogLevel::Info => tracing::info!($($fields)+),
            LogLevel::Warn => tracing::warn!($($fields)+),
        }
    };
}

/// What every line has.
struct Line {
    level: LogLevel,
    text: Text,
    user: Option<DisplayValue<UserId>>,
    /// The id of the user or the key that has given the order. `None` if it is no order. The span of a command names the operator.
    actor: Option<String>,
    /// The network of the request. `None` if it is an order.
    network: Option<DisplayValue<Network>>,
}

/// The message of a line: the words, and who has given the order.
struct Text {
    words: &'static str,
    by: Option<&'static str>,
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words)?;
        self.by.map_or(Ok(()), |by| write!(f, " by {by}"))
    }
}

impl Line {
    fn new(event: &Event, LogLine { level, words }: LogLine) -> Self {
        let administrator = event.administrator();
        let (words, is_order) = match words {
            LogWords::Own(words) => (words, false),
            LogWords::Order(words) => (words, true),
            LogWords::OwnOrOrder(own, order) => match administrator {
                None => (own, false),
                Some(_) => (order, true),
            },
        };
        Self {
            level,
            text: Text { words, by: is_order.then(|| title(&event.actor)) },
            user: event.subject.map(display),
            actor: administrator.filter(|_| is_order).and_then(id_of),
            network: network_of(event).filter(|_| !is_order),
        }
    }

    fn is_order(&self) -> bool {
        self.text.by.is_some()
    }
}

/// Writes the line of an event. Lines that anybody can cause are limited: above the limit they are only counted.
pub(super) fn write(event: &Event) {
    let Some(line) = event.kind.info().log else { return };
    if is_within_limit(&event.kind) {
        write_session(event, &Line::new(event, line));
    }
}

fn is_within_limit(kind: &EventKind) -> bool {
    match kind {
        EventKind::RegistrationRefused(reason) => {
            policy_reason(*reason).is_some() && FloodLine::RegistrationRefused.is_written("")
        }
        EventKind::MailRequested { purpose } => {
            FloodLine::MailRequested.is_written(purpose.as_str())
        }
        EventKind::MailWithheld => {
            FloodLine::MailRequested.is_written("the address has got too much")
        }
        EventKind::ResetFailed => FloodLine::FailedReset.is_written(""),
        EventKind::SignInFailed { reason, .. } => FloodLine::FailedLogin.is_written(reason.text()),
        EventKind::ExternalSignInFailed { reason, .. } => {
            FloodLine::FailedLogin.is_written(reason.label())
        }
        EventKind::FactorAsked { .. } => {
            FloodLine::FailedLogin.is_written("the second factor is missing")
        }
        _ => true,
    }
}

/// The lines about sessions. The id of the request is in the span that a line is written in.
fn write_session(event: &Event, line: &Line) {
    let Line { level, text, user, actor, network } = line;
    match &event.kind {
        EventKind::Registered { session: Some(session), .. }
        | EventKind::SignedInToApp { session }
        | EventKind::SignedOut { session }
        | EventKind::SessionEnded { session }
        | EventKind::TokenReused { session } => {
            line!(level, user, %session, actor, network, "{text}");
        }
        EventKind::Registered { session: None, .. } => {
            line!(level, user, network, "{text}, to be verified");
        }
        EventKind::SignedIn { session, methods, login } => {
            let how = if methods.contains(Method::MailedCode) { " with a mailed code" } else { "" };
            line!(level, user, %session, login, network, "{text}{how}");
        }
        EventKind::SteppedUp { session, methods } => {
            line!(level, user, %session, network, methods = methods.to_text(), "{text}");
        }
        EventKind::FactorAsked { methods } => {
            line!(level, user, network, methods = methods.to_text(), "{text}");
        }
        EventKind::SignInFailed { reason, email: _ } => {
            line!(level, network, %reason, user, "{text}");
        }
        EventKind::ExternalSignInFailed { login, reason } => {
            line!(level, user, login, reason = reason.label(), network, "{text}");
        }
        EventKind::SessionEndedByClient { session, client } => {
            line!(level, user, %session, client, "{text}");
        }
        EventKind::SessionsEnded { count } => {
            line!(level, user, network, ended = count, actor, "{text}");
        }
        _ => write_account(event, line),
    }
}

/// The lines about accounts and what belongs to them.
fn write_account(event: &Event, line: &Line) {
    let Line { level, text, user, actor, network } = line;
    match &event.kind {
        EventKind::RegistrationRefused(reason) => {
            line!(level, network, reason = policy_reason(*reason), "{text}");
        }
        EventKind::UserChanged { name, email } => {
            line!(level, user, network, name, email, "{text}");
        }
        EventKind::UserSecured { ended } => {
            let AccessEnded { sessions, api_keys, factors, .. } = ended.unwrap_or_default();
            line!(level, user, sessions, api_keys, factors, actor, "{text}");
        }
        EventKind::UnverifiedUserDeleted => line!(level, user, "{text}"),
        EventKind::RoleGranted(role) => {
            line!(level, user, role = role.as_str(), granted = true, actor, "{text}");
        }
        EventKind::RoleRevoked(role) => {
            line!(level, user, role = role.as_str(), granted = false, actor, "{text}");
        }
        EventKind::EmailVerified { purpose } | EventKind::MailRequested { purpose } => {
            line!(level, user, network, purpose = purpose.as_str(), "{text}");
        }
        EventKind::EmailVerificationSet { verified } => {
            line!(level, user, verified, actor, "{text}");
        }
        EventKind::FactorAdded { kind } | EventKind::FactorRemoved { kind } => {
            line!(level, user, network, factor = kind.name(), "{text}");
        }
        EventKind::IdentityLinked { login } | EventKind::IdentityUnlinked { login } => {
            line!(level, user, network, login, actor, "{text}");
        }
        EventKind::Invited { invitation, .. } | EventKind::InvitationRevoked { invitation } => {
            let user = user.as_ref().filter(|_| !line.is_order());
            line!(level, %invitation, user, actor, "{text}");
        }
        EventKind::KeyCreated { key, name } | EventKind::KeyRevoked { key, name } => {
            line!(level, %key, name, user, actor, network = network_of(event), "{text}");
        }
        _ => write_service(event, line),
    }
}

/// The lines about the installation, and those without fields of their own.
fn write_service(event: &Event, line: &Line) {
    let Line { level, text, user, actor, network } = line;
    match &event.kind {
        EventKind::UsersImported { count } => line!(level, users = count, actor, "{text}"),
        EventKind::UsersExported { hashes } => line!(level, hashes, actor, "{text}"),
        EventKind::AuditExported { format } => line!(level, format, actor, "{text}"),
        EventKind::AuditSecretReplaced { before, .. } => line!(level, before, "{text}"),
        EventKind::SigningKeyRotated { kid } | EventKind::SigningKeyRevoked { kid } => {
            line!(level, kid, actor, "{text}");
        }
        EventKind::GuardsReloaded(reloaded) | EventKind::LoginsReloaded(reloaded) => {
            let Reloaded { added, changed, removed } = reloaded;
            // Once a reload: it also has an event of guards if none has changed.
            let advice = match event.kind {
                EventKind::GuardsReloaded(_) => "; other settings need a restart",
                _ => "",
            };
            line!(
                level,
                added = added.join(" "),
                changed = changed.join(" "),
                removed = removed.join(" "),
                actor,
                "{text}{advice}"
            );
        }
        EventKind::MailRetried { count } => line!(level, mails = count, actor, "{text}"),
        EventKind::EverythingRevoked { sessions, passwords } => {
            line!(level, sessions, passwords, actor, "{text}");
        }
        EventKind::BackupRestored { made_at } => line!(level, %made_at, actor, "{text}"),
        EventKind::DataMoved { to } => line!(level, to, actor, "{text}"),
        _ => line!(level, user, network, actor, "{text}"),
    }
}

fn network_of(event: &Event) -> Option<DisplayValue<Network>> {
    event.client.as_ref().map(|client| display(Network::at(client.address)))
}

/// Who has ordered something, in words.
fn title(actor: &Actor) -> &'static str {
    match actor {
        Actor::User(_) => "an administrator",
        Actor::Key { .. } => "the holder of an API key",
        Actor::Operator(_) | Actor::Unknown | Actor::Service => "the operator",
    }
}

fn id_of(actor: &Actor) -> Option<String> {
    match actor {
        Actor::User(id) => Some(id.to_string()),
        Actor::Key { key, .. } => Some(key.to_string()),
        Actor::Operator(_) | Actor::Unknown | Actor::Service => None,
    }
}

/// Why the policy refuses somebody. The other refusals have no line: the answer tells them, or a failed login has one.
fn policy_reason(refusal: RegistrationRefusal) -> Option<&'static str> {
    match refusal {
        RegistrationRefusal::NotInvited => Some("not invited"),
        RegistrationRefusal::Closed => Some("closed"),
        RegistrationRefusal::Condition => Some("condition"),
        RegistrationRefusal::OnlyElsewhere => Some("only elsewhere"),
        RegistrationRefusal::WrongInvitation | RegistrationRefusal::AddressTaken => None,
    }
}

#[cfg(feature = "cli")]
#[cfg(test)]
mod tests {
    use std::{
        io::{self, Write},
        sync::{Arc, Mutex},
    };

    use super::*;
    use crate::{
        clock::Timestamp,
        event::Administrator,
        network::{ClientInfo, Requester},
        user::Role,
    };

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(line)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn line_of(event: &Event) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt().without_time().with_target(false).json();
        let log = log.flatten_event(true).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(log, || write(event));
        String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn a_line_names_the_network_of_people_or_who_has_given_an_order() {
        let (user, at) = (UserId::random(), Timestamp::from_millis(0));
        let requester = Requester::new(ClientInfo::new([192, 0, 2, 1].into(), "curl/8"));
        let own = |kind| Event::by_user(user, &requester, at, kind);
        let ordered = |kind| Event::by_administrator(&Administrator::APP, Some(user), at, kind);
        let role = Role::parse("staff").unwrap();
        for (event, expected) in [
            (
                own(EventKind::PasswordChanged),
                format!(r#"{{"level":"INFO","message":"password changed","user":"{user}","network":"192.0.2.1"}}"#),
            ),
            (
                ordered(EventKind::PasswordChanged),
                format!(r#"{{"level":"INFO","message":"password set by the operator","user":"{user}"}}"#),
            ),
            (
                ordered(EventKind::RoleGranted(role)),
                format!(r#"{{"level":"INFO","message":"role set by the operator","user":"{user}","role":"staff","granted":true}}"#),
            ),
            (
                ordered(EventKind::EverythingRevoked { sessions: Some(2), passwords: Some(1) }),
                r#"{"level":"WARN","message":"all keys and secrets replaced, and all sessions ended, by the operator","sessions":2,"passwords":1}"#.into(),
            ),
            (Event::by_service(at, EventKind::ServiceStopped), String::new()),
        ] {
            assert_eq!(line_of(&event).trim_end(), expected);
        }
    }
}
