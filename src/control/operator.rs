//! Who has sent a command: the user and the process at the other end of the socket, as the kernel knows them.

use std::{fs, io};

use tokio::net::UnixStream;
use tracing::{Span, error_span, field::Empty};

use crate::event::Administrator;

/// The user and the process that have sent a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operator {
    uid: u32,
    /// The name of the user, if this machine's list of users has it.
    name: Option<String>,
    pid: Option<i32>,
}

impl Operator {
    pub(super) fn at(stream: &UnixStream) -> io::Result<Self> {
        let credentials = stream.peer_cred()?;
        let uid = credentials.uid();
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        Ok(Self { uid, name: name_of(uid, &users), pid: credentials.pid() })
    }

    /// Who runs this command, for one that opens the database itself.
    pub(super) fn of_this_process() -> Self {
        let uid = rustix::process::getuid().as_raw();
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        Self { uid, name: name_of(uid, &users), pid: Some(pid) }
    }

    /// Whether they are the user that the server runs as, or root. The modes of the socket and of its folder say the same, but somebody
    /// may have changed them.
    pub(super) fn may_give_orders(&self) -> bool {
        self.uid == 0 || self.uid == rustix::process::geteuid().as_raw()
    }

    /// Who gives the orders. A user without a name in this machine's list of users has their number.
    pub(super) fn administrator(&self) -> Administrator {
        let name = self.name.clone().unwrap_or_else(|| self.uid.to_string());
        Administrator::operator(Some(name.into()))
    }

    /// The span of a request, which gets its id. Every line that is written in it names the operator, whatever level the settings log.
    pub(super) fn span(&self) -> Span {
        let Self { uid, name, pid } = self;
        error_span!("command", id = Empty, operator = name, uid, pid)
    }
}

/// The name of a user in a list with the syntax of `/etc/passwd`.
fn name_of(uid: u32, users: &str) -> Option<String> {
    let named = users
        .lines()
        .find(|line| line.split(':').nth(2).is_some_and(|number| number.parse() == Ok(uid)))?;
    named.split(':').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_as_in_the_list_of_users() {
        let users = "root:x:0:0:root:/root:/bin/bash\nbroken\nada:x:1000:1000::/home/ada:/bin/sh\n";
        assert_eq!(name_of(0, users).as_deref(), Some("root"));
        assert_eq!(name_of(1000, users).as_deref(), Some("ada"));
        assert_eq!(name_of(1001, users), None);
    }
}
