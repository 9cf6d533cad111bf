"""Where the clusters of these tests live: in memory if there is plenty, and gone when their test is over."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY_DISK = Path("/dev/shm")
#: Each cluster takes some 60 MB; several tests may run at once.
FREE_BYTES_MIN = 2 << 30


@pytest.fixture(scope="session")
def clusters_base() -> Path:
    """A directory for short-lived clusters. Processes are killed here, never machines, so memory will do."""
    try:
        roomy = shutil.disk_usage(MEMORY_DISK).free > FREE_BYTES_MIN
    except OSError:
        roomy = False
    return MEMORY_DISK if roomy else Path(tempfile.gettempdir())


@pytest.fixture
def tmp_path(clusters_base: Path) -> Iterator[Path]:
    """As pytest's own, but in memory, and removed at once."""
    made = Path(tempfile.mkdtemp(prefix="embedded-", dir=clusters_base))
    yield made
    shutil.rmtree(made, ignore_errors=True)
