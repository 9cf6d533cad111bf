"""Arguments of the client's methods, checked against the methods' own annotations before a request is built.

One place for all calls: a value of another sort is refused with `InvalidArgument` that names the parameter (and the
field or item inside it), instead of an error of protobuf's or of Python's from somewhere below. What a text, a whole
number or a time must be to be sent is `encode`'s; so such values are looked at here only where something else is
allowed beside them.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any, Final, TypeVar

from memory_service.client.errors import InvalidArgument

Method = TypeVar("Method", bound=Callable[..., Any])
Kind = TypeVar("Kind", bound=type)
Check = Callable[[Any, str], None]
"""Raises `InvalidArgument` for a value, of which it is told the field."""

_LISTS: Final = (collections.abc.Sequence, collections.abc.Iterable, list, tuple, set, frozenset)
_TEXTS: Final = (str, bytes, bytearray)
_NOTHING: Final = ()
"""The default of most lists, which need not be looked at."""
_RENAMED: Final = {"where": "filter"}
_ITEMS_LOOKED_AT: Final = (list, tuple, set, frozenset)
"""Of other iterables what they give is seen when it is sent: to look at it here would use it up."""


def checked_methods(cls: Kind) -> Kind:
    """Check the arguments of every public method that a class defines itself."""
    for name, method in list(vars(cls).items()):
        if not name.startswith("_") and inspect.isfunction(method) and not hasattr(method, "__wrapped__"):
            setattr(cls, name, _checked(method))
    return cls


def check(value: object, annotation: Any, field: str) -> None:
    """Refuse a value that is not of the sort an annotation says.

    Raises:
        InvalidArgument: FIELD_INVALID, naming the field.
    """
    _check_of(annotation)(value, field)


def _checked(method: Method) -> Method:
    signature = inspect.signature(method)

    @cache
    def checks() -> Mapping[str, Check]:
        """Made at the first call, when everything the annotations name is imported."""
        hints = _hints(method)
        kinds = {name: parameter.kind for name, parameter in signature.parameters.items()}
        made = {name: _check_of(hint) for name, hint in hints.items() if kinds.get(name) in _NAMED}
        for name, hint in hints.items():
            if kinds.get(name) is inspect.Parameter.VAR_KEYWORD:
                made |= _fields_of(hint)
        return made

    own = list(signature.parameters)[1:]

    def look(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        # What is no argument at all is a TypeError of the method's own, as ever.
        known = checks()
        for name, value in zip(own, args, strict=False):
            if name in known:
                known[name](value, _RENAMED.get(name, name))
        for name, value in kwargs.items():
            if name in known:
                known[name](value, _RENAMED.get(name, name) if name in own else f"memory.{name}")

    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def called(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            look(args, kwargs)
            return await method(self, *args, **kwargs)

        return typing.cast("Method", called)

    @wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        look(args, kwargs)
        return method(self, *args, **kwargs)

    return typing.cast("Method", call)


_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _fields_of(hint: Any) -> dict[str, Check]:
    """The checks of the fields of a typed dictionary, given as keywords."""
    (inner,) = typing.get_args(hint) or (None,)
    return {name: _check_of(one) for name, one in _typed_fields(inner).items()} if typing.is_typeddict(inner) else {}


def _hints(of: Any) -> dict[str, Any]:
    """Annotations as objects. What JSON holds is `encode`'s to look at, and its type names itself."""
    return typing.get_type_hints(of, localns={"JsonValue": Any})


@cache
def _typed_fields(kind: Any) -> dict[str, Any]:
    return _hints(kind)


@cache
def _check_of(annotation: Any, *, strict: bool = False) -> Check:
    """The check of an annotation. `strict`: texts, whole numbers and times are looked at too."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in (Any, object):
        return _anything
    if origin in (typing.Union, types.UnionType):
        return _one_of(annotation, inner)
    if origin is typing.Literal:
        return _word(inner)
    if origin in (collections.abc.Mapping, dict):
        return _mapping(inner)
    if origin in _LISTS:
        return _list(origin, inner)
    if origin is collections.abc.Callable:
        return _sort(callable, "something to call")
    if typing.is_typeddict(annotation):
        return _typed(annotation)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return _record(annotation)
    return _plain(annotation, strict=strict)


def _anything(value: object, field: str) -> None:
    """Whatever it is."""


def _plain(kind: Any, *, strict: bool) -> Check:
    if kind is bool:
        return _sort(lambda value: isinstance(value, bool), "true or false")
    if kind is float:
        return _sort(lambda value: isinstance(value, int | float) and not isinstance(value, bool), "a number")
    if not strict or not isinstance(kind, type):
        return _anything
    if issubclass(kind, str):  # an enum's word may be given as text
        return _sort(lambda value: isinstance(value, str), "text")
    number = kind is int
    return _sort(lambda v: isinstance(v, kind) and not (number and isinstance(v, bool)), _called(kind))


def _called(kind: Any) -> str:
    return {str: "text", int: "a whole number", type(None): "None"}.get(kind, f"a {getattr(kind, '__name__', kind)}")


def _sort(fits: Callable[[Any], bool], what: str) -> Check:
    def look(value: object, field: str) -> None:
        if not fits(value):
            raise _wrong(field, what, value)

    return look


def _wrong(field: str, what: str, value: object) -> InvalidArgument:
    return InvalidArgument(
        f"{field}: must be {what}, not {type(value).__name__}", reason="FIELD_INVALID", field=field
    )


def _one_of(annotation: Any, choices: tuple[Any, ...]) -> Check:
    """One of several sorts; what is wrong inside of a record or list is told of the one that it is."""
    made = [(choice, _check_of(choice, strict=True)) for choice in choices]
    what = str(annotation)
    known = " or ".join(dict.fromkeys(_called(typing.get_origin(c) or c) for c, _ in made)) or what

    def look(value: object, field: str) -> None:
        inside: InvalidArgument | None = None
        for _, one in made:
            try:
                one(value, field)
            except InvalidArgument as error:
                inside = error if error.field != field else inside
            else:
                return
        raise inside or _wrong(field, known, value)

    return look


def _word(words: tuple[Any, ...]) -> Check:
    return _sort(lambda value: isinstance(value, str) and value in words, " or ".join(map(repr, words)))


def _mapping(inner: tuple[Any, ...]) -> Check:
    item = _check_of(inner[1], strict=True) if inner else _anything

    def look(value: object, field: str) -> None:
        if not isinstance(value, Mapping):
            raise _wrong(field, "a mapping", value)
        for name, one in value.items():
            if not isinstance(name, str):
                raise _wrong(f"{field} key", "text", name)
            item(one, f"{field}.{name}")

    return look


def _list(origin: Any, inner: tuple[Any, ...]) -> Check:
    pair = origin is tuple and inner and inner[-1] is not ...
    # A vector has many numbers, which `encode` reads anyway.
    items = [_check_of(one, strict=True) for one in inner if one is not ... and inner != (float,)]

    def look(value: object, field: str) -> None:
        if value is _NOTHING:
            return
        if not isinstance(value, collections.abc.Iterable) or isinstance(value, (*_TEXTS, Mapping)):
            raise _wrong(field, "a list", value)
        if pair and (not isinstance(value, tuple) or len(value) != len(items)):
            raise InvalidArgument(f"{field}: must be {len(items)} values", reason="FIELD_INVALID", field=field)
        if isinstance(value, _ITEMS_LOOKED_AT) and items:
            for place, one in enumerate(value):
                items[place if pair else 0](one, f"{field}[{place}]")

    return look


def _typed(kind: Any) -> Check:
    known = {name: _check_of(hint) for name, hint in _typed_fields(kind).items()}

    def look(value: object, field: str) -> None:
        if not isinstance(value, Mapping):
            raise _wrong(field, "a mapping", value)
        for name, one in value.items():
            if name not in known:
                raise InvalidArgument(f"{field}: there is no field {name!r}", reason="FIELD_INVALID", field=field)
            known[name](one, f"{field}.{name}")

    return look


def _record(kind: type) -> Check:
    @cache
    def parts() -> Mapping[str, Check]:
        return {name: _check_of(hint) for name, hint in _hints(kind).items()}

    fields = [field.name for field in dataclasses.fields(kind)]

    def look(value: object, field: str) -> None:
        if not isinstance(value, kind):
            raise _wrong(field, f"a {kind.__name__}", value)
        for name in fields:
            parts()[name](getattr(value, name), f"{field}.{name}")

    return look
