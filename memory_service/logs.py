"""Structured logs on standard error: request ids, never memory text."""

from __future__ import annotations

import logging
import sys

import structlog

from memory_service.config import LogFormat


def configure(level: str, log_format: LogFormat) -> None:
    """Send structlog and the standard library's loggers to standard error, as text or as JSON lines."""
    numeric = logging.getLevelNamesMapping()[level.upper()]
    as_json = log_format is LogFormat.JSON or (log_format is LogFormat.AUTO and not sys.stderr.isatty())
    renderer = (
        structlog.processors.JSONRenderer()
        if as_json
        # Plain tracebacks: the pretty ones print local variables, and those hold memory text.
        else structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info if as_json else structlog.processors.StackInfoRenderer(),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(numeric),
        logger_factory=_standard_error,
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(
        level=max(numeric, logging.WARNING), stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s"
    )


class _StandardError:
    """Prints to whatever is standard error at the time, so that one made early never holds a closed file."""

    def msg(self, message: str) -> None:
        """Print one line."""
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()

    log = debug = info = warn = warning = error = err = critical = fatal = failure = exception = msg


def _standard_error(*_: object) -> _StandardError:
    return _StandardError()
