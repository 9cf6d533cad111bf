"""How the word tables of `_words.py` are read."""

from __future__ import annotations


def grouped(table: str) -> dict[str, str]:
    """The first word of its line for every word of a table."""
    found: dict[str, str] = {}
    for line in table.strip().splitlines():
        members = line.split()
        for word in members:
            found.setdefault(word, found.get(members[0], members[0]))
    return found


def denying(table: str) -> tuple[dict[str, str], frozenset[str]]:
    """What a word denies, by word, of lines `affirming | denying`; and the words that deny."""
    same: dict[str, str] = {}
    negative: set[str] = set()
    for line in table.strip().splitlines():
        yes, no = (part.split() for part in line.split("|"))
        for word in no:
            same.setdefault(word, yes[0])
            negative.add(word)
    return same, frozenset(negative)
