"""What all suites and the lab start programs with. `postgres`, `service` and what they use need Linux and Python only;
`authenticator`, `certificates` and `mail_server` need packages of the suites."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"
# The binary under test.
BINARY = (REPOSITORY / os.environ.get("DOORWARD_BIN", "target/release/doorward")).resolve()
# What `cargo build --workspace --all-targets` has made of the examples. For one of them alone, Cargo would choose other features
# of the dependencies, and build all of them again.
EXAMPLES = REPOSITORY / "target/debug/examples"
# The longest wait for anything that happens. The machine may be busy with other work.
PATIENCE_SECONDS = 60
