//! What the pages of the administration are made of: tables that become cards on a phone, times in words, and orders behind a
//! confirmation.

use askama::{Template, filters::HtmlSafe};

use super::super::{
    super::text::{Span, Texts},
    PageContext,
    field::Field,
};
use crate::{
    clock::Timestamp,
    user::{User, UserId},
};

/// A moment in words and exactly: a phone shows no title.
#[derive(Template)]
#[template(path = "admin/moment.html", whitespace = "minimize")]
pub(super) struct Moment {
    datetime: String,
    exact: String,
    words: String,
}

impl HtmlSafe for Moment {}

impl Moment {
    fn new(t: &Texts, at: Timestamp, words: String) -> Self {
        Self { datetime: at.to_minute(), exact: t.language.moment(at.millis()), words }
    }

    /// How long ago it was.
    pub(super) fn past(t: &Texts, at: Timestamp, now: Timestamp) -> Self {
        Self::new(t, at, t.ago(Span::between(at, now)))
    }

    /// When something ends.
    pub(super) fn end(t: &Texts, at: Timestamp, now: Timestamp) -> Self {
        let words = match Span::between(now, at) {
            span @ (Span::Seconds(_) | Span::Minutes(_) | Span::Hours(_)) => t.still_valid(span),
            _ => t.valid_until(&t.language.day(at.millis())),
        };
        Self::new(t, at, words)
    }
}

/// A short mark.
pub(super) struct Tag {
    pub(super) words: String,
    tone: Tone,
}

#[derive(Clone, Copy)]
enum Tone {
    Plain,
    Good,
    Bad,
}

impl Tag {
    pub(super) fn plain(words: impl Into<String>) -> Self {
        Self { words: words.into(), tone: Tone::Plain }
    }

    pub(super) fn good(words: impl Into<String>) -> Self {
        Self { words: words.into(), tone: Tone::Good }
    }

    pub(super) fn bad(words: impl Into<String>) -> Self {
        Self { words: words.into(), tone: Tone::Bad }
    }

    pub(super) fn class(&self) -> &'static str {
        match self.tone {
            Tone::Plain => "",
            Tone::Good => " good",
            Tone::Bad => " bad",
        }
    }
}

/// An order. A button shows what it does, and a second one gives it.
#[derive(Template)]
#[template(path = "admin/confirm.html", whitespace = "minimize")]
pub(super) struct Confirm<'a> {
    /// Where the form is sent.
    action: String,
    label: &'static str,
    /// Whom or what it is about, where several orders have the same label.
    about: Option<String>,
    question: String,
    is_danger: bool,
    is_open: bool,
    hidden: Vec<(&'static str, String)>,
    /// The form of the order, if it was refused.
    refused: Option<&'a RefusedForm>,
    choice: Option<Choice<'a>>,
    fields: Vec<Field<'a>>,
    /// Boxes that can be ticked: each a name and its words.
    boxes: Vec<(&'static str, &'static str)>,
}

/// One of several values, none of which is chosen before the person does.
pub(super) struct Choice<'a> {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    /// Each value and its words.
    pub(super) values: Vec<(&'static str, &'static str)>,
    pub(super) chosen: &'a str,
    pub(super) fault: Option<String>,
}

impl HtmlSafe for Confirm<'_> {}

impl<'a> Confirm<'a> {
    /// An order with the words of its button and what it does.
    pub(super) fn new(action: String, label: &'static str, question: impl Into<String>) -> Self {
        Self {
            action,
            label,
            about: None,
            question: question.into(),
            is_danger: false,
            is_open: false,
            hidden: Vec::new(),
            refused: None,
            choice: None,
            fields: Vec::new(),
            boxes: Vec::new(),
        }
    }

    pub(super) fn tick(mut self, name: &'static str, words: &'static str) -> Self {
        self.boxes.push((name, words));
        self
    }

    pub(super) fn about(self, about: impl Into<String>) -> Self {
        Self { about: Some(about.into()), ..self }
    }

    pub(super) fn danger(self) -> Self {
        Self { is_danger: true, ..self }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.hidden.push((name, value.into()));
        self
    }

    /// The fields that are added to it show what was typed into this form.
    pub(super) fn refused(self, refused: Option<&'a RefusedForm>) -> Self {
        Self { refused, ..self }
    }

    pub(super) fn choice(mut self, choice: Choice<'a>) -> Self {
        self.is_open |= choice.fault.is_some();
        self.choice = Some(choice);
        self
    }

    pub(super) fn field(mut self, field: Field<'a>) -> Self {
        let field = RefusedForm::fill(self.refused, field);
        self.is_open |= field.fault.is_some();
        self.fields.push(field);
        self
    }
}

/// A cell of a table.
pub(super) enum Cell<'a> {
    Text(String),
    Code(String),
    /// An address, its words and a note.
    Link(String, String, String),
    /// Words and a note.
    Noted(String, String),
    /// Words, marks behind them, and a note.
    Marked(String, Vec<Tag>, String),
    Tags(Vec<Tag>),
    /// Whom it concerns, and by whom.
    People(Vec<Person>),
    Time(Moment),
    Confirm(Confirm<'a>),
    /// A form of one button: where it is sent, the name and the value of the button, and its words.
    Button(String, &'static str, String, &'static str),
    Nothing,
}

/// Somebody in a cell of several.
pub(super) struct Person {
    /// What they have to do with it, unless that is plain.
    pub(super) part: &'static str,
    /// The page about them.
    pub(super) path: Option<String>,
    pub(super) words: String,
    pub(super) note: String,
}

impl Person {
    pub(super) fn without_page(words: impl Into<String>, note: impl Into<String>) -> Self {
        Self { part: "", path: None, words: words.into(), note: note.into() }
    }
}

impl Cell<'_> {
    /// A user, with the way to their page.
    pub(super) fn user(page: &PageContext<'_>, user: &User) -> Self {
        let path = format!("{}/admin/users/{}", page.base, user.id);
        Self::Link(path, user.name.as_str().into(), user.email.as_str().into())
    }

    /// The user with this id, who may not exist any more.
    pub(super) fn user_of(page: &PageContext<'_>, users: &[User], id: UserId) -> Self {
        match users.iter().find(|user| user.id == id) {
            Some(user) => Self::user(page, user),
            None => Self::Text(page.texts().admin.deleted_user.into()),
        }
    }

    /// Marks, or nothing at all: a card on a phone leaves an empty cell out.
    pub(super) fn tags_or_nothing(tags: Vec<Tag>) -> Self {
        if tags.is_empty() { Self::Nothing } else { Self::Tags(tags) }
    }

    /// A text, or nothing at all.
    pub(super) fn text_or_nothing(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.is_empty() { Self::Nothing } else { Self::Text(text) }
    }
}

/// Rows with the same columns.
#[derive(Template)]
#[template(path = "admin/table.html", whitespace = "minimize")]
pub(super) struct Table<'a> {
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Vec<Cell<'a>>>,
}

impl HtmlSafe for Table<'_> {}

impl<'a> Table<'a> {
    /// A long text, such as an e-mail or IPv6 address, in parts between which a line may break.
    fn parts(text: &str) -> impl Iterator<Item = &str> {
        const LONG: usize = 20;
        let is_long = text.split_whitespace().any(|word| word.len() > LONG);
        text.split_inclusive(move |letter| is_long && "@.:-_/+".contains(letter))
    }

    /// The cells of a row with the names of their columns, which a phone shows beside them.
    fn labelled<'r>(
        &'r self,
        row: &'r [Cell<'a>],
    ) -> impl Iterator<Item = (&'static str, &'r Cell<'a>)> {
        self.columns.iter().copied().zip(row)
    }
}

/// A table, what stands in the place of an empty one, and the way to the next page.
#[derive(Template)]
#[template(path = "admin/list.html", whitespace = "minimize")]
pub(super) struct List<'a> {
    pub(super) table: Table<'a>,
    pub(super) empty: &'static str,
    /// The address of the next page.
    pub(super) next: Option<String>,
    pub(super) next_words: &'static str,
}

impl HtmlSafe for List<'_> {}

impl<'a> List<'a> {
    /// A table of one page.
    pub(super) fn new(
        columns: Vec<&'static str>,
        rows: Vec<Vec<Cell<'a>>>,
        empty: &'static str,
    ) -> Self {
        Self { table: Table { columns, rows }, empty, next: None, next_words: "" }
    }

    /// The way to the next page, if there is one.
    pub(super) fn followed_by(self, next: Option<String>, t: &Texts) -> Self {
        Self { next, next_words: t.admin.next, ..self }
    }
}

/// What is shown once, in the answer to the order that made it.
#[derive(Clone)]
pub struct Secret {
    pub explanation: String,
    /// What it is, and its text.
    pub lines: Vec<(&'static str, String)>,
}

/// A form that was refused, with what was typed and what is wrong with it.
#[derive(Clone, Default)]
pub struct RefusedForm {
    /// Its name, which is the last part of its path.
    pub form: String,
    pub typed: Vec<(&'static str, String)>,
    pub faults: Vec<(String, String)>,
    /// What is wrong with the form as a whole.
    pub error: Option<String>,
}

impl RefusedForm {
    /// What was typed into a field of a form, and what is wrong with it, if the form was refused.
    pub(super) fn typed<'a>(refused: Option<&'a Self>, name: &str) -> (&'a str, Option<String>) {
        let Some(refused) = refused else { return ("", None) };
        let typed = refused.typed.iter().find(|(typed, _)| *typed == name);
        let fault = refused.faults.iter().find(|(field, _)| field == name);
        (typed.map_or("", |(_, value)| value), fault.map(|(_, words)| words.clone()))
    }

    /// The field of a form with what was typed into it and what is wrong with it, if the form was refused.
    pub(super) fn fill<'a>(refused: Option<&'a Self>, field: Field<'a>) -> Field<'a> {
        let Some(refused) = refused else { return field };
        let typed = refused.typed.iter().find(|(name, _)| *name == field.name);
        let fault = refused.faults.iter().find(|(name, _)| name == field.name);
        Field {
            value: typed.map_or(field.value, |(_, typed)| typed),
            fault: fault.map(|(_, words)| words.clone()),
            ..field
        }
    }
}
