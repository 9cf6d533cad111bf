"""What every command shares: options, the client, output for people and for machines, exit codes."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from enum import IntEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from memory_service.client import AsyncMemoryClient, MemoryClient, MemoryClientError, Tls

WIDTH_WITHOUT_TERMINAL = 140

LOCAL_USER = "default"

BATCH_SECONDS_MIN = 60.0


class Exit(IntEnum):
    """Exit codes."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNAVAILABLE = 3


Target = Annotated[
    str | None,
    typer.Option("--target", envvar="MEMORY_SERVICE_TARGET", help="HOST:PORT of the service.", show_default=False),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        envvar="MEMORY_SERVICE_KEY",
        help="API key; that of the local service when not given.",
        show_default=False,
    ),
]
User = Annotated[
    str | None,
    typer.Option(
        "--user",
        "-u",
        envvar="MEMORY_SERVICE_USER",
        help="Whose memory; `default` on the local service.",
        show_default=False,
    ),
]
Device = Annotated[str, typer.Option("--device", help="Id of the device that writes.", show_default=False)]
Timeout = Annotated[float, typer.Option("--timeout", min=0.001, help="Seconds a call may take, retries included.")]
UseTls = Annotated[bool, typer.Option("--tls", help="Encrypt the connection; trust the system's authorities.")]
Authorities = Annotated[
    Path | None,
    typer.Option(
        "--ca",
        envvar="MEMORY_SERVICE_CA",
        exists=True,
        dir_okay=False,
        help="Encrypt; trust the authorities in this PEM file.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_COMMON: dict[str, tuple[Any, Any]] = {
    "target": (Target, None),
    "key": (Key, None),
    "user": (User, None),
    "device": (Device, ""),
    "timeout": (Timeout, 5.0),
    "tls": (UseTls, False),
    "ca": (Authorities, None),
    "as_json": (Json, False),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """The common options of one run."""

    target: str | None
    key: str | None = dataclasses.field(repr=False)
    user: str | None
    device: str
    timeout: float
    tls: bool
    ca: Path | None
    as_json: bool


@dataclasses.dataclass(slots=True)
class Session:
    """One run of one command."""

    options: Options

    @contextlib.contextmanager
    def client(self) -> Iterator[MemoryClient]:
        """The blocking client these options ask for."""
        from memory_service.client import MemoryClient

        options = self.options
        with MemoryClient(
            options.target,
            options.key,
            user=self.user,
            device=options.device,
            timeout_seconds=options.timeout,
            tls=self._tls(),
            batch_timeout_seconds=max(BATCH_SECONDS_MIN, options.timeout),
        ) as client:
            yield client

    @property
    def user(self) -> str:
        """Whose memory. Nobody named: "default" on this machine's own service, whose first key is bound to no
        user; else "", which the service takes as the one user the key is bound to."""
        from memory_service.client import credentials

        if self.options.user is not None:
            return self.options.user
        return LOCAL_USER if credentials.find(self.options.target, self.options.key).local else ""

    def async_client(self, local: tuple[str, str] | None = None) -> AsyncMemoryClient:
        """The asynchronous client these options ask for, or that of a local service (its target and key)."""
        from memory_service.client import AsyncMemoryClient

        options = self.options
        target, key = local or (options.target, options.key)
        return AsyncMemoryClient(
            target,
            key,
            user=options.user or "",
            device=options.device,
            timeout_seconds=options.timeout,
            tls=None if local else self._tls(),
            batch_timeout_seconds=max(BATCH_SECONDS_MIN, options.timeout),
        )

    def _tls(self) -> Tls | bool | None:
        from memory_service.client import Tls

        return Tls(self.options.ca.read_bytes()) if self.options.ca else self.options.tls

    def show(self, value: object, render: Callable[[Console], None]) -> None:
        """Print `value` as JSON if asked for, else let `render` print it for people."""
        if self.options.as_json:
            print_json(value)
        else:
            render(console())


def console(*, stderr: bool = False) -> Console:
    """For people: colours only on a terminal, and there only where NO_COLOR is not set; texts are never obeyed."""
    from memory_service.cli.terminal import SafeConsole

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDTH_WITHOUT_TERMINAL
    return SafeConsole(stderr=stderr, width=width, highlight=False, soft_wrap=False)


def to_json(value: object) -> Any:
    """Answers of the client as what JSON can hold: times in ISO 8601, spans in seconds, enums as their word."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return {str(name): to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


def print_json(value: object) -> None:
    """One JSON value on standard output."""
    print(json.dumps(to_json(value), ensure_ascii=False))


def with_client_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command `(session, …)` the common options, and turn the client's errors into exit codes."""
    own = inspect.signature(function)
    hints = get_type_hints(function, include_extras=True)
    parameters = [
        parameter.replace(annotation=hints[name]) for name, parameter in own.parameters.items() if name != "session"
    ]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _COMMON.items()
        if name not in own.parameters  # a command may mean something else by it
    ]

    @wraps(function)
    def command(**values: Any) -> None:
        common = {
            name: default if name in own.parameters else values.pop(name) for name, (_, default) in _COMMON.items()
        }
        options = Options(**common)
        with errors_shown(as_json=options.as_json):
            function(Session(options), **values)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


@contextlib.contextmanager
def errors_shown(*, as_json: bool) -> Iterator[None]:
    """Say what went wrong and what to do about it, and leave with the code for it."""
    try:
        yield
    except BrokenPipeError:
        # The reader (`head`, say) has what it wanted.
        sys.stderr.close()
        raise typer.Exit(Exit.OK) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except Exception as error:
        # Imported only here: a command that works starts without it.
        from memory_service.client import MemoryClientError

        if not isinstance(error, MemoryClientError):
            raise
        raise typer.Exit(_report(error, as_json=as_json)) from None


def fail(message: str, *, code: Exit = Exit.FAILED, as_json: bool = False, reason: str = "") -> typer.Exit:
    """Say why the command cannot go on; raise what this returns."""
    if as_json:
        print_json({"error": {"kind": code.name.lower(), "reason": reason, "message": message}})
    else:
        console(stderr=True).print(f"[bold red]error:[/] {_escaped(message)}")
    return typer.Exit(code)


def _report(error: MemoryClientError, *, as_json: bool) -> Exit:
    from memory_service import client as sdk

    if isinstance(error, sdk.InvalidArgument):
        code = Exit.USAGE
    elif isinstance(error, sdk.Unavailable | sdk.DeadlineExceeded):
        code = Exit.UNAVAILABLE
    else:
        code = Exit.FAILED
    hint = _hint(error)
    if as_json:
        facts = {
            "kind": type(error).__name__,
            "reason": error.reason,
            "field": error.field,
            "message": error.message,
            "metadata": error.metadata,
            "hint": hint,
        }
        print_json({"error": facts})
        return code
    out = console(stderr=True)
    out.print(f"[bold red]error:[/] {_escaped(str(error))}")
    for name, value in sorted(error.metadata.items()):
        if name != "field":
            out.print(f"  [dim]{_escaped(name)}: {_escaped(value)}[/]")
    if hint:
        out.print(f"  [cyan]{_escaped(hint)}[/]")
    return code


def _hint(error: MemoryClientError) -> str:
    from memory_service import client as sdk

    if error.reason == "CREDENTIAL_MISSING":
        return "Start the service here (`memory-service serve`), or give --key or MEMORY_SERVICE_KEY."
    if isinstance(error, sdk.Unauthenticated):
        return "Make a key with `memory-service keys create NAME` where an admin key is at hand."
    if error.field == "user":
        return "Say whose memory: --user NAME or MEMORY_SERVICE_USER."
    if error.reason == "ROLE_REQUIRED":
        return "Use a key with that role (`memory-service keys create NAME --role …`)."
    if isinstance(error, sdk.Unavailable | sdk.DeadlineExceeded) and not error.reason:
        return "Is it running? Start it with `memory-service serve`, or ask `memory-service doctor`."
    if isinstance(error, sdk.DeviceOutOfStep):
        return "Then: `memory-service offline new-incarnation FILE`, and sync again. Nothing queued is lost."
    if isinstance(error, sdk.OutOfRange):
        return "What happened since is no longer kept: read anew (`memory-service list`), then watch from now."
    if error.reason == "ETAG_MISMATCH":
        return "Somebody else changed it: look at it again (`memory-service show ID`), then decide."
    return ""


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def parse_time(text: str | None) -> datetime | None:
    """A time given on the command line: ISO 8601; without a zone it is local time."""
    if text is None:
        return None
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a time such as 2026-05-03 or 2026-05-03T09:30:00Z") from None
    return value.astimezone() if value.tzinfo is None else value


def parse_json(text: str) -> Any:
    """A JSON value given on the command line; what is not JSON is taken as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def one_line(text: str, limit: int = 200) -> str:
    """Text on one line, cut off when long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
