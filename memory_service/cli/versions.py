"""Which releases are installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version


def program_version() -> str:
    """The version of this package, "unknown" when it runs from a folder that was never installed."""
    return library_version("memory-service") or "unknown"


def library_version(name: str) -> str | None:
    """The version of an installed distribution, None when it is not installed."""
    try:
        return installed_version(name)
    except PackageNotFoundError:
        return None
