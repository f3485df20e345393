//! The page on which an administrator adds a user.

use askama::Template;

use super::{
    super::{PageContext, field::Field},
    frame::Frame,
    parts::RefusedForm,
};

/// The page on which an administrator adds a user.
#[derive(Template)]
#[template(path = "admin/new_user.html", whitespace = "minimize")]
pub struct NewUserPage<'a> {
    pub page: PageContext<'a>,
    pub frame: Frame,
    pub min_password_length: usize,
    pub refused: Option<&'a RefusedForm>,
}

impl NewUserPage<'_> {
    fn name(&self) -> Field<'_> {
        self.fill(Field { autocomplete: "off", ..Field::name(self.page.texts(), "") })
    }

    fn email(&self) -> Field<'_> {
        self.fill(Field { autocomplete: "off", ..Field::email(self.page.texts(), "") })
    }

    fn password(&self) -> Field<'_> {
        let t = self.page.texts();
        self.fill(Field {
            label: t.password,
            is_optional: true,
            hint: Some(t.admin.new_user_password_hint.into()),
            ..Field::new_password(t, self.min_password_length)
        })
    }

    fn fill<'a>(&'a self, field: Field<'a>) -> Field<'a> {
        RefusedForm::fill(self.refused, field)
    }
}
