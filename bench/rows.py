"""The measurements, one function per section of the report."""

import contextlib
import json
import statistics
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import build
import peers
from measure import (
    DOORWARD,
    HOST,
    LOGIN_CONNECTIONS,
    PASSWORD,
    REPOSITORY,
    SERVER_CORE,
    TOOL,
    WORK,
    Doorward,
    Load,
    PostgreSQL,
    Process,
    Rounds,
    reserved_port,
    note,
    output,
    pinned,
    plain_environment,
    register,
    request,
    send,
    settings,
)

sys.path.insert(0, str(REPOSITORY / "lab"))
from filling import email_of, fill_sqlite, identity  # noqa: E402

BENCH = Path(__file__).resolve().parent
GUARD, NAME_GUARD, LOGIN = "/api/auth/guard", "/api/auth/miles", "/api/auth/login"
# The npm package contains the sources of the reference implementation.
REFERENCE = "argon2@0.45.1"
STORM_RATE = 400


@dataclass(frozen=True)
class Effort:
    """The length of a run."""

    rounds: int
    seconds: float
    turns: int
    starts: int
    users: int


FULL = Effort(rounds=5, seconds=1.5, turns=40, starts=15, users=1_000_000)
QUICK = Effort(rounds=3, seconds=1.0, turns=15, starts=5, users=100_000)
# Other load on the machine varies within seconds, so many short turns are more precise than a few long ones.
TURN = {"seconds": 0.25, "warm_up": 0.1}


def rate(result):
    return result.rate


def cpu(result):
    return result.cpu


# --- guards ----------------------------------------------------------------------------------------------------------


def guards(report, effort):
    note("guarded GET against a bare route")
    with ceiling("guards") as (server, guarded, bare):
        token = register(guarded, "miles@example.com", "Miles Davis")["token"]
        guard = request("GET", GUARD, token=token)
        same_bytes(guarded, bare, guard)
        asked = {
            "bare": Load(bare, [guard]),
            "guard": Load(guarded, [guard]),
            "name": Load(guarded, [request("GET", NAME_GUARD, token=token)]),
        }
        contenders = {
            name: lambda load=load: load.run(**TURN, server=server) for name, load in asked.items()
        }
        rounds = Rounds(contenders).run(effort.turns)
    report.section(
        "Guarded GET against a bare axum route",
        "One process, one core, 64 connections, the same bytes in both directions; SQLite, default settings.",
    )
    for name, label in [("bare", "bare route"), ("guard", "guard"), ("name", "name policy")]:
        figures = f"{rounds.median(name, rate):,.0f}/s, {rounds.median(name, cpu):.2f} µs of CPU"
        p50, p99, p999 = (rounds.median(name, lambda r, q=q: getattr(r, q)) / 1000 for q in ("p50", "p99", "p999"))
        report.add(label, f"{figures}; p50 {p50:.2f}, p99 {p99:.2f}, p99.9 {p999:.2f} ms")
    report.at_least("guard, throughput against bare", rounds.ratio("guard", "bare", rate), 0.92)
    report.at_most("guard, CPU against bare", rounds.ratio("guard", "bare", cpu), 1.12, "x", digits=2)
    # Without a goal: it returns the whole user in headers, the guard only the id.
    report.add("name policy, throughput against guard", f"{rounds.ratio('name', 'guard', rate):.2f}x")
    bars = [(label, rounds.median(name, cpu)) for name, label in [("bare", "bare route"), ("guard", "guard"), ("name", "name policy")]]
    report.plot("guard", "CPU time of one request", "µs", bars)


@contextlib.contextmanager
def ceiling(name, *options):
    """A server with our routes on one port and bare ones on another."""
    folder = WORK / name
    folder.mkdir()
    command = [TOOL, "ceiling", folder, *options]
    with Process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        ours, bare = map(int, server.line().split())
        yield server, ours, bare


def same_bytes(ours, bare, asked):
    """Checks that the bare route sends the same headers, lengths and body as ours."""
    answers = [send(port, asked) for port in (ours, bare)]
    shapes = [
        (status, sorted((line.split(":")[0].lower(), len(line)) for line in head.splitlines()[1:]), body)
        for status, head, body in answers
    ]
    if shapes[0] != shapes[1]:
        sys.exit(f"bench: the bare route does not answer as ours does: {shapes}")


# --- hashing ---------------------------------------------------------------------------------------------------------


@dataclass
class Hashed:
    """The output of a program that only hashes."""

    rate: float
    cpu_ms: float
    hash: str

    @staticmethod
    def by(*command):
        # The same priority as Doorward's hashing threads.
        return Hashed(**json.loads(output(*pinned(SERVER_CORE, *command, niceness=19))))


def alone(seconds):
    return Hashed.by(TOOL, "hash", "--seconds", seconds)


def reference(report, effort):
    note("Argon2id against its reference in C")
    program = build_reference()
    contenders = {
        "ours": lambda: alone(TURN["seconds"]),
        "reference": lambda: Hashed.by(program, TURN["seconds"]),
    }
    rounds = Rounds(contenders).run(effort.turns)
    if len({result.hash for results in rounds.results.values() for result in results}) != 1:
        sys.exit("bench: the two implementations do not agree")
    report.section(
        "Argon2id against the reference in C",
        f"19 MiB, 2 passes, one lane, reused memory, one core; `opt.c` of npm {REFERENCE}, built by `cc -O3 -march=native`. Both give the same hash.",
    )

    def millis(result):
        return result.cpu_ms

    report.add("reference in C", f"{rounds.median('reference', millis):.1f} ms of CPU")
    report.add("Doorward's", f"{rounds.median('ours', millis):.1f} ms of CPU")
    report.at_least("speed against the reference", rounds.ratio("reference", "ours", millis), 0.9)


def build_reference():
    folder = WORK / "reference"
    folder.mkdir()
    output("npm", "pack", "--silent", REFERENCE, cwd=folder)
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extractall(folder, filter="data")
    source = folder / "package" / "argon2"
    files = [source / "src" / name for name in ("argon2.c", "core.c", "opt.c", "encoding.c", "blake2/blake2b.c")]
    includes = [f"-I{source / 'include'}", f"-I{source / 'src'}"]
    program = folder / "argon2-reference"
    flags = ["-O3", "-march=native", "-DARGON2_NO_THREADS"]
    output("cc", *flags, *includes, "-o", str(program), str(BENCH / "reference" / "argon2.c"), *map(str, files))
    return program


def build_slow_flush():
    library = WORK / "slow_flush.so"
    source = BENCH / "reference" / "slow_flush.c"
    output("cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl")
    return library


def hashing(report, effort):
    note("login and registration against Argon2id alone")
    report.section(
        "Login and registration against Argon2id alone",
        "One core, 32 connections, every write flushed before its response, against the same library with the same cost alone on the core. "
        "The lower of two ratios is used: that of the rates and that of CPU time.",
        "For the slow disk, a preloaded library adds 2 ms to each flush.",
    )
    slow = {"LD_PRELOAD": str(build_slow_flush()), "SLOW_FLUSH_MICROS": "2000"}
    for label, environment in [("", {}), (", slow disk", slow)]:
        with Doorward(WORK / f"hashing{len(environment)}", **environment) as server:
            rounds = login_rounds(server, effort)
        hashes = rounds.median("alone", rate)
        if not label:
            report.add("Argon2id alone", f"{hashes:.1f}/s, {rounds.median('alone', lambda r: r.cpu_ms):.2f} ms of CPU")
        for name in ("login", "register"):
            more = f" ({rounds.median(name, rate):.1f}/s of {hashes:.1f}/s, {rounds.median(name, cpu) / 1000:.2f} ms of CPU)"
            # If other load affects the two differently, the rates are useless and CPU time is not.
            ratio = min(rounds.ratio(name, "alone", rate), rounds.ratio("alone", name, cpu_of_hash))
            report.at_least(f"{name}{label}", ratio, 0.9, more)


def cpu_of_hash(result):
    return result.cpu_ms * 1000 if isinstance(result, Hashed) else result.cpu


def login_rounds(server, effort):
    emails = [f"storm-{number}@example.com" for number in range(LOGIN_CONNECTIONS)]
    for email in emails:
        server.sign_up(email)
    logins = Load(server.port, login_requests(emails), connections=LOGIN_CONNECTIONS)
    fresh = iter(range(1 << 30))

    def registrations():
        # More than the server can answer in the time.
        names = [f"new-{next(fresh)}@example.com" for _ in range(3000)]
        forms = [{"name": "Ada Lovelace", "email": email, "password": PASSWORD} for email in names]
        requests = [request("POST", "/api/user", fields=form) for form in forms]
        load = Load(server.port, requests, connections=LOGIN_CONNECTIONS, expect=201)
        return load.run(1, server=server, warm_up=0.25)

    contenders = {
        "alone": lambda: alone(1),
        "login": lambda: logins.run(1, server=server, warm_up=0.25),
        "register": registrations,
    }
    return Rounds(contenders).run(effort.turns // 4)


def login_requests(emails):
    return [request("POST", LOGIN, fields={"email": email, "password": PASSWORD}) for email in emails]


# --- the storm -------------------------------------------------------------------------------------------------------


def storm(report, effort):
    note("guards in a login storm")
    seconds = effort.seconds * 3
    with Doorward(WORK / "storm") as server:
        idle, own = settled_memory(server), server.own_memory()
        token = server.sign_up("guarded@example.com")["token"]
        emails = [f"storm-{number}@example.com" for number in range(LOGIN_CONNECTIONS)]
        for email in emails:
            server.sign_up(email)
        guard = Load(server.port, [request("GET", GUARD, token=token)], connections=8)
        logins = Load(server.port, login_requests(emails), connections=LOGIN_CONNECTIONS)
        quiet_logins = logins.run(seconds, warm_up=0.5).rate

        def stormy():
            storming = logins.start(seconds + 0.5, warm_up=0.5)
            answered = guard.run(seconds - 0.5, rate=STORM_RATE, warm_up=0.5)
            return answered, logins.finish(storming)

        def quiet():
            return guard.run(seconds - 0.5, rate=STORM_RATE, warm_up=0.5), None

        rounds = Rounds({"quiet": quiet, "storm": stormy}).run(max(3, effort.rounds // 2))
        peak = server.peak_rss()

    def p99(result):
        return result[0].p99 / 1000

    report.section(
        "Guards in a login storm",
        f"The guard gets {STORM_RATE} requests a second over 8 connections while 32 others log in; all of Doorward on one core.",
    )
    for name in ("quiet", "storm"):
        p50, tail = (rounds.median(name, lambda r, q=q: getattr(r[0], q)) / 1000 for q in ("p50", "p999"))
        report.add(f"guard, {name}", f"p50 {p50:.2f}, p99 {rounds.median(name, p99):.2f}, p99.9 {tail:.2f} ms")
    report.at_most("guard p99 in the storm", rounds.median("storm", p99), 2, " ms", digits=2)
    report.at_most("guard p99, storm against quiet", rounds.ratio("storm", "quiet", p99), 2, "x", digits=2)
    logged_in = rounds.median("storm", lambda result: result[1].rate)
    report.add("logins in the storm", f"{logged_in:.1f}/s, {logged_in / quiet_logins:.2f}x of those without guards")
    report.at_most("memory when idle, its own", own, 8, " MiB")
    report.at_most("memory when idle, resident", idle, 28, " MiB")
    bound = idle + 20 + 10
    report.add("memory in the storm", f"{peak:.1f} MiB", f"<= {bound:.1f} MiB", peak <= bound)
    bars = [(f"p99, {name}", rounds.median(name, p99)) for name in ("quiet", "storm")]
    report.plot("storm", "Guard while 32 connections log in", "ms", bars)


def settled_memory(server):
    send(server.port, request("GET", "/api/user/x"))
    return server.rss()


# --- start and growth ------------------------------------------------------------------------------------------------


def growth(report, effort):
    note(f"from 1,000 to {effort.users:,} users")
    small, large = WORK / "small", WORK / "large"
    some_of_small, some_of_large = fill(small, 1000), fill(large, effort.users)
    report.section(
        "Start, and growth with the number of users",
        f"1,000 against {effort.users:,} users, each with a session; two servers take turns on one core.",
    )
    empty = statistics.median(start(WORK / f"empty-{number}") for number in range(effort.starts))
    full = statistics.median(start(large) for _ in range(effort.starts))
    report.at_most("start to first answer, empty", empty, 30, " ms")
    report.at_most(f"start to first answer, {effort.users:,} users", full, 50, " ms")

    with Doorward(small) as one, Doorward(large) as many:
        contenders = {}
        for size, server, some in [("small", one, some_of_small), ("large", many, some_of_large)]:
            token = server.sign_up("guarded@example.com")["token"]
            loads = {
                "guard": Load(server.port, [request("GET", GUARD, token=token)]),
                "look-up": Load(server.port, [request("GET", f"/api/user/{identity(user)}") for user in some]),
                "login": Load(server.port, login_requests(map(email_of, some)), connections=8),
            }
            for name, load in loads.items():
                contenders[name, size] = lambda load=load, server=server: load.run(0.5, server=server, warm_up=0.1)
        rounds = Rounds(contenders).run(effort.turns // 2)
        readers = {"small": lambda: read_alone(small, some_of_small), "large": lambda: read_alone(large, some_of_large)}
        bare = Rounds(readers).run(3)
    for name in ("guard", "look-up", "login"):
        ratio = rounds.ratio((name, "large"), (name, "small"), cpu)
        figures = [rounds.median((name, size), cpu) for size in ("small", "large")]
        beyond = (ratio - 1) / 3 + ratio
        more = f" ({figures[0]:,.1f} to {figures[1]:,.1f} µs of CPU; 10 million by extrapolation {beyond:.2f}x)"
        report.at_most(f"{name}, cost from 1,000 users on", ratio, 1.2, "x", more, digits=2)
    selects = [bare.median(size, float) for size in ("small", "large")]
    report.add("a user read by id with rusqlite alone", f"{selects[0]:.1f} to {selects[1]:.1f} µs")
    bars = [(f"{name}, {size}", rounds.median((name, size), cpu)) for name in ("guard", "look-up") for size in ("small", "large")]
    report.plot("growth", f"CPU time of one request, 1,000 and {effort.users:,} users", "µs", bars)


def read_alone(folder, users):
    command = pinned(SERVER_CORE, TOOL, "select", folder / "doorward.db", "--seconds", 0.5)
    return float(output(*command, input=" ".join(str(identity(user)) for user in users)))


def fill(folder, users):
    """Lets Doorward create a database and adds users to it; returns the numbers of a thousand of them."""
    with Doorward(folder) as server:
        server.sign_up("first@example.com")
    fill_sqlite(server.database(), users)
    return range(0, users, users // 1000)


def start(folder):
    """Milliseconds from launch to the first answer, on the core for servers."""
    folder.mkdir(exist_ok=True)
    port = reserved_port()
    command = pinned(SERVER_CORE, DOORWARD)
    environment = plain_environment() | settings(folder, port)
    return float(output(TOOL, "start", f"{HOST}:{port}", "--", *command, cwd=folder, env=environment))


# --- PostgreSQL ------------------------------------------------------------------------------------------------------


def postgres(report, effort):
    note("PostgreSQL")
    with (
        PostgreSQL() as database,
        ceiling("on-sqlite") as (on_sqlite, sqlite_port, _),
        ceiling("on-postgres", "--database", database.url()) as (on_postgres, port, bare),
    ):
        users = [register(port, f"user-{number}@example.com") for number in range(200)]
        look_ups = [request("GET", f"/api/user/{user['id']}") for user in users]
        same_bytes(port, bare, look_ups[0])
        here, there = register(sqlite_port, "guarded@example.com")["token"], users[0]["token"]
        asked = {
            "look-up": (Load(port, look_ups, connections=32), on_postgres),
            "bare look-up": (Load(bare, look_ups, connections=32), on_postgres),
            "guard": (Load(port, [request("GET", GUARD, token=there)]), on_postgres),
            "guard on SQLite": (Load(sqlite_port, [request("GET", GUARD, token=here)]), on_sqlite),
        }
        contenders = {
            name: lambda load=load, server=server: load.run(**TURN, server=server)
            for name, (load, server) in asked.items()
        }
        rounds = Rounds(contenders).run(effort.turns)
    report.section(
        "PostgreSQL",
        "PostgreSQL shares the core of the load. The bare look-up is an axum route that uses tokio-postgres, pipelined on one connection.",
    )
    for name in asked:
        report.add(name, f"{rounds.median(name, rate):,.0f}/s, {rounds.median(name, cpu):.2f} µs of CPU")
    report.at_least("look-up against bare tokio-postgres", rounds.ratio("look-up", "bare look-up", rate), 0.8)
    report.at_least("guard against guard on SQLite", rounds.ratio("guard", "guard on SQLite", rate), 0.95)


# --- the benchmark itself --------------------------------------------------------------------------------------------


def check():
    """Exits if a bare route does not answer as ours does. Measures nothing."""
    with ceiling("guards") as (_, guarded, bare):
        user = register(guarded, "miles@example.com", "Miles Davis")
        same_bytes(guarded, bare, request("GET", GUARD, token=user["token"]))
    with PostgreSQL() as database, ceiling("look-ups", "--database", database.url()) as (_, port, bare):
        user = register(port, "miles@example.com", "Miles Davis")
        same_bytes(port, bare, request("GET", f"/api/user/{user['id']}"))
    note("the bare routes answer as ours do")


ALL = {
    "guards": guards,
    "reference": reference,
    "hashing": hashing,
    "storm": storm,
    "growth": growth,
    "postgres": postgres,
    "peers": peers.measure,
    "build": build.measure,
}
