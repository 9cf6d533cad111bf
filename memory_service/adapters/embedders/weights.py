"""Finds weight files inside installed packages and makes sure they are the very files we measured.

The packages are carriers: their weights are read, their code is never imported.
"""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from memory_service.domain.errors import Reason, Unavailable

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class WeightFile:
    """A file that a pinned package carries.

    Attributes:
        module: import name of the package (never imported).
        path: where in the package, with forward slashes.
        sha256: hex digest of the only content we accept.
        requirement: what a person installs to get it.
    """

    module: str
    path: str
    sha256: str
    requirement: str

    def is_installed(self) -> bool:
        """Whether the package is there with the file in it (its content is not checked)."""
        folder = _module_folder(self.module)
        return folder is not None and (folder / self.path).is_file()

    def locate(self) -> Path:
        """Path of the verified file.

        Raises:
            Unavailable: EMBEDDER_UNAVAILABLE when the package or file is missing, or its content is another.
        """
        folder = _module_folder(self.module)
        if folder is None or not (folder / self.path).is_file():
            raise unavailable(f"the local model needs a package that is not installed: {self.requirement}")
        path = folder / self.path
        if sha256_of(path) != self.sha256:
            raise unavailable(
                f"{self.path} of {self.requirement} is not the file this release knows (its sha256 differs)"
            )
        return path


def sha256_of(path: Path) -> str:
    """Hex sha256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def unavailable(message: str) -> Unavailable:
    """The one error of an embedder that cannot answer now."""
    return Unavailable(Reason.EMBEDDER_UNAVAILABLE, message)


def _module_folder(module: str) -> Path | None:
    spec = importlib.util.find_spec(module)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None
