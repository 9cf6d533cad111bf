"""Append-only columns and string tables that successive snapshots share unseen by each other."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Column: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

ABSENT: Final = -1
"""In a column of string numbers: no value."""

_GROWTH: Final = 1.5
_CAPACITY_MIN: Final = 64
_STRING_OVERHEAD_BYTES: Final = 120
"""A dictionary entry, a list slot and the boxed number of one interned string (CPython 3.11, 64 bit)."""


class _Buffer:
    """Arrays with room to grow, and how many places of them are taken by any table."""

    __slots__ = ("arrays", "capacity", "lock", "taken")

    def __init__(self, arrays: dict[str, Column], capacity: int, taken: int) -> None:
        self.arrays, self.capacity, self.taken = arrays, capacity, taken
        self.lock = threading.Lock()

    def claim(self, start: int, count: int) -> bool:
        """Take places start … start+count; False when they are taken already or do not fit."""
        with self.lock:
            if self.taken != start or start + count > self.capacity:
                return False
            self.taken = start + count
            return True


class GrowTable:
    """Columns of equal length. Immutable: `extended` gives a longer table and leaves this one as it is.

    The newest table of a line appends in place behind what older ones can see, so that adding a row does not
    copy the vectors; a second successor of one table copies first.
    """

    __slots__ = ("_buffer", "_views", "length")

    def __init__(self, columns: Mapping[str, Column]) -> None:
        lengths = {len(column) for column in columns.values()}
        if len(lengths) != 1:
            raise ValueError("columns differ in length")
        length = lengths.pop()
        self._attach(_Buffer(dict(columns), length, length), length)

    def _attach(self, buffer: _Buffer, length: int) -> None:
        self._buffer, self.length = buffer, length
        self._views = {name: array[:length] for name, array in buffer.arrays.items()}
        for view in self._views.values():
            view.flags.writeable = False

    def __getitem__(self, name: str) -> Column:
        """The column as a read-only view."""
        return self._views[name]

    def __len__(self) -> int:
        return self.length

    @property
    def names(self) -> Sequence[str]:
        """The columns' names."""
        return tuple(self._views)

    @property
    def nbytes(self) -> int:
        """Bytes held, the room to grow included."""
        return sum(array.nbytes for array in self._buffer.arrays.values())

    def extended(self, more: Mapping[str, Column]) -> GrowTable:
        """This table with rows appended; values are converted to the columns' types."""
        count = len(next(iter(more.values())))
        if count == 0:
            return self
        buffer = self._buffer
        if not buffer.claim(self.length, count):
            buffer = self._moved(self.length + count)
        for name, array in buffer.arrays.items():
            array[self.length : self.length + count] = more[name]
        table = GrowTable.__new__(GrowTable)
        table._attach(buffer, self.length + count)
        return table

    def _moved(self, needed: int) -> _Buffer:
        # What is built in one go may never grow; what grows once will again.
        capacity = max(_CAPACITY_MIN, int(needed * _GROWTH)) if self.length else needed
        arrays: dict[str, Column] = {}
        for name, view in self._views.items():
            arrays[name] = np.empty((capacity, *view.shape[1:]), view.dtype)
            arrays[name][: self.length] = view
        return _Buffer(arrays, capacity, needed)

    def taken(self, rows: Column) -> GrowTable:
        """A table of its own with the rows at these places (indices or mask), without room to grow."""
        return GrowTable({name: view[rows] for name, view in self._views.items()})

    def replaced(self, name: str, values: Column) -> GrowTable:
        """A table in which one column has other values; it shares the other columns, which it cannot extend."""
        return GrowTable({key: values if key == name else view for key, view in self._views.items()})


class Interner:
    """Numbers strings 0, 1, 2 … in order of arrival. Only grows, so older snapshots may share it."""

    __slots__ = ("_lock", "_numbers", "_strings", "nbytes")

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self._strings = list(strings)
        self._numbers = {string: number for number, string in enumerate(self._strings)}
        self._lock = threading.Lock()
        self.nbytes = sum(map(str.__sizeof__, self._strings)) + _STRING_OVERHEAD_BYTES * len(self._strings)

    def __len__(self) -> int:
        return len(self._strings)

    def find(self, string: str) -> int:
        """The string's number, or ABSENT when it has none."""
        return self._numbers.get(string, ABSENT)

    def add(self, string: str) -> int:
        """The string's number, given to it now when it has none."""
        number = self._numbers.get(string)
        if number is not None:
            return number
        with self._lock:
            number = self._numbers.get(string)
            if number is None:
                number = len(self._strings)
                self._strings.append(string)
                self._numbers[string] = number
                self.nbytes += _string_bytes(string)
            return number

    def string(self, number: int) -> str:
        """The string of a number."""
        return self._strings[number]

    def strings(self) -> Sequence[str]:
        """All strings by number; a copy."""
        return tuple(self._strings)


def _string_bytes(string: str) -> int:
    return string.__sizeof__() + _STRING_OVERHEAD_BYTES


def optional(string: str, table: Interner) -> int:
    """The number of `string` in `table`; ABSENT for the empty string."""
    return table.add(string) if string else ABSENT
