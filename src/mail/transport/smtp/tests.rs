//! Tests of each step against a server that follows a script.

use Turn::{AfterMail, Close, CloseAfterMail, Endless, EndlessAfterMail, Reply, Silence};

use super::{
    script::{GO, HELLO, OK, SILENT, Turn, server},
    *,
};
use crate::mail::{Contents, Encryption, parse_mailbox};

fn smtp(port: u16, encryption: Encryption) -> Smtp {
    let settings =
        MailSettings { from: parse_mailbox("shop@example.com"), ..MailSettings::default() };
    let server = SmtpServer { host: "127.0.0.1".into(), port, encryption };
    Smtp::new(server, &settings).unwrap()
}

fn mail() -> Composed {
    let (from, to) = ("shop@example.com".parse().unwrap(), "ada@example.com".parse().unwrap());
    let envelope = Envelope::new(Some(from), vec![to]).unwrap();
    Composed {
        envelope,
        bytes: b"Subject: hello\r\n\r\n.dot\r\n".to_vec(),
        contents: Contents::default(),
    }
}

fn script(turns: &[Turn]) -> Vec<Turn> {
    [&HELLO[..], turns].concat()
}

async fn failure_of(script: Vec<Turn>) -> SendError {
    let (port, _lines) = server(vec![script]);
    smtp(port, Encryption::None).send(&mail()).await.unwrap_err()
}

#[tokio::test]
async fn one_connection_takes_many_mails() {
    let accepted = [OK, OK, GO, AfterMail("250 queued\r\n")];
    let (port, lines) = server(vec![script(&[accepted, accepted].concat())]);
    let mut smtp = smtp(port, Encryption::None);
    smtp.send(&mail()).await.unwrap();
    smtp.send(&mail()).await.unwrap();
    drop(smtp);
    let one = [
        "MAIL FROM:<shop@example.com>",
        "RCPT TO:<ada@example.com>",
        "DATA",
        "Subject: hello",
        "",
        "..dot",
        "",
        ".",
    ];
    let expected: Vec<_> = ["EHLO example.com"].iter().chain(&one).chain(&one).copied().collect();
    let heard: Vec<_> = lines.into_iter().take(expected.len()).collect();
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn a_connection_that_the_server_has_closed_is_replaced() {
    let accepted = [OK, OK, GO, AfterMail("250 queued\r\n")];
    for end in [Close, Reply("421 too many mails\r\n")] {
        let first = script(&[&accepted[..], &[end]].concat());
        let (port, _lines) = server(vec![first, script(&accepted)]);
        let mut smtp = smtp(port, Encryption::None);
        smtp.send(&mail()).await.unwrap();
        smtp.send(&mail()).await.unwrap();
    }
}

#[tokio::test]
async fn each_refusal_names_its_step_and_the_reply() {
    type Kind = fn(&SendError) -> bool;
    let unreachable: Kind = |error| matches!(error, SendError::Unreachable(_));
    let temporary: Kind = |error| matches!(error, SendError::Temporary(_));
    let permanent: Kind = |error| matches!(error, SendError::Permanent(_));
    let lost: Kind = |error| matches!(error, SendError::Lost(_));
    let closed = "the server closed the connection without an answer";
    for (script, kind, text) in [
        (vec![Reply("554 no service\r\n")], unreachable, "EHLO: 554 no service".to_owned()),
        (vec![Close], unreachable, format!("EHLO: {closed}")),
        (vec![Reply("HTTP/1.1 400 Bad Request\r\n"), Close], unreachable, "EHLO: ".into()),
        (script(&[Reply("550 not you\r\n")]), unreachable, "MAIL FROM: 550 not you".into()),
        (script(&[Reply("451 busy\r\n")]), unreachable, "MAIL FROM: 451 busy".into()),
        (script(&[Close]), unreachable, format!("MAIL FROM: {closed}")),
        (
            script(&[OK, Reply("550-5.1.1 <ada@example.com>\r\n550 5.1.1 unknown\r\n")]),
            permanent,
            "RCPT TO: 550 5.1.1 <…> unknown".into(),
        ),
        (script(&[OK, Reply("451 4.7.1 later\r\n")]), temporary, "RCPT TO: 451 4.7.1 later".into()),
        (script(&[OK, Reply("421 bye\r\n")]), temporary, "RCPT TO: 421 bye".into()),
        (script(&[OK, Reply("530 log in\r\n")]), unreachable, "RCPT TO: 530 log in".into()),
        (script(&[OK, Close]), temporary, format!("RCPT TO: {closed}")),
        (script(&[OK, OK, Reply("554 no\r\n")]), permanent, "DATA: 554 no".into()),
        (script(&[OK, OK, Close]), temporary, format!("DATA: {closed}")),
        (
            script(&[OK, OK, GO, AfterMail("554 spam\r\n")]),
            permanent,
            "end of the mail: 554 spam".into(),
        ),
        (
            script(&[OK, OK, GO, AfterMail("452 full\r\n")]),
            temporary,
            "end of the mail: 452 full".into(),
        ),
        (script(&[OK, OK, GO, CloseAfterMail]), lost, "end of the mail: ".into()),
    ] {
        let error = failure_of(script).await;
        let shown = error.failure().to_string();
        assert!(kind(&error) && shown.starts_with(&text), "{text}: {error:?}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up() {
    for (script, text) in [
        (vec![Silence], "EHLO: no answer within 30 s"),
        (script(&[Silence]), "MAIL FROM: no answer within 30 s"),
        (script(&[OK, Silence]), "RCPT TO: no answer within 30 s"),
        (script(&[OK, OK, Silence]), "DATA: no answer within 30 s"),
        (script(&[OK, OK, GO, Silence]), "end of the mail: no answer within 60 s"),
    ] {
        let (port, lines) = server(vec![script]);
        let sending = tokio::spawn(async move { smtp(port, Encryption::None).send(&mail()).await });
        // The clock stands still only once the server is silent, so that no earlier step can take too long.
        let silent = move || lines.into_iter().any(|line| line == SILENT);
        assert!(tokio::task::spawn_blocking(silent).await.unwrap());
        tokio::time::pause();
        let error = sending.await.unwrap().unwrap_err();
        tokio::time::resume();
        assert_eq!(error.failure().to_string(), text);
        let is_lost = matches!(error, SendError::Lost(_));
        assert_eq!(is_lost, text.starts_with("end of the mail"), "{error:?}");
    }
}

#[tokio::test]
async fn a_reply_that_does_not_end_is_given_up() {
    let too_long = "the reply of the server is longer than 16 KiB or 128 lines";
    let (line, lines) = (Endless("a"), Endless("250-\r\n"));
    for (script, step, is_lost) in [
        (vec![line], "EHLO", false),
        (vec![Endless("220-\r\n")], "EHLO", false),
        (vec![HELLO[0], lines], "EHLO", false),
        (script(&[line]), "MAIL FROM", false),
        (script(&[OK, line]), "RCPT TO", false),
        (script(&[OK, lines]), "RCPT TO", false),
        (script(&[OK, OK, line]), "DATA", false),
        (script(&[OK, OK, GO, EndlessAfterMail("250-\r\n")]), "end of the mail", true),
    ] {
        let error = failure_of(script).await;
        assert_eq!(error.failure().to_string(), format!("{step}: {too_long}"));
        assert_eq!(matches!(error, SendError::Lost(_)), is_lost, "{error:?}");
    }
    for script in [vec![line], vec![HELLO[0], lines], vec![HELLO[0], line]] {
        let (port, _lines) = server(vec![script]);
        let error = smtp(port, Encryption::StartTls).send(&mail()).await.unwrap_err();
        assert_eq!(error.failure().to_string(), format!("EHLO: {too_long}"));
    }
}

#[tokio::test]
async fn the_longest_reply_is_read() {
    // 127 lines, 16,263 bytes.
    static REPLY: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
        let line = format!("250-{}\r\n", "a".repeat(123));
        format!("{}250 end\r\n", line.repeat(126))
    });
    let accepted = [Reply(&REPLY), Reply(&REPLY), GO, AfterMail(&REPLY)];
    let (port, _lines) = server(vec![script(&accepted)]);
    smtp(port, Encryption::None).send(&mail()).await.unwrap();
}

#[tokio::test]
async fn a_reply_with_bytes_that_are_no_text_is_given_up_or_shown_without_them() {
    let reply = Reply("550 no\0thing\u{1b}[31m\r\n");
    let error = failure_of(script(&[OK, reply])).await;
    assert_eq!(error.failure().to_string(), "RCPT TO: 550 no thing [31m");
}

#[tokio::test]
async fn a_refusal_that_quotes_the_mail_or_the_login_shows_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let password = folder.path().join("password");
    std::fs::write(&password, "geheim").unwrap();
    let quoting =
        "550 your code 1234\u{a0}5678 of https://a.example/reset?code=qqqqqqqq is spam, geheim\r\n";
    let shown = "550 your code … of https://a.example/reset?… is spam, …";
    let logged_in = |turns: &[Turn]| script(&[&[Reply("235 welcome\r\n")], turns].concat());
    for (turns, step) in [
        (vec![Reply(quoting)], "MAIL FROM"),
        (vec![OK, Reply(quoting)], "RCPT TO"),
        (vec![OK, OK, GO, AfterMail(quoting)], "end of the mail"),
    ] {
        let (port, _lines) = server(vec![logged_in(&turns)]);
        let mut smtp = smtp(port, Encryption::None);
        smtp.user = Some(("ada".into(), password.clone()));
        let contents = Contents { code: Some("1234 5678".into()), ..Contents::default() };
        let error = smtp.send(&Composed { contents, ..mail() }).await.unwrap_err();
        assert_eq!(error.failure().to_string(), format!("{step}: {shown}"));
    }
}

#[tokio::test]
async fn nothing_listens() {
    // A bound port that nobody listens on.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let port = socket.local_addr().unwrap().port();
    let error = smtp(port, Encryption::None).send(&mail()).await.unwrap_err();
    let text = format!("connect: 127.0.0.1:{port}: Connection refused");
    assert!(matches!(&error, SendError::Unreachable(_)), "{error:?}");
    assert!(error.failure().to_string().starts_with(&text), "{error:?}");
}

#[tokio::test]
async fn mail_is_not_sent_without_tls_where_it_is_required() {
    let plain = Reply("250 mail\r\n");
    let offered = Reply("250-mail\r\n250 STARTTLS\r\n");
    let greeting = Reply("220 mail ready\r\n");
    for (script, text) in [
        (vec![greeting, plain, Silence], "STARTTLS: the server does not offer it"),
        (vec![greeting, offered, Reply("454 not now\r\n")], "STARTTLS: 454 not now"),
        // What somebody on the way adds must not be taken for a reply of the encrypted session.
        (
            vec![greeting, offered, Reply("220 go on\r\n250-mail\r\n250 AUTH PLAIN\r\n"), Silence],
            "STARTTLS: the server sent more than one reply before encryption",
        ),
        (vec![greeting, offered, Reply("220 go on\r\n"), Close], "TLS: "),
        (vec![Reply("+OK pop3\r\n")], "EHLO: this is not a mail server: +OK pop3"),
    ] {
        let (port, lines) = server(vec![script]);
        let mut smtp = smtp(port, Encryption::StartTls);
        let folder = tempfile::tempdir().unwrap();
        let password = folder.path().join("password");
        std::fs::write(&password, "geheim").unwrap();
        smtp.user = Some(("ada".into(), password));
        let error = smtp.send(&mail()).await.unwrap_err();
        assert!(error.failure().to_string().starts_with(text), "{text}: {error:?}");
        drop(smtp);
        let heard = lines.into_iter().collect::<Vec<_>>().join("\n");
        assert!(!heard.contains("AUTH") && !heard.contains("MAIL"), "{heard}");
    }
    // A server without TLS on a port for it.
    let (port, _lines) = server(vec![vec![greeting, Close]]);
    let error = smtp(port, Encryption::Implicit).send(&mail()).await.unwrap_err();
    assert!(error.failure().to_string().starts_with("TLS: "), "{error:?}");
}

#[tokio::test]
async fn a_refused_login_does_not_show_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let password = folder.path().join("password");
    std::fs::write(&password, "geheim\n").unwrap();
    let log_in = |turns: &[Turn], file: &std::path::Path| {
        let (port, lines) = server(vec![script(turns)]);
        let mut smtp = smtp(port, Encryption::None);
        smtp.user = Some(("ada".into(), file.to_owned()));
        (smtp, lines)
    };
    let (mut smtp, lines) =
        log_in(&[Reply("535 5.7.8 no: geheim AGFkYQBnZWhlaW0=\r\n")], &password);
    let error = smtp.send(&mail()).await.unwrap_err();
    assert_eq!(error.failure().to_string(), "AUTH: 535 5.7.8 no: … …");
    assert!(matches!(error, SendError::Unreachable(_)));
    assert_eq!(lines.iter().nth(1).unwrap(), "AUTH PLAIN AGFkYQBnZWhlaW0=");
    let (mut smtp, _lines) = log_in(&[Silence], &folder.path().join("missing"));
    let error = smtp.send(&mail()).await.unwrap_err().failure().to_string();
    assert!(error.starts_with("AUTH: mail.password_file: "), "{error}");
}

#[test]
fn a_file_of_certificates_is_read_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let read = || {
        let error = Issuers::new(Some(&file)).err().unwrap().to_string();
        error.replace(&folder.path().display().to_string(), "")
    };
    assert_eq!(read(), "mail.ca_file: /ca.pem: No such file or directory (os error 2)");
    std::fs::write(&file, "no certificate").unwrap();
    assert_eq!(read(), "mail.ca_file: /ca.pem: contains no certificate (PEM)");
}

#[test]
fn all_steps_together_take_no_longer_than_the_longest_send() {
    let Timeouts { session, command, content, quit, .. } = TIMEOUTS;
    // The old connection, the new one, and the commands on it.
    assert!(command + session + 3 * command + content + quit <= MAX_SEND_TIME);
}
