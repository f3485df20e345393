//! A full or failing disk: no acknowledged write is lost, reads continue, writes resume.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk};

use crate::{
    ledger::{Ledger, integrity},
    postgres::skipped,
    support::{Home, Member, Server, Signal, eventually, is_installed, stdout_of},
};

/// A small file system in memory, unmounted on drop.
struct SmallDisk {
    mounted_at: PathBuf,
}

impl SmallDisk {
    const MEBIBYTES: u32 = 24;

    /// None where mounting is not permitted.
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let size = format!("size={}m", Self::MEBIBYTES);
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "doorward-test"]).arg(at);
        let outcome = mount.stdin(Stdio::null()).output();
        match outcome {
            Ok(output) if output.status.success() => Some(Self { mounted_at: at.to_owned() }),
            other => {
                skipped(&format!("cannot mount a small disk: {other:?}"));
                None
            }
        }
    }

    fn ballast(&self) -> PathBuf {
        self.mounted_at.join("ballast")
    }

    /// Fills the disk to the last byte.
    fn fill(&self) {
        let mut ballast = File::options().create(true).append(true).open(self.ballast()).unwrap();
        for size in [1 << 20, 4096, 1] {
            let bytes = vec![1; size];
            loop {
                match ballast.write(&bytes) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    fn free_space(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.mounted_at).status();
    }
}

/// Registers users until the disk is full. Some pages may still fit into the journal at first.
fn write_until_unavailable(server: &Server, ledger: &Ledger, prefix: &str) {
    const MOST: usize = 2000;
    let mut number = 0;
    eventually("a full disk is noticed", || {
        number += 1;
        assert!(number < MOST, "a full disk accepted {MOST} registrations");
        let before = ledger.figures();
        assert!(ledger.register(&server.client, &format!("{prefix}{number}@example.com"), false));
        ledger.figures().registered == before.registered
    });
}

#[test]
fn a_full_disk_stops_writes_while_it_is_full() {
    let home = Home::with_data_in("disk/data");
    let Some(disk) = SmallDisk::mount(&home.root().join("disk")) else { return };
    let ledger = Ledger::default();
    let server = home.start();
    let (seen, unseen) =
        (server.client.register("seen@example.com"), server.client.register("unseen@example.com"));
    server.client.must_know(&seen);

    disk.fill();
    write_until_unavailable(&server, &ledger, "one");
    for number in 0..20 {
        server.client.try_to_register(&format!("two{number}@example.com")).must_be_unavailable();
        server.client.must_know(&seen);
    }
    server.client.must_know(&unseen);

    disk.free_space();
    let bob = server.client.try_to_register("bob@example.com");
    assert_eq!(bob.status, 201, "the first registration with room again: {bob:?}");
    ledger.settle(&server.client);
    ledger.compare(&server.client, 0);
    server.stop();
    assert_eq!(integrity(&home), "ok");
}

/// How a server ended before it is started again on the full disk.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Stopped,
    Killed,
    /// Killed, with the shared memory of the database removed, as after a reboot.
    Rebooted,
}

#[test]
fn a_restart_on_a_full_disk_serves_reads_and_loses_nothing() {
    let home = Home::with_data_in("disk/data");
    let Some(disk) = SmallDisk::mount(&home.root().join("disk")) else { return };
    let ledger = Ledger::default();
    let mut members = Vec::new();
    for ending in [Ending::Killed, Ending::Rebooted, Ending::Stopped, Ending::Rebooted] {
        let mut server = home.start();
        members.push(server.client.register(&format!("number{}@example.com", members.len())));
        disk.fill();
        write_until_unavailable(&server, &ledger, &format!("{ending:?}{}", members.len()));
        match ending {
            Ending::Stopped => drop(server.stop()),
            Ending::Killed => server.kill_now(),
            Ending::Rebooted => {
                server.kill_now();
                fs::remove_file(home.data().join("doorward.db-shm")).unwrap();
            }
        }
        // Another process takes the space that the server released.
        disk.fill();

        let server = home.start();
        println!("{ending:?}: started on a full disk after {:?}", server.ready_after);
        members.iter().for_each(|member: &Member| server.client.must_know(member));
        disk.free_space();
        ledger.settle(&server.client);
        ledger.compare(&server.client, 0);
        server.stop();
    }
    assert_eq!(integrity(&home), "ok");
}

#[track_caller]
fn must_not_be_ready(server: &Server, reason: &str) {
    let ready = server.client.get("/readyz");
    ready.must_be_unavailable();
    assert!(ready.field("message").contains(reason), "{ready:?}");
}

fn becomes_ready(server: &Server) {
    eventually("/readyz is 200", || server.client.get("/readyz").status == 200);
}

#[test]
fn on_a_full_disk_sessions_end_and_nothing_else_is_written() {
    let home = Home::with_data_in("disk/data");
    let Some(disk) = SmallDisk::mount(&home.root().join("disk")) else { return };
    let ledger = Ledger::default();
    let mut server = home.start();
    let [out, everywhere, disabled, deleted, kept] =
        ["out", "everywhere", "disabled", "deleted", "kept"]
            .map(|name| server.client.register_quickly(&format!("{name}@example.com")));
    becomes_ready(&server);

    disk.fill();
    write_until_unavailable(&server, &ledger, "one");
    must_not_be_ready(&server, "disk is full");
    let post = |path, member: &Member| {
        server.client.request("POST", path, &member.token, &serde_json::json!({})).status
    };
    assert_eq!(post("/api/auth/logout", &out), 204);
    assert_eq!(post("/api/auth/logout-everywhere", &everywhere), 204);
    stdout_of(&home, &["user", "disable", &disabled.email]);
    stdout_of(&home, &["user", "delete", &deleted.email]);
    let ended = [&out, &everywhere, &disabled, &deleted];
    ended.iter().for_each(|member| assert_eq!(server.client.guard(&member.token), 401));
    for number in 0..20 {
        server.client.try_to_register(&format!("two{number}@example.com")).must_be_unavailable();
    }
    must_not_be_ready(&server, "disk is full");
    server.client.must_know(&kept);

    server.kill_now();
    let server = home.start();
    ended.iter().for_each(|member| assert_eq!(server.client.guard(&member.token), 401));
    server.client.must_know(&kept);
    disk.free_space();
    eventually("writes succeed again", || {
        server.client.try_to_register("after@example.com").status == 201
    });
    becomes_ready(&server);
    ledger.settle(&server.client);
    ledger.compare(&server.client, 0);
    server.stop();
    assert_eq!(integrity(&home), "ok");
}

#[test]
fn readyz_reports_a_full_disk_until_there_is_space() {
    let home = Home::with_data_in("disk/data");
    let Some(disk) = SmallDisk::mount(&home.root().join("disk")) else { return };
    let ledger = Ledger::default();
    let server = home.start();
    let ada = server.client.register_quickly("ada@example.com");
    disk.fill();
    write_until_unavailable(&server, &ledger, "one");
    let logout = |member: &Member| {
        let body = serde_json::json!({});
        server.client.request("POST", "/api/auth/logout", &member.token, &body).status
    };
    assert_eq!(logout(&ada), 204);
    must_not_be_ready(&server, "disk is full");
    disk.free_space();
    becomes_ready(&server);
    assert_eq!(server.client.try_to_register("bob@example.com").status, 201);
    let reserve = fs::metadata(home.data().join("doorward.reserve")).unwrap();
    assert_eq!(reserve.len(), 8 << 20, "the reserve is kept again");
}

#[test]
fn repeated_starts_on_a_full_disk_succeed() {
    let home = Home::with_data_in("disk/data");
    let Some(disk) = SmallDisk::mount(&home.root().join("disk")) else { return };
    let mut server = home.start();
    let ada = server.client.register("ada@example.com");
    for _ in 0..3 {
        disk.fill();
        server.kill_now();
        fs::remove_file(home.data().join("doorward.db-shm")).unwrap();
        server = home.start();
        server.client.must_know(&ada);
    }
}

/// Makes system calls of a running process fail.
struct Saboteur {
    strace: Child,
}

impl Saboteur {
    /// None where tracing is not permitted.
    fn attach(server: &Server, fault: &str) -> Option<Self> {
        Self::attach_to(server, fault, None)
    }

    /// The same for calls on one file only.
    fn attach_to(server: &Server, fault: &str, file: Option<&Path>) -> Option<Self> {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-o", "/dev/null", "-p", &server.pid().to_string()]);
        if let Some(file) = file {
            strace.arg("-P").arg(file);
        }
        strace.args(["-e", &format!("inject={fault}")]);
        strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut saboteur = Self { strace: strace.spawn().ok()? };
        let mut permitted = true;
        eventually("all threads are traced", || {
            permitted = saboteur.strace.try_wait().unwrap().is_none();
            !permitted || is_traced(server)
        });
        if !permitted {
            skipped("tracing is not permitted");
        }
        permitted.then_some(saboteur)
    }

    fn detach(mut self, server: &Server) {
        let strace = rustix::process::Pid::from_child(&self.strace);
        rustix::process::kill_process(strace, Signal::TERM).unwrap();
        self.strace.wait().unwrap();
        assert!(!is_traced(server));
    }
}

impl Drop for Saboteur {
    fn drop(&mut self) {
        let _ = self.strace.kill();
        let _ = self.strace.wait();
    }
}

fn is_traced(server: &Server) -> bool {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap();
    tasks.flatten().all(|task| {
        let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
        !status.contains("TracerPid:\t0\n")
    })
}

fn can_trace() -> bool {
    let installed = is_installed("strace");
    if !installed {
        skipped("I/O errors need strace");
    }
    installed
}

/// Waits for what the server writes after its start. In the minute after that, only requests write to the journal, so a fault
/// meets the request that it is meant for.
fn wait_for_first_checkpoint(server: &Server) {
    eventually("the first checkpoint of the trail is written", || {
        server.output().1.contains("audit checkpoint")
    });
}

#[test]
fn a_write_that_fails_once_is_not_acknowledged_and_the_next_one_is() {
    if !can_trace() {
        return;
    }
    for fault in [
        "fdatasync,fsync:error=EIO:when=1",
        "fdatasync,fsync:error=EIO:when=1..2",
        "fdatasync,fsync:error=EIO:when=1..3",
        "fdatasync,fsync:error=ENOSPC:when=1",
        "pwrite64:error=EIO:when=1",
        "pwrite64:error=EIO:when=2",
        "pwrite64:error=ENOSPC:when=1",
    ] {
        let (home, ledger) = (Home::new(), Ledger::default());
        let server = home.start();
        let ada = server.client.register("ada@example.com");
        wait_for_first_checkpoint(&server);
        let journal = journal(&home);
        let Some(saboteur) = Saboteur::attach_to(&server, fault, Some(&journal)) else { return };
        assert!(ledger.register(&server.client, "first@example.com", true));
        assert_eq!(ledger.figures().registered, 0, "{fault}: acknowledged a failed write");
        server.client.must_know(&ada);
        let mut tries = 0;
        eventually("writes succeed again", || {
            tries += 1;
            server.client.must_know(&ada);
            ledger.register(&server.client, &format!("next{tries}@example.com"), tries == 1);
            ledger.figures().registered > 0
        });
        println!("{fault}: acknowledged again at try {tries}");
        // Each injected fault may fail one more request.
        assert!(tries <= 3, "{fault}: {tries} tries");
        saboteur.detach(&server);
        for number in 0..10 {
            let last = format!("last{number}@example.com");
            assert!(ledger.register(&server.client, &last, false));
        }
        assert_eq!(ledger.figures().registered, 11, "{fault}: refused without a fault");
        server.kill();

        let server = home.start();
        server.client.must_know(&ada);
        ledger.settle(&server.client);
        ledger.compare(&server.client, 4);
        server.stop();
        ledger.compare_with_list(&home, &[&ada]);
        assert_eq!(integrity(&home), "ok", "{fault}");
    }
}

/// A disk that fails in this way for a while and then recovers.
fn only_writes_stop_during(fault: &str) {
    if !can_trace() {
        return;
    }
    let (home, ledger) = (Home::new(), Ledger::default());
    let server = home.start();
    let ada = server.client.register("ada@example.com");
    let unseen = server.client.register("unseen@example.com");
    let Some(saboteur) = Saboteur::attach(&server, fault) else { return };
    for number in 0..10 {
        let email = format!("during{number}@example.com");
        assert!(ledger.register(&server.client, &email, number == 0));
        assert_eq!(ledger.figures().registered, 0, "acknowledged a failed write");
        server.client.must_know(&ada);
    }
    server.client.must_know(&unseen);
    saboteur.detach(&server);
    assert!(ledger.register(&server.client, "after@example.com", true));
    assert_eq!(ledger.figures().registered, 1, "writes did not resume");
    server.kill();

    let server = home.start();
    server.client.must_know(&ada);
    ledger.settle(&server.client);
    ledger.compare(&server.client, 4);
    server.stop();
    ledger.compare_with_list(&home, &[&ada, &unseen]);
    assert_eq!(integrity(&home), "ok");
}

#[test]
fn failing_flushes_stop_writes_only() {
    only_writes_stop_during("fdatasync,fsync:error=EIO");
}

#[test]
fn failing_writes_stop_writes_only() {
    only_writes_stop_during("pwrite64:error=EIO");
}

#[test]
fn missing_space_stops_writes_only() {
    only_writes_stop_during("pwrite64:error=ENOSPC");
}

/// After a failed flush the kernel may mark pages as clean that never reached the disk, and a later flush does not
/// report them. Simulates a power loss: removes from the journal what was in it when a flush failed and has not been
/// written again since.
fn lose_what_was_never_flushed(home: &Home, before: usize, failed: &[u8]) -> usize {
    const PAGE: usize = 4096;
    let mut journal = fs::read(journal(home)).unwrap_or_default();
    let never_flushed = before.next_multiple_of(PAGE)..failed.len() / PAGE * PAGE;
    let mut lost = 0;
    for start in never_flushed.step_by(PAGE) {
        let page = start..start + PAGE;
        if journal.get(page.clone()) == Some(&failed[page.clone()]) {
            journal[page].fill(0);
            lost += 1;
        }
    }
    if lost > 0 {
        fs::write(self::journal(home), journal).unwrap();
        fs::remove_file(home.data().join("doorward.db-shm")).unwrap();
    }
    lost
}

fn journal(home: &Home) -> PathBuf {
    home.data().join("doorward.db-wal")
}

#[test]
fn nothing_is_acknowledged_on_top_of_a_flush_that_failed() {
    if !can_trace() {
        return;
    }
    let fault = "fdatasync,fsync:error=EIO";
    for failures in 0..=3 {
        let (home, ledger) = (Home::new(), Ledger::default());
        let server = home.start();
        let ada = server.client.register_quickly("ada@example.com");
        // No flush succeeds, whoever has written, so what is added to the journal meanwhile is never flushed.
        let Some(saboteur) = Saboteur::attach(&server, fault) else { return };
        let before = fs::read(journal(&home)).unwrap_or_default().len();
        assert!(ledger.register(&server.client, "first@example.com", false));
        assert_eq!(ledger.figures().registered, 0, "acknowledged a failed write");
        let failed = fs::read(journal(&home)).unwrap_or_default();
        saboteur.detach(&server);
        // The first flushes afterwards fail as well.
        let saboteur = (failures > 0)
            .then(|| Saboteur::attach(&server, &format!("{fault}:when=1..{failures}")))
            .flatten();
        let mut tries = 0;
        eventually("writes succeed again", || {
            tries += 1;
            ledger.register(&server.client, &format!("next{tries}@example.com"), false);
            ledger.figures().registered > 0
        });
        if let Some(saboteur) = saboteur {
            saboteur.detach(&server);
        }
        server.kill();
        let lost = lose_what_was_never_flushed(&home, before, &failed);
        println!("{failures} more failed flushes: {lost} pages of the journal were never flushed");

        let server = home.start();
        server.client.must_know(&ada);
        ledger.settle(&server.client);
        ledger.compare(&server.client, 0);
    }
}

#[test]
fn a_failed_read_returns_503() {
    if !can_trace() {
        return;
    }
    let home = Home::new();
    let server = home.start();
    let ada = server.client.register_quickly("ada@example.com");
    let Some(saboteur) = Saboteur::attach(&server, "pread64:error=EIO") else { return };
    for _ in 0..4 {
        server.client.profile(&ada.id).must_be_unavailable();
        must_not_be_ready(&server, "cannot be read");
    }
    saboteur.detach(&server);
    server.client.must_know(&ada);
    becomes_ready(&server);
}

#[test]
fn failing_checkpoints_are_reported_until_they_succeed() {
    if !can_trace() {
        return;
    }
    /// Slightly below the journal size that triggers a checkpoint.
    const LONG: u64 = 3_500_000;
    let (home, ledger) = (Home::new(), Ledger::default());
    let server = home.start();
    let mut number = 0;
    let mut register = || {
        number += 1;
        assert!(ledger.register(&server.client, &format!("{number}@example.com"), false));
        number
    };
    while fs::metadata(journal(&home)).unwrap().len() < LONG {
        register();
    }
    let fault = "fdatasync,fsync:error=EIO";
    let Some(saboteur) = Saboteur::attach_to(&server, fault, Some(&home.database())) else {
        return;
    };
    eventually("/readyz reports it", || {
        register();
        server.client.get("/readyz").status == 503
    });
    must_not_be_ready(&server, "checkpoints fail");
    assert_eq!(register(), ledger.figures().registered, "a short journal does not stop writing");
    saboteur.detach(&server);
    becomes_ready(&server);
    ledger.compare(&server.client, 0);
    let output = server.stop().stderr;
    for line in ["checkpoints of the database fail", "checkpoints of the database succeed again"] {
        assert_eq!(output.matches(line).count(), 1, "{line}: {output}");
    }
}

#[test]
fn a_file_that_was_opened_read_only_is_reopened_for_writing() {
    if !can_trace() {
        return;
    }
    for name in ["doorward.db", "doorward.db-wal", "doorward.db-shm"] {
        let home = Home::new();
        let mut server = home.start();
        let ada = server.client.register_quickly("ada@example.com");
        // Keep the journal and the shared memory.
        server.kill_now();
        for number in 1..=2 {
            let mut strace = Command::new("strace");
            strace.args(["-D", "-f", "-qq", "-o", "/dev/null", "-P"]).arg(home.data().join(name));
            strace.args(["-e", &format!("inject=openat:error=EIO:when={number}")]);
            strace.arg(env!("CARGO_BIN_EXE_doorward"));
            let server = match Server::try_start(home.command_through(strace)) {
                Ok(server) => server,
                Err(refused) if refused.stderr.contains("strace: ") => {
                    skipped("tracing is not permitted");
                    return;
                }
                Err(refused) => panic!("{name}, call {number}: {refused:#?}"),
            };
            eventually("writing works", || {
                let email = format!("{number}@example.com");
                [201, 409].contains(&server.client.try_to_register(&email).status)
            });
            becomes_ready(&server);
            server.client.must_know(&ada);
            server.kill();
        }
    }
}

/// The last process to close a database deletes its journal, and this lock shows whether it is the last. A process loses
/// all its locks on a file when any part of it closes a descriptor of that file.
#[test]
fn a_running_server_keeps_its_lock_on_the_database() {
    const SHARED: u64 = 0x4000_0002;
    const SHARED_BYTES: u64 = 510;
    let home = Home::new();
    let server = home.start();
    let ada = server.client.register_quickly("ada@example.com");
    for _ in 0..8 {
        server.client.must_know(&ada);
    }
    let file = File::options().read(true).write(true).open(home.database()).unwrap();
    let wanted = Flock {
        start: SHARED,
        length: SHARED_BYTES,
        pid: None,
        typ: FlockType::WriteLock,
        offset_type: FlockOffsetType::Set,
    };
    let held = fcntl_getlk(&file, &wanted).unwrap();
    let holder = held.and_then(|lock| lock.pid).map(|pid| pid.as_raw_nonzero().get());
    assert_eq!(holder, Some(i32::try_from(server.pid()).unwrap()));
}
