"""Where the bytes of cold storage lie: whole files by path. These block, and are called in threads."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from pyarrow import fs

_UNFINISHED = ".part"


class Files(Protocol):
    """Files by relative path ("a/b"). A missing one raises FileNotFoundError, any other trouble OSError."""

    def write(self, path: str, data: pa.Buffer) -> None:
        """Write a whole file, durably."""
        ...

    def read(self, path: str) -> pa.Buffer:
        """A file's bytes."""
        ...

    def size(self, path: str) -> int:
        """A file's size in bytes."""
        ...

    def names(self, folder: str) -> Sequence[str]:
        """Names of the files in a folder, in order; empty when it is not there."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens when it is not there."""
        ...


class FolderFiles:
    """A folder of this machine: written beside, synced, then renamed into place."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, path: str, data: pa.Buffer) -> None:
        """See `Files`; the file and its folder are on disk when it returns."""
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = target.with_name(target.name + _UNFINISHED)
        with part.open("wb") as out:
            out.write(memoryview(data))
            out.flush()
            os.fsync(out.fileno())
        part.replace(target)
        for folder in (target.parent, *(p for p in target.parent.parents if p.is_relative_to(self._root))):
            _sync(folder)

    def read(self, path: str) -> pa.Buffer:
        """See `Files`."""
        return pa.py_buffer((self._root / path).read_bytes())

    def size(self, path: str) -> int:
        """See `Files`."""
        return (self._root / path).stat().st_size

    def names(self, folder: str) -> Sequence[str]:
        """See `Files`; what a killed process left unfinished is removed on the way."""
        place = self._root / folder
        if not place.is_dir():
            return []
        return sorted(f.name for f in place.iterdir() if f.is_file() and not f.name.endswith(_UNFINISHED))

    def remove(self, path: str) -> None:
        """See `Files`; it is gone from the folder on disk when it returns."""
        target = self._root / path
        with contextlib.suppress(FileNotFoundError):
            target.with_name(target.name + _UNFINISHED).unlink()
        with contextlib.suppress(FileNotFoundError):
            target.unlink()
            _sync(target.parent)


class RemoteFiles:
    """Any file system of `pyarrow.fs`, e.g. an object store: an object is there once it is whole."""

    def __init__(self, filesystem: fs.FileSystem, base: str) -> None:
        self._files = fs.SubTreeFileSystem(base, filesystem) if base else filesystem

    @classmethod
    def of_uri(cls, uri: str) -> RemoteFiles:
        """From a URI such as ``s3://bucket/prefix?region=eu-west-1``.

        Raises:
            ValueError: a URI that no file system understands. Says nothing of the URI, which may hold a secret.
        """
        try:
            filesystem, base = fs.FileSystem.from_uri(uri)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, OSError) as error:
            raise ValueError("is not the address of a file system that is known") from error
        return cls(filesystem, base)

    def write(self, path: str, data: pa.Buffer) -> None:
        """See `Files`. File systems with real folders get a rename, so that a half-written file is never seen."""
        folder = path.rpartition("/")[0]
        if isinstance(self._inner, fs.LocalFileSystem):
            self._files.create_dir(folder, recursive=True)
            self._put(path + _UNFINISHED, data)
            self._files.move(path + _UNFINISHED, path)
        else:
            self._put(path, data)

    @property
    def _inner(self) -> fs.FileSystem:
        return self._files.base_fs if isinstance(self._files, fs.SubTreeFileSystem) else self._files

    def _put(self, path: str, data: pa.Buffer) -> None:
        with self._files.open_output_stream(path) as out:
            out.write(data)

    def read(self, path: str) -> pa.Buffer:
        """See `Files`."""
        with self._files.open_input_file(path) as source:
            return source.read_buffer()

    def size(self, path: str) -> int:
        """See `Files`."""
        info = self._files.get_file_info(path)
        if info.type is not fs.FileType.File:
            raise FileNotFoundError(path)
        return int(info.size)

    def names(self, folder: str) -> Sequence[str]:
        """See `Files`."""
        found = self._files.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        return sorted(
            i.base_name for i in found if i.type is fs.FileType.File and not i.base_name.endswith(_UNFINISHED)
        )

    def remove(self, path: str) -> None:
        """See `Files`."""
        with contextlib.suppress(FileNotFoundError):
            self._files.delete_file(path)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
