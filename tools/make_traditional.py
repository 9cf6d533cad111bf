"""Write `memory_service/domain/text/_traditional.py`: Traditional characters and their Simplified ones.

    python tools/make_traditional.py DICTIONARY

DICTIONARY is the folder of OpenCC's dictionaries as text (TSCharacters.txt, TWVariants.txt, HKVariants.txt), as the
sources of OpenCC and the package opencc-python-reimplemented have it (Apache License 2.0). Run by hand when the data
changes; the service itself needs nothing of it.

Of the candidates for a character the first counts. Left out are characters whose Simplified form lies beyond the
Basic Multilingual Plane, which no word list and hardly a font has, and those told by what stands beside them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

TARGET = Path(__file__).parents[1] / "memory_service/domain/text/_traditional.py"
LINE_CHARS = 50
LAST_CHAR = "\uffff"
VARIANTS = ("TWVariants.txt", "HKVariants.txt")
BY_CONTEXT = frozenset("著乾徵")
"""Simplified Chinese has them too, in a few words: told by what stands beside them, in code (`traditional.py`)."""
USUAL = frozenset("么抬潀吒薹")
"""In the tables, and usual in Simplified Chinese as well (哪吒, 蒜薹)."""
MORE = {
    "妳": "你",
    "牠": "它",
    "砲": "炮",
    "荳": "豆",
    "搾": "榨",
    "徬": "彷",
    "囉": "啰",
    "擡": "抬",
    "衹": "只",
    "牴": "抵",
}
"""Common in Taiwan or Hong Kong, and in none of the tables."""

HEADER = '''"""Traditional characters, and at the same place of the other string the Simplified ones.

Made by tools/make_traditional.py from the dictionaries of OpenCC (https://github.com/BYVoid/OpenCC, Carbo Kuo and
others, Apache License 2.0): TSCharacters, TWVariants and HKVariants.
"""

from __future__ import annotations

from typing import Final

'''


def rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The lines of a dictionary: a character, and its candidates, the preferred one first."""
    for line in path.read_text(encoding="utf-8").splitlines():
        char, _, candidates = line.partition("\t")
        yield char, candidates.split()


def table(folder: Path) -> Mapping[str, str]:
    """What each character is folded to, by code point; no value is a key."""
    found = {char: candidates[0] for char, candidates in rows(folder / "TSCharacters.txt")}
    for name in VARIANTS:
        for char, variants in rows(folder / name):
            for variant in set(variants) - USUAL:
                found.setdefault(variant, found.get(char, char))
    found |= {char: simple for char, simple in MORE.items() if char not in found}
    plain = {char: simple for char, simple in found.items() if max(char, simple) <= LAST_CHAR}
    folded = {char: plain.get(simple, simple) for char, simple in plain.items() if char not in BY_CONTEXT}
    left = BY_CONTEXT | USUAL
    return {char: simple for char, simple in sorted(folded.items()) if char != simple and char not in left}


def rendered(name: str, chars: str) -> str:
    """A constant of a long string, in lines."""
    lines = [chars[at : at + LINE_CHARS] for at in range(0, len(chars), LINE_CHARS)]
    return "\n".join([f"{name}: Final = (", *(f'    "{line}"' for line in lines), ")", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dictionary", type=Path)
    pairs = table(parser.parse_args().dictionary)
    body = rendered("TRADITIONAL", "".join(pairs)) + rendered("SIMPLIFIED", "".join(pairs.values()))
    TARGET.write_text(HEADER + body, encoding="utf-8")
    print(f"{TARGET.name}: {len(pairs)} characters")


if __name__ == "__main__":
    main()
