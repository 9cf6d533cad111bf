"""What a statement of liking or disliking says, whatever words it says it with (E9, P11).

A statement is read as a preference only when one of the known constructions takes up all of it: "I'm a big fan of
X", "X is my thing", 我对X情有独钟. What stands in the place of X is kept to the letter, with its conditions, times,
places, numbers and denials, but for what never makes another thing of it ("the", "drinking tea" for "tea"). So what
is not understood keeps two statements apart and is never left out. Wishes, the past, questions, guesses and what
others like fit no construction.

Liking has three degrees, which are never joined, since each is another claim: liking, however strongly (like, love,
adore); setting a thing above all others (favourite, best, first choice, 最爱); and setting it above one other
thing. A favourite is given up for another one, and what is liked as well stays liked: were the two one memory, a new
favourite would take the liking with it, or thirty statements of liking would speak for a favourite told of once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memory_service.domain.relations._preference_en import english
from memory_service.domain.relations._preference_zh import chinese
from memory_service.domain.relations._sides import ALL_OTHERS, Side
from memory_service.domain.text.scripts import HAN

CHARS_MAX: Final = 160
"""Longest text that is tried: a longer one says more than what is liked."""
_MARK: Final = "\x1f"
"""Parts the fields of a key; no normalised text has it."""
_OPENING: Final = "likes"
_HAN_RE: Final = re.compile(f"[{HAN}]")


@dataclass(frozen=True, slots=True)
class Preference:
    """What the speaker likes, or does not.

    Attributes:
        likes: False for a dislike.
        above: what it is set above: "" nothing, "*" all others, "* of drink" all others of a kind, else that thing.
        what: the thing or doing, with its conditions, in one form.
    """

    likes: bool
    above: str
    what: str

    @property
    def about(self) -> str:
        """What it is about, whether liked or not."""
        return f"{self.what} {self.above}".replace("*", " ").replace("+", " ").strip()

    @property
    def key(self) -> str:
        """Equal for statements of one preference, and for nothing else."""
        return _MARK.join((_OPENING, "+" if self.likes else "-", self.above, self.what))


def preference(text: str) -> Preference | None:
    """The preference a statement states; None for any other statement, and for what is not understood. Never raises.

    Args:
        text: as it was said; the speaker, or "the user", is the one whose preference it is.
    """
    if len(text) > CHARS_MAX:
        return None
    found: Side | None = chinese(text) if _HAN_RE.search(text) else english(text)
    return None if found is None else Preference(found.likes, found.above, found.what)


def opposed(one: str, other: str) -> bool:
    """Whether two keys are of preferences that cannot both be had (E10).

    Such are a liking and a dislike of one thing, and X set above Y and Y above X.
    """
    first, second = one.split(_MARK), other.split(_MARK)
    if first[0] != _OPENING or second[0] != _OPENING:
        return False
    (sign, above, what), (its_sign, its_above, its_what) = first[1:], second[1:]
    if what == its_what and sign != its_sign:
        return above == its_above or {above, its_above} <= {"", ALL_OTHERS}
    return sign == its_sign and (above, what) == (its_what, its_above)
