"""Where the key comes from: the argument, the environment, or the file that embedded mode writes."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from memory_service.client.errors import InvalidArgument, Unauthenticated

KEY_VARIABLE = "MEMORY_SERVICE_KEY"
TARGET_VARIABLE = "MEMORY_SERVICE_TARGET"
DATA_DIRECTORY_VARIABLE = "MEMORY_SERVICE_DATA_DIR"
DEFAULT_TARGET = "127.0.0.1:50051"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where to connect and with which key (never shown); `local` when the key is that of the file."""

    target: str
    key: str = field(repr=False)
    local: bool = False


def data_directory() -> Path:
    """The data directory of embedded mode: `MEMORY_SERVICE_DATA_DIR`, else `./data`."""
    return Path(os.environ.get(DATA_DIRECTORY_VARIABLE) or "data")


def credentials_file() -> Path:
    """The file that embedded mode writes: `{"target": …, "key": …, "tenant": …}`."""
    return data_directory() / "credentials.json"


def find(target: str | None, key: str | None) -> Credentials:
    """Complete what the caller left out.

    The target is the argument, `MEMORY_SERVICE_TARGET`, the credentials file's, or 127.0.0.1:50051; the key
    is the argument, `MEMORY_SERVICE_KEY`, or the credentials file's.

    Raises:
        Unauthenticated: CREDENTIAL_MISSING, no key was found anywhere.
        InvalidArgument: the key or target has characters it cannot have, or the file is not readable JSON.
    """
    target = target or os.environ.get(TARGET_VARIABLE) or None
    key = key if key is not None else os.environ.get(KEY_VARIABLE) or None
    stored = _stored() if target is None or key is None else {}
    target = target or stored.get("target") or DEFAULT_TARGET
    local = key is None
    key = stored.get("key") if key is None else key
    if not key:
        raise Unauthenticated(
            f"no key: give one, set {KEY_VARIABLE}, or start the service on this machine so that it writes "
            f"{credentials_file()} (or point {DATA_DIRECTORY_VARIABLE} at its data directory)",
            reason="CREDENTIAL_MISSING",
        )
    return Credentials(_checked_target(target), _checked_key(key), local)


def _stored() -> dict[str, str]:
    path = credentials_file()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        # The content may hold a key: only the kind of failure is told.
        raise InvalidArgument(f"cannot read {path}: {type(error).__name__}", reason="FIELD_INVALID") from None
    if not isinstance(content, dict):
        raise InvalidArgument(f"{path} does not hold a JSON object", reason="FIELD_INVALID")
    return {name: value for name, value in content.items() if isinstance(value, str)}


def _checked_key(key: str) -> str:
    """Refuse here what gRPC would refuse with a message that shows the key."""
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key or not key:
        raise InvalidArgument("the key holds characters that no key has", reason="FIELD_INVALID", field="key")
    return key


def _checked_target(target: str) -> str:
    target = target.strip()
    if not target or any(character.isspace() for character in target):
        raise InvalidArgument("the target must look like host:port", reason="FIELD_INVALID", field="target")
    return target
