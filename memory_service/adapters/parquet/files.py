"""Where the bytes of cold storage lie: whole files by path. These block, and are called in threads."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from pyarrow import fs

_UNFINISHED = ".part"
_UNFINISHED_SECONDS_MAX = 3_600.0


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
        """See `Files`; what a killed process left unfinished for an hour is removed on the way."""
        place = self._root / folder
        if not place.is_dir():
            return []
        found: list[str] = []
        for file in place.iterdir():
            if not file.name.endswith(_UNFINISHED):
                found.append(file.name)
                continue
            with contextlib.suppress(FileNotFoundError):
                if time.time() - file.stat().st_mtime > _UNFINISHED_SECONDS_MAX:
                    file.unlink()
        return sorted(found)

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

    def write(self, path: str, data: pa.Buffer) -> None:
        """See `Files`."""
        try:
            self._put(path, data)
        except FileNotFoundError:  # it has real folders
            self._files.create_dir(path.rpartition("/")[0], recursive=True)
            self._put(path, data)

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
        return sorted(item.base_name for item in found if item.type is fs.FileType.File)

    def remove(self, path: str) -> None:
        """See `Files`."""
        with contextlib.suppress(FileNotFoundError):
            self._files.delete_file(path)


def files_of_uri(uri: str) -> Files:
    """From a URI such as ``s3://bucket/prefix?region=eu-west-1`` or ``file:///a/folder``.

    Raises:
        ValueError: a URI that no file system understands. Says nothing of the URI, which may hold a secret.
    """
    try:
        filesystem, base = fs.FileSystem.from_uri(uri)
    except (pa.ArrowException, ValueError, OSError) as error:
        raise ValueError("is not the address of a file system that is known") from error
    return FolderFiles(Path(base)) if isinstance(filesystem, fs.LocalFileSystem) else RemoteFiles(filesystem, base)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
