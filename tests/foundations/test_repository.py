"""The repository itself: portable, of one version, no file too long, every link leads somewhere."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.foundations.repository import GENERATED, ROOT, pyproject, text_of, tracked_files

LINES_MAX = 600
PROTO_LINES_MAX = 850
"""An API reads best in one place, and most of its lines are the comments that say what it means."""


def registry_hosts() -> set[str]:
    """The well-known package hosts, and those that pip is set up with on this machine."""
    known = {"pypi" + ".org", "files.python" + "hosted.org", "registry.npm" + "js.org", "deb.debian" + ".org"}
    settings = [value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    listed = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    hosts = set(re.findall(r"https?://(?:[^/@\s']*@)?([a-zA-Z0-9.-]+\.[a-zA-Z]+)", "\n".join([listed, *settings])))
    return known | hosts


def test_no_file_names_a_package_registry() -> None:
    hosts = registry_hosts()
    named = [
        f"{path.relative_to(ROOT)}: {host}"
        for path in tracked_files()
        for host in hosts
        if host in (text_of(path) or "")
    ]
    assert named == []


def machine_paths() -> re.Pattern[str]:
    """Home directories, a workplace's folder, and where this checkout lies."""
    patterns = [r"/(?:home|Users)/[a-z][\w.-]*/", "/" + r"root/\.?\w", "/" + r"work/(?:main|shared)"]
    if len(ROOT.parts) > 2:
        patterns.append(re.escape(str(ROOT)) + r"\b")
    return re.compile(r"(?<![\w.*-])(?:" + "|".join(patterns) + ")")


def test_no_file_names_a_path_of_some_machine() -> None:
    pattern = machine_paths()
    named = [
        f"{path.relative_to(ROOT)}: {found.group()}"
        for path in tracked_files()
        if (found := pattern.search(text_of(path) or ""))
    ]
    assert named == []


@pytest.mark.parametrize("text", ["see /home/" + "ann/project", "open('/" + "root/x')", "cd /" + "work/main"])
def test_the_path_pattern_sees_machine_paths(text: str) -> None:
    assert machine_paths().search(text)


def test_no_source_file_is_too_long() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in tracked_files()
        if path.suffix in {".py", ".pyi", ".sql", ".proto", ".sh"} and not path.name.endswith(GENERATED)
    }
    too_long = {
        name: length
        for name, length in lengths.items()
        if length > (PROTO_LINES_MAX if name.endswith(".proto") else LINES_MAX)
    }
    assert too_long == {}


def test_the_version_is_written_once() -> None:
    version = pyproject()["project"]["version"]
    assert importlib.metadata.version("memory-service") == version
    pattern = re.compile(rf'(?:version|VERSION)\w*["\']?\s*[:=]\s*["\']{re.escape(version)}["\']')
    elsewhere = [
        str(path.relative_to(ROOT))
        for path in tracked_files()
        if path.suffix in {".py", ".toml", ".yml"}
        and path != ROOT / "pyproject.toml"
        and pattern.search(text_of(path) or "")
    ]
    assert elsewhere == [], "read it with importlib.metadata.version instead"


def test_the_changelog_has_the_version() -> None:
    headings = re.findall(
        r"^## \[([^]]+)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert pyproject()["project"]["version"] in dict(headings)
    for _, date in headings:
        assert date == "unreleased" or re.fullmatch(r"\d{4}-\d\d-\d\d", date)


def anchor(heading: str) -> str:
    """The anchor that a heading gets where Markdown is shown (lower case, no punctuation, dashes)."""
    plain = re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def broken_links(document: Path) -> list[str]:
    """Relative links of a Markdown file that lead nowhere."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    broken = []
    for link in re.findall(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, fragment = link.partition("#")
        target = (document.parent / name) if name else document
        if not target.exists():
            broken.append(link)
        elif fragment and target.suffix == ".md":
            headings = re.findall(r"^#+ +(.+?)#* *$", target.read_text(encoding="utf-8"), re.MULTILINE)
            if fragment not in map(anchor, headings):
                broken.append(link)
    return broken


def test_every_link_of_the_docs_leads_somewhere() -> None:
    broken = {
        str(path.relative_to(ROOT)): links
        for path in tracked_files()
        if path.suffix == ".md" and (links := broken_links(path))
    }
    assert broken == {}


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_text(
        "# One heading\n[a](gone.md) [b](#one-heading) [c](#gone) [d](https://example.org) [e](a.md)\n"
    )
    assert broken_links(document) == ["gone.md", "#gone"]
