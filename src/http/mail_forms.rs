//! Forms about mails with a link or a code: to whom one is sent, and what its reader sends back. The API and pages have them.

use zeroize::Zeroizing;

use super::form::{NewPassword, form};
use crate::{
    token::one_time::{LinkOrCode, SecretDigest},
    user::{Email, EmailKey},
};

form! {
    pub(super) struct Address {
        email: Email,
    }
}

form! {
    pub(super) struct MailedCode {
        /// The secret of a mailed link, or the mailed code of 8 digits, which needs `email`.
        code: Zeroizing<String>,
        /// The address that the mail was sent to.
        email: Option<EmailKey>,
    }
}

impl From<MailedCode> for LinkOrCode {
    fn from(MailedCode { code, email }: MailedCode) -> Self {
        Self::parse(&code, email)
    }
}

form! {
    pub(super) struct CodeAndPassword {
        /// The secret of a mailed link, or the mailed code of 8 digits, which needs `email`.
        code: Zeroizing<String>,
        /// The address that the mail was sent to.
        email: Option<EmailKey>,
        password: NewPassword,
    }
}

form! {
    pub(super) struct LinkAndPassword {
        /// The secret of the mailed link: what follows `code=` in it.
        code: SecretDigest,
        password: NewPassword,
    }
}
