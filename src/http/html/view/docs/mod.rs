//! The documentation of the API as a page: what the OpenAPI document says, in the order of the document.

mod curl;
mod schema;

use askama::Template;
use serde_json::{Map, Value};

use self::{
    curl::curl,
    schema::{Field, Resolver},
};
use super::{PageContext, html};

/// The documentation of the API.
pub struct Docs {
    version: String,
    start: Start,
    /// The paragraphs of the introduction.
    introduction: Vec<Words>,
    groups: Vec<Group>,
}

/// The first commands to try.
struct Start {
    register: String,
    me: String,
    guard: String,
}

/// The operations with one tag.
struct Group {
    name: String,
    description: Words,
    operations: Vec<Operation>,
}

struct Operation {
    id: String,
    /// `any` for a path that accepts every method.
    method: String,
    path: String,
    summary: Words,
    description: Words,
    /// How a client identifies itself.
    credentials: Option<&'static str>,
    parameters: Vec<Field>,
    /// The media type of the body and its members.
    body: Option<(String, Vec<Field>)>,
    answers: Vec<DocumentedResponse>,
    curl: String,
}

struct DocumentedResponse {
    status: String,
    description: Words,
    /// The headers that not every answer has.
    headers: Vec<String>,
    example: Option<String>,
}

/// Text in which code is marked.
struct Words(Vec<(bool, String)>);

impl Words {
    /// Reads text in which code stands between backticks.
    fn of(text: &str) -> Self {
        let parts = text.split('`').enumerate().filter(|(_, part)| !part.is_empty());
        Self(parts.map(|(at, part)| (at % 2 == 1, part.to_owned())).collect())
    }
}

#[derive(Template)]
#[template(path = "docs.html", whitespace = "minimize")]
struct DocsPage<'a> {
    page: PageContext<'a>,
    docs: &'a Docs,
}

impl Docs {
    /// Reads an OpenAPI document. What it does not contain is left out.
    pub fn read(document: &str) -> Self {
        let document: Value = serde_json::from_str(document).unwrap_or_default();
        let resolver = Resolver { document: &document };
        let introduction = text(&document["info"]["description"]).split("\n\n");
        let groups = items(&document["tags"]).iter().map(|tag| Group {
            name: text(&tag["name"]).to_owned(),
            description: Words::of(text(&tag["description"])),
            operations: operations(resolver, text(&tag["name"])),
        });
        Self {
            version: text(&document["info"]["version"]).to_owned(),
            start: start(resolver),
            introduction: introduction.map(Words::of).collect(),
            groups: groups.collect(),
        }
    }

    /// The document is read once, so the page is made from it and not the other way round.
    pub fn render(&self, page: PageContext<'_>) -> String {
        html(&DocsPage { page, docs: self })
    }
}

fn start(resolver: Resolver<'_>) -> Start {
    let command = |path: &str, method: &str| {
        let operation = &resolver.document["paths"][path][method];
        curl(resolver, path, method, &[], operation).replacen("curl ", "curl -s ", 1)
    };
    let token = r#"sed 's/.*"token":"\([^"]*\)".*/\1/'"#;
    Start {
        register: format!("TOKEN=$({} | {token})", command("/api/user", "post")),
        me: command("/api/me", "get"),
        guard: command("/api/auth/guard", "get").replacen("-s ", "-i ", 1),
    }
}

fn operations(resolver: Resolver<'_>, tag: &str) -> Vec<Operation> {
    let mut found = Vec::new();
    for (path, item) in members(&resolver.document["paths"]) {
        // Only a path that accepts every method accepts this one, and all methods have the same answers.
        let is_any = !item["trace"].is_null();
        for (method, operation) in members(item) {
            let is_shown = !is_any || method == "get";
            if is_shown && items(&operation["tags"]).iter().any(|own| own == tag) {
                let mut operation = read(resolver, path, method, item, operation);
                if is_any {
                    operation.method = "any".to_owned();
                }
                found.push(operation);
            }
        }
    }
    found
}

fn read(
    resolver: Resolver<'_>,
    path: &str,
    method: &str,
    item: &Value,
    operation: &Value,
) -> Operation {
    let parameters = [item, operation].map(|owner| items(&owner["parameters"])).concat();
    let parameters: Vec<_> =
        parameters.iter().map(|parameter| resolver.resolved(parameter)).collect();
    let media = members(&operation["requestBody"]["content"]).next();
    Operation {
        id: text(&operation["operationId"]).to_owned(),
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: Words::of(text(&operation["summary"])),
        description: Words::of(text(&operation["description"])),
        credentials: credentials(operation),
        parameters: parameters.iter().map(|parameter| resolver.parameter(parameter)).collect(),
        body: media.map(|(kind, media)| (kind.clone(), resolver.members_of(&media["schema"]))),
        answers: answers(resolver, operation),
        curl: curl(resolver, path, method, &parameters, operation),
    }
}

fn answers(resolver: Resolver<'_>, operation: &Value) -> Vec<DocumentedResponse> {
    /// Every answer has these.
    const USUAL: [&str; 3] = ["X-Request-Id", "X-Content-Type-Options", "Cache-Control"];
    members(&operation["responses"])
        .map(|(status, response)| {
            let response = resolver.resolved(response);
            let headers = members(&response["headers"]).map(|(name, _)| name.clone());
            let media = members(&response["content"]).next();
            let example = media.map(|(_, media)| &media["example"]).filter(|e| !e.is_null());
            DocumentedResponse {
                status: status.clone(),
                description: Words::of(text(&response["description"])),
                headers: headers.filter(|name| !USUAL.contains(&name.as_str())).collect(),
                // Errors have a message, which their description repeats.
                example: example.filter(|_| status.starts_with('2')).map(|e| format!("{e:#}")),
            }
        })
        .collect()
}

/// How a client identifies itself, in words.
fn credentials(operation: &Value) -> Option<&'static str> {
    if is_for_operator(operation) {
        return Some("connection to the socket in the data folder");
    }
    security_scheme(operation).map(|scheme| match scheme {
        "basic" => "name and secret of a client (HTTP Basic)",
        _ => "bearer token",
    })
}

/// Whether only the operator on the machine may call it. OpenAPI has no scheme for that.
fn is_for_operator(operation: &Value) -> bool {
    operation["x-operator"] == true
}

/// How a client identifies itself, by the name in the document.
fn security_scheme(operation: &Value) -> Option<&str> {
    let (scheme, _) = members(items(&operation["security"]).first()?).next()?;
    Some(scheme)
}

/// The members of an object, in the order of the document.
fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stands_between_backticks() {
        let words = Words::of("`a` and `b`");
        let expected = [(true, "a"), (false, " and "), (true, "b")];
        assert!(words.0.iter().map(|(code, text)| (*code, text.as_str())).eq(expected));
        assert!(Words::of("").0.is_empty());
    }

    #[test]
    fn examples_keep_the_order_of_the_document() {
        let text = r#"{"b":[1,-2,true,null,"x"],"a":{"z":0.5,"y":{}}}"#;
        assert_eq!(serde_json::from_str::<Value>(text).unwrap().to_string(), text);
    }

    #[test]
    fn a_document_without_anything_is_an_empty_page() {
        assert!(Docs::read("{}").groups.is_empty());
        assert!(Docs::read("").groups.is_empty());
    }
}
