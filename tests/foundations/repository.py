"""What the tests of this folder look at: the files that git tracks."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")


@functools.cache
def tracked_files() -> tuple[Path, ...]:
    """Every tracked file that is there; skips the test outside a git checkout."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a checkout")
    # CI may check out as one user and run as another; this only reads.
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", "-z"]
    names = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
    return tuple(path for name in names if name and (path := ROOT / name).is_file())


def text_of(path: Path) -> str | None:
    """The file's text, or None for a binary file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


@functools.cache
def pyproject() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
