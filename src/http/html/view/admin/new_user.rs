//! The page on which an administrator adds a user.

use askama::Template;

use super::{
    super::{
        super::text::{AdminTexts, Texts},
        PageContext,
        field::Field,
        html,
    },
    frame::Frame,
    parts::RefusedForm,
};

/// The page on which an administrator adds a user.
pub struct NewUserPage<'a> {
    pub min_password_length: usize,
    pub refused: Option<&'a RefusedForm>,
}

#[derive(Template)]
#[template(path = "admin/new_user.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    a: &'static AdminTexts,
    frame: &'a Frame,
    name: Field<'a>,
    email: Field<'a>,
    password: Field<'a>,
}

impl NewUserPage<'_> {
    pub fn render(&self, page: &PageContext<'_>, frame: &Frame) -> String {
        let t = page.texts();
        let fill = |field| RefusedForm::fill(self.refused, "new", field);
        let email = Field { autocomplete: "off", ..Field::email(t, "") };
        let password = Field {
            is_optional: true,
            hint: Some(t.admin.new_user_password_hint.into()),
            ..Field::new_password(t, self.min_password_length)
        };
        html(&Html {
            page,
            t,
            a: &t.admin,
            frame,
            name: fill(Field { autocomplete: "off", ..Field::name(t, "") }),
            email: fill(email),
            password: fill(Field { label: t.password, ..password }),
        })
    }
}
