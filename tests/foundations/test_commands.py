"""The commands that README promises: they exist, they are described, and set-up fails clearly."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.foundations.repository import ROOT, tracked_files

SH = shutil.which("sh") or "sh"


def makefile() -> str:
    return (ROOT / "Makefile").read_text(encoding="utf-8")


def targets() -> set[str]:
    """The targets that `.PHONY` declares."""
    declared = re.search(r"^\.PHONY: (.*)$", makefile(), re.MULTILINE)
    assert declared
    return set(declared.group(1).split())


def test_every_target_is_described_in_help() -> None:
    if shutil.which("make") is None:
        pytest.skip("needs make")
    shown = subprocess.run(["make", "-s", "-C", str(ROOT), "help"], check=True, capture_output=True, text=True).stdout
    listed = set(re.findall(r"^  ([a-z-]+) ", shown, re.MULTILINE))
    assert listed == targets()
    assert {
        "setup",
        "run",
        "test",
        "check",
        "proto",
        "bench",
        "eval",
        "test-robustness",
        "lock",
        "clean",
    } <= listed


def test_every_make_command_in_the_docs_is_a_target() -> None:
    named = {
        (path.name, target)
        for path in tracked_files()
        if path.suffix in {".md", ".yml"} or path.parent.name == ".ci"
        for target in re.findall(
            r"(?:^|^\$ +|^ {4}|`)make ([a-z][a-z-]+)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert {name for name in named if name[1] not in targets()} == set()


def test_ci_runs_the_checks_and_then_the_test_command() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("make ")] == ["make setup", "make check", "make test"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that set-up reads, in a folder whose name has a space."""
    copy = tmp_path / "a checkout"
    locks = [f"requirements/{name}.lock" for name in ("build", "runtime", "dev", "minilm")]
    for name in ("pyproject.toml", *locks, "tools/setup.sh"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    return copy


def set_up(checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SH, "tools/setup.sh"],
        check=False,
        cwd=checkout,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", **environment},
    )


def program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_set_up_refuses_an_old_python_and_says_so(checkout: Path) -> None:
    old = program(checkout / "old python", "exit 1")
    outcome = set_up(checkout, PYTHON=str(old))
    assert outcome.returncode == 1
    assert "3.11 or newer" in outcome.stderr
    assert not (checkout / ".venv").exists()


def test_set_up_says_when_there_is_no_python_at_all(checkout: Path, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("dirname", "cat", "cksum", "flock", "rm", "grep"):
        if where := shutil.which(name):
            (tools / name).symlink_to(where)
    outcome = set_up(checkout, PATH=str(tools))
    assert outcome.returncode == 1
    assert "none was found" in outcome.stderr
    assert "make setup PYTHON=" in outcome.stderr


def test_set_up_installs_by_hash_once(checkout: Path) -> None:
    calls = checkout / "calls"
    record = f'case "$*" in *install*) echo "$*" >> "{calls}";; esac'
    make_venv = 'mkdir -p .venv/bin && cp "$0" .venv/bin/python'
    fake = program(checkout / "bin" / "python", f'{record}\ncase "$*" in *"-m venv"*) {make_venv};; esac\nexit 0')
    # .venv/bin/python is the same recorder; `-m pip --version` fails until it is there.
    first = set_up(checkout, PYTHON=str(fake))
    assert (first.returncode, calls.read_text().count("\n")) == (0, 3), first.stderr
    locks = [line for line in calls.read_text().splitlines() if ".lock" in line]
    assert len(locks) == 2
    assert all("--require-hashes" in line for line in locks)
    again = set_up(checkout, PYTHON=str(fake))
    assert (again.returncode, again.stderr, calls.read_text().count("\n")) == (0, "", 3)
    with (checkout / "requirements" / "dev.lock").open("a") as lock:
        lock.write("# changed\n")
    changed = set_up(checkout, PYTHON=str(fake))
    assert (changed.returncode, calls.read_text().count("\n")) == (0, 6)


def test_run_passes_its_variables_on_and_becomes_the_service() -> None:
    if shutil.which("make") is None:
        pytest.skip("needs make")
    given = ["PORT=1234", "OPS_PORT=1235", "DATA=a folder"]
    command = ["make", "-n", "-s", "-C", str(ROOT), "run", *given]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    [line] = [line for line in shown.replace("\\\n", " ").splitlines() if "memory-service serve" in line]
    words = shlex.split(line)
    assert words[:2] == ["exec", "env"]
    assert words[2:5] == [
        "MEMORY_SERVICE_LISTEN=127.0.0.1:1234",
        "MEMORY_SERVICE_OPS_LISTEN=127.0.0.1:1235",
        "MEMORY_SERVICE_DATA_DIR=a folder",
    ]


def test_run_sets_nothing_that_was_not_given() -> None:
    if shutil.which("make") is None:
        pytest.skip("needs make")
    environment = {name: value for name, value in os.environ.items() if name not in {"PORT", "OPS_PORT", "DATA"}}
    command = ["make", "-n", "-s", "-C", str(ROOT), "run"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    assert "MEMORY_SERVICE_" not in shown
