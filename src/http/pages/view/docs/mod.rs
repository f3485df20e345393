//! The documentation of the API as a page: what the OpenAPI document says, in the order of the document.

mod curl;
mod json;
mod schema;

use askama::Template;

use self::{
    curl::curl,
    json::Json,
    schema::{Field, Resolver},
};
use super::{super::text::Texts, PageContext, html};

/// The documentation of the API.
pub struct Docs {
    version: String,
    /// The paragraphs of the introduction.
    introduction: Vec<Words>,
    groups: Vec<Group>,
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
    answers: Vec<Answer>,
    curl: String,
}

struct Answer {
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
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    view: &'a Docs,
}

impl Docs {
    /// Reads an OpenAPI document. What it does not contain is left out.
    pub fn read(document: &str) -> Self {
        let document: Json = serde_json::from_str(document).unwrap_or_default();
        let resolver = Resolver { document: &document };
        let introduction = document.at("info").at("description").text().split("\n\n");
        let groups = document.at("tags").items().iter().map(|tag| Group {
            name: tag.at("name").text().to_owned(),
            description: Words::of(tag.at("description").text()),
            operations: operations(resolver, tag.at("name").text()),
        });
        Self {
            version: document.at("info").at("version").text().to_owned(),
            introduction: introduction.map(Words::of).collect(),
            groups: groups.collect(),
        }
    }

    /// The HTML of the page.
    pub fn render(&self, page: &PageContext<'_>) -> String {
        html(&Html { page, t: page.texts(), view: self })
    }
}

fn operations(resolver: Resolver<'_>, tag: &str) -> Vec<Operation> {
    let mut found = Vec::new();
    for (path, item) in resolver.document.at("paths").members() {
        // Only a path that accepts every method accepts this one, and all methods have the same answers.
        let is_any = !item.at("trace").is_null();
        for (method, operation) in item.members() {
            let is_shown = !is_any || method == "get";
            if is_shown && operation.at("tags").items().iter().any(|own| own.text() == tag) {
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
    item: &Json,
    operation: &Json,
) -> Operation {
    let security = operation.at("security").items().first().and_then(|way| way.members().first());
    let parameters = [item, operation].map(|owner| owner.at("parameters").items()).concat();
    let parameters: Vec<_> =
        parameters.iter().map(|parameter| resolver.resolved(parameter)).collect();
    let media = operation.at("requestBody").at("content").members().first();
    Operation {
        id: operation.at("operationId").text().to_owned(),
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: Words::of(operation.at("summary").text()),
        description: Words::of(operation.at("description").text()),
        credentials: security.map(|(scheme, _)| match scheme.as_str() {
            "basic" => "name and secret of a client (HTTP Basic)",
            _ => "bearer token",
        }),
        parameters: parameters.iter().map(|parameter| resolver.parameter(parameter)).collect(),
        body: media.map(|(kind, media)| (kind.clone(), resolver.members_of(media.at("schema")))),
        answers: answers(resolver, operation),
        curl: curl(resolver, path, method, &parameters, operation),
    }
}

fn answers(resolver: Resolver<'_>, operation: &Json) -> Vec<Answer> {
    /// Every answer has these.
    const USUAL: [&str; 3] = ["X-Request-Id", "X-Content-Type-Options", "Cache-Control"];
    let responses = operation.at("responses").members().iter();
    responses
        .map(|(status, response)| {
            let response = resolver.resolved(response);
            let headers = response.at("headers").members().iter().map(|(name, _)| name.clone());
            let media = response.at("content").members().first().map(|(_, media)| media);
            let example = media.map(|media| media.at("example")).filter(|e| !e.is_null());
            Answer {
                status: status.clone(),
                description: Words::of(response.at("description").text()),
                headers: headers.filter(|name| !USUAL.contains(&name.as_str())).collect(),
                // Errors have a message, which their description repeats.
                example: example.filter(|_| status.starts_with('2')).map(Json::pretty),
            }
        })
        .collect()
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
    fn a_document_without_anything_is_an_empty_page() {
        assert!(Docs::read("{}").groups.is_empty());
        assert!(Docs::read("").groups.is_empty());
    }
}
