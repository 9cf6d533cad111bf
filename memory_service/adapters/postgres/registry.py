"""Every statement that the adapter sends, by name. `$1` is the owner in each that touches an owner's table.

`tests/postgres/test_statements.py` reads them all from `STATEMENTS`: it fails on one that does not name the
owner, and on one whose plan scans a table.
"""

from __future__ import annotations

STATEMENTS: dict[str, str] = {}
"""All statements with parameters, by name."""


def statement(name: str, text: str) -> str:
    """Enter a statement; gives it back."""
    assert name not in STATEMENTS, name
    STATEMENTS[name] = text
    return text
