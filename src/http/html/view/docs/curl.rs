//! The command that sends the example of an operation.

use serde_json::Value;

use super::{is_for_operator, items, members, schema::Resolver, security_scheme, text};

/// A command for a shell in which `TOKEN` is a token, `CLIENT` the name and secret of a client, as `name:secret`, and `SOCKET` the
/// socket in the data folder.
pub(super) fn curl(
    resolver: Resolver<'_>,
    path: &str,
    method: &str,
    parameters: &[&Value],
    operation: &Value,
) -> String {
    let server = items(&resolver.document["servers"]).first();
    let mut url = match is_for_operator(operation) {
        true => "http://localhost".to_owned(),
        false => server.map_or("", |server| text(&server["url"])).to_owned(),
    };
    url.push_str(path);
    for parameter in parameters.iter().filter(|parameter| parameter["in"] == "path") {
        let place = format!("{{{}}}", text(&parameter["name"]));
        url = url.replace(&place, text(&parameter["example"]));
    }
    let body = members(&operation["requestBody"]["content"]).next();
    let mut words = vec!["curl".to_owned()];
    // curl sends GET, and POST with a body, by itself.
    if !matches!((method, body), ("get", None) | ("post", Some(_))) {
        words.push(format!("-X {}", method.to_uppercase()));
    }
    if is_for_operator(operation) {
        words.push("--unix-socket \"$SOCKET\"".to_owned());
    }
    words.push(quoted(&url));
    words.extend(security_scheme(operation).map(|scheme| match scheme {
        "basic" => "-u \"$CLIENT\"".to_owned(),
        _ => "-H \"Authorization: Bearer $TOKEN\"".to_owned(),
    }));
    match body {
        Some((kind, media)) if kind == "application/json" => {
            words.push("-H 'Content-Type: application/json'".to_owned());
            words.push(format!("-d {}", quoted(&media["example"].to_string())));
        }
        Some((kind, media)) if kind == "application/x-ndjson" => {
            words.push("-H 'Content-Type: application/x-ndjson'".to_owned());
            words.push(format!("--data-binary {}", quoted(text(&media["example"]))));
        }
        Some(_) => words.push("-d \"token=$TOKEN\"".to_owned()),
        None => {}
    }
    words.join(" ")
}

/// A word that the shell does not change.
fn quoted(text: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:".contains(&b);
    if text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_reads_a_quoted_text_as_it_is() {
        assert_eq!(quoted("http://127.0.0.1:3000/api/me"), "http://127.0.0.1:3000/api/me");
        assert_eq!(quoted("$(x)"), "'$(x)'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
