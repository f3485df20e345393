//! Starts: the first, repeated, concurrent, with missing files, with bad settings.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};

use crate::{
    postgres::skipped,
    stopwatch::Stopwatch,
    support::{Finished, Home, PASSWORD, Server, error_of, eventually, is_installed, run},
};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[track_caller]
fn everything_is_private(home: &Home) {
    assert_eq!(mode(home.data()), 0o700, "{}", home.data().display());
    let mut names = Vec::new();
    for entry in fs::read_dir(home.data()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
    }
    for name in ["doorward.db", "signing-key.pem", "doorward.lock", "doorward.sock"] {
        assert!(names.iter().any(|other| other == name), "{name} is not among {names:?}");
    }
}

#[test]
fn the_first_start_makes_a_folder_that_nobody_else_can_read() {
    let home = Home::with_data_in("not/there/yet");
    let server = home.start();
    server.client.register("ada@example.com");
    everything_is_private(&home);
    assert_eq!(mode(&home.root().join("not")), 0o700);
}

#[test]
fn an_open_umask_does_not_open_the_folder() {
    let home = Home::new();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "umask 000; exec \"$0\"", env!("CARGO_BIN_EXE_doorward")]);
    let server = Server::start(home.command_through(shell));
    server.client.register("ada@example.com");
    everything_is_private(&home);
}

/// Makes a folder accessible to everyone, as restoring a backup may do.
fn open_to_all(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        fs::set_permissions(entry.unwrap().path(), fs::Permissions::from_mode(0o644)).unwrap();
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn every_start_removes_the_access_of_other_users() {
    let home = Home::new();
    let mut server = home.start();
    let ada = server.client.register("ada@example.com");
    home.run(&["keys", "rotate"]);
    // Keep the journal and the shared memory.
    server.kill_now();
    open_to_all(home.data());
    let server = home.start();
    server.client.must_know(&ada);
    everything_is_private(&home);
    let output = server.stop().stderr;
    assert!(
        output.contains("other users had access to this") && output.contains("doorward.db"),
        "{output}"
    );

    fs::write(home.data().join("notes.txt"), "somebody else's").unwrap();
    open_to_all(home.data());
    home.start().stop();
    assert_eq!(mode(home.data()), 0o755, "the folder has files of others");
    assert_eq!(mode(&home.data().join("notes.txt")), 0o644);
    assert_eq!(mode(&home.database()), 0o600);
    assert_eq!(mode(&home.signing_key()), 0o600);
}

#[test]
fn files_that_root_creates_in_a_folder_belong_to_its_owner() {
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() || !is_installed("setpriv") {
        skipped("files of another user need root and setpriv");
        return;
    }
    let home = Home::new();
    let binary = home.root().join("doorward");
    fs::copy(env!("CARGO_BIN_EXE_doorward"), &binary).unwrap();
    fs::set_permissions(home.root(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(home.data()).unwrap();
    chown(home.data(), Some(NOBODY), Some(NOBODY)).unwrap();
    let through_setpriv = || {
        let mut command = Command::new("setpriv");
        let nobody = NOBODY.to_string();
        command.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups"]).arg(&binary);
        home.command_through(command)
    };
    let as_nobody = || Server::start(through_setpriv());
    let mut help = through_setpriv();
    help.arg("--help");
    if !run(help).status.success() {
        skipped("another user cannot run a binary in the folder for temporary files");
        return;
    }
    let everything_is_nobodys = || {
        for entry in fs::read_dir(home.data()).unwrap() {
            let entry = entry.unwrap();
            // A server creates its socket again.
            if entry.file_name() != "doorward.sock" {
                assert_eq!(entry.metadata().unwrap().uid(), NOBODY, "{:?}", entry.path());
            }
        }
    };

    // Root creates everything. The process is killed so that it cleans nothing up.
    let mut server = home.start();
    let ada = server.client.register("ada@example.com");
    server.kill_now();
    everything_is_nobodys();
    let server = as_nobody();
    server.client.must_know(&ada);
    server.client.register_quickly("bob@example.com");
    server.stop();

    for name in ["doorward.lock", "doorward.reserve"] {
        fs::remove_file(home.data().join(name)).unwrap();
    }
    assert!(home.run(&["keys", "rotate"]).status.success());
    assert!(home.run(&["user", "list"]).status.success());
    everything_is_nobodys();
    let server = as_nobody();
    server.client.must_know(&ada);
    server.client.register_quickly("eve@example.com");
}

#[test]
fn users_tokens_and_the_key_survive_a_restart() {
    let home = Home::new();
    let server = home.start();
    let ada = server.client.register("ada@example.com");
    let logged_in = server.client.login(&ada.email, PASSWORD).field("token");
    let key = fs::read(home.signing_key()).unwrap();
    server.stop();

    let server = home.start();
    server.client.must_know(&ada);
    assert_eq!(server.client.guard(&logged_in), 200);
    assert_eq!(server.client.login(&ada.email, PASSWORD).status, 200);
    assert_eq!(server.client.try_to_register(&ada.email).status, 409);
    assert_eq!(fs::read(home.signing_key()).unwrap(), key);
}

/// A server whose standard output is a terminal.
struct AtTerminal {
    child: Child,
    screen: Arc<Mutex<String>>,
}

impl AtTerminal {
    fn start(home: &Home) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        unlockpt(&ours).unwrap();
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let terminal = File::from(ioctl_tiocgptpeer(&ours, flags).unwrap());
        let mut command = home.command();
        command.stdin(Stdio::null()).stdout(terminal).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let screen = Arc::<Mutex<String>>::default();
        let (mut light, shown) = (File::from(ours), Arc::clone(&screen));
        thread::spawn(move || {
            let mut bytes = [0; 1024];
            while let Ok(count @ 1..) = light.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, screen }
    }

    fn shows(&self) -> String {
        self.screen.lock().unwrap().clone()
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn only_a_terminal_gets_a_greeting_and_the_log_says_where_everything_is() {
    let home = Home::new();
    let Finished { stdout, stderr, .. } = home.start().stop();
    assert_eq!(stdout, "");
    let data = home.data().display();
    let data = format!("{data} (sqlite://{})", home.database().display());
    let listening = |log: &str, settings: String| {
        let lines =
            log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let line = lines.into_iter().find(|line| line["message"] == "listening").unwrap();
        assert_eq!((&line["data"], &line["settings"]), (&data.clone().into(), &settings.into()));
        assert_eq!(line["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(line["schema"], migrations());
    };
    listening(&stderr, "no file: the defaults apply".into());

    let file = home.root().join("doorward.toml");
    fs::write(&file, "[branding]\nname = \"Acme\"\n").unwrap();
    listening(&home.start().stop().stderr, file.display().to_string());

    let server = AtTerminal::start(&home);
    let last = format!("settings  {}\r\n", file.display());
    eventually("the places are printed", || server.shows().contains(&last));
    let shown = server.shows();
    let url = shown.split_once("listens on ").unwrap().1.lines().next().unwrap();
    let (_, port) = url.rsplit_once(':').unwrap();
    let page = format!("Open http://localhost:{port} in a browser");
    eventually("the page to open", || server.shows().contains(&page));
    assert!(shown.contains(&format!("data      {data}\r\n")), "{shown}");
    let passwords = "Common passwords are accepted, because the public URL is not https.\r\n";
    assert!(server.shows().contains(passwords), "{}", server.shows());
}

/// The number of the newest schema.
fn migrations() -> usize {
    fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite")).unwrap().count()
}

#[test]
fn the_version_and_a_backup_tell_the_schema() {
    let home = Home::new();
    let versions = format!("{} (schema {})", env!("CARGO_PKG_VERSION"), migrations());
    assert_eq!(home.run(&["--version"]).stdout, format!("doorward {versions}\n"));
    home.start().stop();
    let backup = home.root().join("backup");
    let said = home.run(&["backup", backup.to_str().unwrap()]).stdout;
    assert!(said.contains(&format!(" by doorward {versions} of sqlite")), "{said}");
}

#[test]
fn the_start_says_whether_common_passwords_are_refused_and_why() {
    for (url, sentence) in [
        (None, "accepted, because the public URL is not https"),
        (Some("https://auth.example.com"), "refused, because the public URL is https"),
    ] {
        let home = Home::new();
        let mut command = home.command();
        command.envs(url.map(|url| ("DOORWARD_PUBLIC_URL", url)));
        let Finished { stderr, .. } = Server::start(command).stop();
        let listening = stderr.lines().find(|line| line.contains("listening")).unwrap();
        assert!(listening.contains(sentence), "{listening}");
    }
}

#[test]
fn discovery_and_the_openapi_document_name_the_port_that_the_system_chose() {
    let home = Home::new();
    let server = home.start();
    let base = format!("http://localhost:{}", server.address.port());
    let metadata = server.client.get("/.well-known/openid-configuration").json();
    assert_eq!(metadata["jwks_uri"], format!("{base}/.well-known/jwks.json"));
    let document = server.client.get("/openapi.json").json();
    assert_eq!(document["servers"], serde_json::json!([{"url": base}]));
}

#[test]
fn the_printed_commands_work_when_they_are_pasted() {
    if !is_installed("curl") {
        skipped("the printed lines need curl");
        return;
    }
    let home = Home::new();
    let server = AtTerminal::start(&home);
    eventually("the last line is printed", || server.shows().contains("Bearer $TOKEN\"\r\n"));
    let printed = server.shows();
    let is_command = |line: &&str| line.starts_with("curl ") || line.starts_with("TOKEN=");
    let lines: Vec<_> = printed.lines().map(str::trim_start).filter(is_command).collect();
    assert_eq!(lines.len(), 3, "{printed}");

    let mut shell = Command::new("sh");
    shell.env("no_proxy", "*").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    writeln!(shell.stdin.take().unwrap(), "{}", lines.join("\n")).unwrap();
    let pasted = shell.wait_with_output().unwrap();
    let output = String::from_utf8(pasted.stdout).unwrap();
    assert!(output.starts_with(r#"{"id":""#) && output.contains(r#","token":""#), "{output}");
    assert!(output.ends_with(r#""You are authenticated.""#), "{output}");
    assert_eq!(String::from_utf8(pasted.stderr).unwrap(), "");
}

#[test]
fn a_second_process_on_the_same_folder_ends_and_names_the_first() {
    let home = Home::new();
    let first = home.start();
    let ada = first.client.register("ada@example.com");

    let started = Stopwatch::start(&[std::process::id()]);
    let second = home.run(&[]);
    started.must_show_less_than(Duration::from_secs(5), "the second process ended");
    assert!(!second.status.success(), "{second:#?}");
    assert!(second.stderr.contains(&format!("process {}", first.pid())), "{second:#?}");

    first.client.must_know(&ada);
    first.client.register("bob@example.com");
    assert_eq!(home.run(&["user", "list"]).stdout.lines().count(), 2, "the socket is the first's");
    first.stop();
}

#[test]
fn a_missing_key_stops_the_start_unless_a_new_one_is_requested() {
    let home = Home::new();
    let server = home.start();
    let ada = server.client.register("ada@example.com");
    server.stop();
    fs::remove_file(home.signing_key()).unwrap();

    let refused = home.run(&[]);
    assert!(!refused.status.success(), "{refused:#?}");
    assert!(refused.stderr.contains("--new-signing-key"), "{refused:#?}");
    assert!(refused.stderr.contains(home.signing_key().to_str().unwrap()), "{refused:#?}");
    assert!(!home.signing_key().exists(), "a refused start created a key");

    let server = home.start_with(&["--new-signing-key"]);
    assert_eq!(server.client.guard(&ada.token), 401);
    assert_eq!(server.client.profile(&ada.id).status, 200);
    let token = server.client.login(&ada.email, PASSWORD).field("token");
    assert_eq!(server.client.guard(&token), 200);
    assert_eq!(mode(&home.signing_key()), 0o600);
    server.stop();

    let server = home.start();
    assert_eq!((server.client.guard(&token), server.client.guard(&ada.token)), (200, 401));
}

#[test]
fn a_key_file_that_cannot_be_used_stops_the_start_in_one_line() {
    let home = Home::new();
    home.start().stop();
    let file = home.root().join("own.pem");
    let path = file.to_str().unwrap();
    let start = || error_of(&home, &["--token-key-file", path]);
    let missing = start();
    assert!(missing.contains(path) && missing.contains("token.key_file"), "{missing}");
    let usable = fs::read_to_string(home.signing_key()).unwrap();
    let other = usable.replace("PRIVATE KEY", "EC PRIVATE KEY");
    for bad in ["", "secret", &usable.replace('M', "N"), &other, &format!("{usable}{other}")] {
        fs::write(&file, bad).unwrap();
        let line = start();
        assert!(line.contains(path) && line.contains("pkcs8 -topk8"), "{line}");
        assert!(!line.contains("secret"), "{line}");
    }
    fs::write(&file, &usable).unwrap();
    home.start_with(&["--token-key-file", path]).stop();
    assert_eq!(fs::read_to_string(&file).unwrap(), usable);
}

#[test]
fn a_damaged_key_stops_the_start_and_is_left_as_it_is() {
    let home = Home::new();
    let server = home.start();
    let ada = server.client.register("ada@example.com");
    server.stop();
    let key = fs::read_to_string(home.signing_key()).unwrap();
    let cut = key[..key.len() / 2].to_owned();
    let other = key.replace("PRIVATE KEY", "CERTIFICATE");
    for damaged in [String::new(), "not a key\n".into(), cut, other] {
        fs::write(home.signing_key(), &damaged).unwrap();
        for arguments in [&[][..], &["--new-signing-key"]] {
            let refused = home.run(arguments);
            assert!(!refused.status.success(), "{damaged:?}: {refused:#?}");
            let path = home.signing_key();
            assert!(refused.stderr.contains(path.to_str().unwrap()), "{refused:#?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
        }
    }
    fs::write(home.signing_key(), key).unwrap();
    home.start().client.must_know(&ada);
}

/// Starts with these variables, settings file and arguments. The start must fail with one line.
#[track_caller]
fn refused_with(variables: &[(&str, &str)], file: &str, arguments: &[&str]) -> String {
    let home = Home::new();
    fs::write(home.root().join("doorward.toml"), file).unwrap();
    let mut command = home.command();
    command.envs(variables.iter().copied()).args(arguments);
    let Finished { status, stdout, stderr } = run(command);
    assert!(!status.success(), "started with {variables:?} {file:?} {arguments:?}");
    assert_eq!((stderr.lines().count(), stdout.as_str()), (1, ""), "{stderr}");
    assert!(!home.data().exists(), "a refused start left something behind");
    stderr
}

#[track_caller]
fn names_all(line: &str, parts: &[&str]) {
    for part in parts {
        assert!(line.contains(part), "{part:?} is not in {line:?}");
    }
}

#[test]
fn a_bad_setting_is_refused_in_one_line_that_says_what_is_allowed() {
    let line = refused_with(&[("DOORWARD_LISTN", "127.0.0.1:0")], "", &[]);
    names_all(&line, &["DOORWARD_LISTN", "unknown", "DOORWARD_LISTEN"]);

    let line = refused_with(&[("DOORWARD_LISTEN", "localhost")], "", &[]);
    names_all(&line, &["DOORWARD_LISTEN", "\"localhost\"", "127.0.0.1:3000"]);

    let line = refused_with(&[("DOORWARD_TOKEN_LIFETIME", "1s")], "", &[]);
    names_all(&line, &["DOORWARD_TOKEN_LIFETIME", "\"1s\"", "5m to 30d"]);

    let line = refused_with(&[], "[token]\nlifetme = \"1h\"\n", &[]);
    names_all(&line, &["doorward.toml:2:1", "token.lifetme", "unknown", "token.lifetime"]);

    let line = refused_with(&[], "log = \"infoo\"\n", &[]);
    names_all(&line, &["doorward.toml:1:1", "log", "\"infoo\"", "did you mean info?"]);

    let line = refused_with(&[], "[password]\npasses = 99\n", &[]);
    names_all(&line, &["doorward.toml:2:1", "password.passes", "\"99\"", "1 to 16"]);

    let line = refused_with(&[], "listen = \"127.0.0.1:0\nlog = 3", &[]);
    names_all(&line, &["doorward.toml:1:"]);

    let line = refused_with(&[], "", &["--limits-body", "1GiB"]);
    names_all(&line, &["--limits-body", "\"1GiB\"", "1KiB to 16MiB"]);

    let line = refused_with(&[], "", &["--config", "no/such.toml"]);
    names_all(&line, &["no/such.toml"]);

    let line = refused_with(&[("DOORWARD_DATABASE_URL", "mysql://me:hunter2@db")], "", &[]);
    names_all(&line, &["DOORWARD_DATABASE_URL", "sqlite://"]);
    assert!(!line.contains("hunter2"), "{line}");
}

#[test]
fn an_address_that_is_taken_is_refused_in_one_line_with_what_to_do() {
    let (home, other) = (Home::new(), Home::new());
    let server = home.start();
    let address = server.address.to_string();
    let refused = other.run(&["--listen", &address]);
    assert!(!refused.status.success(), "{refused:#?}");
    let last = refused.stderr.lines().last().unwrap_or_default();
    names_all(last, &[&address, "--listen"]);
}

/// The texts of all Rust files below a folder.
fn sources(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| match path.extension() {
            _ if path.is_dir() => sources(&path),
            Some(extension) if extension == "rs" => fs::read_to_string(path).unwrap(),
            _ => String::new(),
        })
        .collect()
}

#[test]
fn the_container_file_copies_every_folder_that_the_sources_include() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let container = fs::read_to_string(root.join("deploy/Containerfile")).unwrap();
    let sources = sources(&root.join("src"));
    let included = sources.split("\"../").skip(1).map(|rest| rest.trim_start_matches("../"));
    let folders: HashSet<_> = included.filter_map(|rest| rest.split(['/', '"']).next()).collect();
    assert!(folders.len() >= 3, "{folders:?}");
    for folder in folders {
        assert!(container.contains(&format!("\nCOPY {folder} {folder}\n")), "{folder}");
    }
}
