"""Reads input files of commands field by field, so that what is wrong is told with its line or place and its name.

Files are written by hand and by other programs. A reader that takes what it finds ends in a traceback somewhere
else, or in a figure of something that was never asked. So every field has a type and bounds here, and nothing but
`DatasetError` comes out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

LINE_BYTES_MAX: Final = 64 << 20
"""Longest line of a file, and longest file that is one JSON object."""
TIME_MIN: Final = datetime(1900, 1, 1, tzinfo=UTC)
TIME_MAX: Final = datetime(2500, 1, 1, tzinfo=UTC)
"""Times that a file may name: what follows from them (an expiry, say) is still a time."""
INTEGER_MAX: Final = 2**53

_SHOWN_CHARS: Final = 60
_REQUIRED: Final[Any] = object()


class DatasetError(ValueError):
    """A file that cannot be read; the message has the line or place, and the name of the field."""


def text_of(path: Path) -> str:
    """A file's text.

    Raises:
        DatasetError: it is not UTF-8, or longer than `LINE_BYTES_MAX`.
    """
    with path.open("rb") as file:
        return _decoded(file.read(LINE_BYTES_MAX + 1), "the file")


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a file.

    Raises:
        DatasetError: naming a line that is not UTF-8, or longer than `LINE_BYTES_MAX`.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LINE_BYTES_MAX + 1):
            number += 1
            yield _decoded(line, f"line {number}")


def _decoded(data: bytes, place: str) -> str:
    if len(data) > LINE_BYTES_MAX:
        raise DatasetError(f"{place} is longer than {LINE_BYTES_MAX >> 20} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{place} is not UTF-8 (byte {error.start})") from None


def parsed(text: str, place: str) -> Form:
    """The JSON object that a text is.

    Raises:
        DatasetError: it is no JSON, no object, nested too deeply, or has a number that is none (NaN, 1e999).
    """
    try:
        value = json.loads(text, parse_constant=_refused, parse_float=_finite)
    except RecursionError:
        raise DatasetError(f"{place} is nested too deeply") from None
    except ValueError as error:
        raise DatasetError(f"{place} is not JSON: {error}") from None
    return Form.of(value, place)


def _refused(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


class Form:
    """A JSON object, read field by field. All methods raise `DatasetError` for a field that is not as it must be."""

    def __init__(self, values: Mapping[str, Any], place: str) -> None:
        self._values = values
        self.place = place

    @classmethod
    def of(cls, value: object, place: str) -> Form:
        """The form that a JSON value is."""
        if not isinstance(value, dict):
            raise DatasetError(f"{place} must be a JSON object, not {_shown(value)}")
        return cls(value, place)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def given(self, name: str) -> bool:
        """Whether a field is there and something: neither null nor an empty text."""
        return self._values.get(name) not in (None, "")

    def wrong(self, name: str, what: str) -> DatasetError:
        """The error that a field is not `what` it must be."""
        return DatasetError(f"{self.place}: {name} must be {what}, not {_shown(self._values.get(name))}")

    def only(self, names: Collection[str]) -> None:
        """Refuse fields of other names."""
        unknown = sorted(set(self._values) - set(names))
        if unknown:
            raise DatasetError(
                f"{self.place}: unknown field {_shown(unknown[0])}; known are {', '.join(sorted(names))}"
            )

    def any(self, name: str) -> Any:
        """Whatever a field is; it must be there."""
        if name not in self._values:
            raise DatasetError(f"{self.place}: {name} must be given")
        return self._values[name]

    def text(self, name: str, default: str = _REQUIRED, *, empty: bool = False) -> str:
        """A text, not empty unless `empty`; without a default it must be there."""
        if default is not _REQUIRED and self._values.get(name) is None:
            return default
        return self._text(name, self.any(name), empty=empty or default == "")

    def _text(self, name: str, value: object, *, empty: bool) -> str:
        if not isinstance(value, str) or not (value or empty):
            raise DatasetError(f"{self.place}: {name} must be text, not {_shown(value)}")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise DatasetError(f"{self.place}: {name} has half of a character (a lone surrogate)") from None
        return value

    def name(self, name: str, default: str = _REQUIRED) -> str:
        """An id: a text, or a whole number as text."""
        value = self._values.get(name)
        return str(value) if type(value) is int else self.text(name, default)

    def whole(
        self, name: str, default: int = _REQUIRED, *, minimum: int = -INTEGER_MAX, maximum: int = INTEGER_MAX
    ) -> int:
        """A whole number from `minimum` to `maximum`."""
        if default is not _REQUIRED and self._values.get(name) is None:
            return default
        value = self.any(name)
        if type(value) is not int or not minimum <= value <= maximum:
            raise self.wrong(name, f"a whole number from {minimum} to {maximum}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self._values.get(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def texts(self, name: str, default: tuple[str, ...] = _REQUIRED) -> tuple[str, ...]:
        """A list of texts, none of them empty."""
        if default is not _REQUIRED and self._values.get(name) is None:
            return default
        value = self.any(name)
        if not isinstance(value, list):
            raise self.wrong(name, "a list of texts")
        return tuple(self._text(f"{name}[{place}]", item, empty=False) for place, item in enumerate(value))

    def names(self, name: str) -> frozenset[str]:
        """Ids: a list of texts or whole numbers, or one of them; none when it is not there."""
        value = self._values.get(name)
        items = value if isinstance(value, list) else [] if value is None else [value]
        return frozenset(
            str(item) if type(item) is int else self._text(f"{name}[{place}]", item, empty=False)
            for place, item in enumerate(items)
        )

    def forms(self, name: str) -> list[Form]:
        """A list of objects, of which the place is told by number from 1."""
        value = self.any(name)
        if not isinstance(value, list):
            raise self.wrong(name, "a list of objects")
        return [Form.of(item, f"{self.place}, {name.removesuffix('s')} {n}") for n, item in enumerate(value, 1)]

    def form(self, name: str) -> Form:
        """An object."""
        return Form.of(self.any(name), f"{self.place}, {name}")

    def items(self) -> Iterator[tuple[str, Any]]:
        """All fields."""
        return iter(self._values.items())

    def time(self, name: str, *, zone: bool = True) -> datetime:
        """A time in ISO 8601 from `TIME_MIN` to `TIME_MAX`, with an offset; one without is UTC unless `zone`."""
        value = self.text(name)
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            raise self.wrong(name, "a time in ISO 8601") from None
        if time.tzinfo is None:
            if zone:
                raise self.wrong(name, "a time with an offset from UTC")
            time = time.replace(tzinfo=UTC)
        return self.checked_time(name, time)

    def checked_time(self, name: str, time: datetime) -> datetime:
        """`time`, which a field came to, when it is from `TIME_MIN` to `TIME_MAX`."""
        # Compared without the zone first: beyond the year 9999 in UTC there is nothing to compare with.
        near = TIME_MIN.year - 1 <= time.year <= TIME_MAX.year + 1
        if not near or not TIME_MIN <= time <= TIME_MAX:
            raise DatasetError(f"{self.place}: {name} must lie between {TIME_MIN.date()} and {TIME_MAX.date()}")
        return time

    def zone(self, name: str) -> ZoneInfo:
        """A time zone by its IANA name."""
        value = self.text(name)
        try:
            return ZoneInfo(value)
        except (KeyError, ValueError, OSError):  # unknown, no key, the name of a folder
            raise self.wrong(name, "the IANA name of a time zone") from None


def later(form: Form, name: str, start: datetime, by: timedelta, times: int) -> datetime:
    """`start` and `times` times `by`, which a field came to; within `TIME_MIN` and `TIME_MAX`."""
    try:
        return form.checked_time(name, start + times * by)
    except OverflowError:
        raise DatasetError(f"{form.place}: {name} must end before {TIME_MAX.date()}") from None


def _shown(value: object) -> str:
    told = repr(value) if value is not None else "nothing"
    return told if len(told) <= _SHOWN_CHARS else told[: _SHOWN_CHARS - 1] + "…"
