"""Whether a turn is an actual answer, so that a slot may be filled from it (F4).

No answer is: not knowing, putting off, leaving the choice to somebody else, refusing, asking back, supposing. What
follows an answer does not undo it ("Lisbon, I think", 里斯本吧，还不太确定), so the clauses of a sentence are looked
at in order, and what is said first decides.
"""

from __future__ import annotations

import re
from typing import Final

from memory_service.domain.session.evasions import (
    ASIDE_RE,
    CONTRAST_RE,
    EMPTY_RE,
    EVASION_RE,
    LEAD_RE,
    TAG_RE,
    UNSURE_RE,
)
from memory_service.domain.session.model import Turn, TurnRole
from memory_service.domain.session.signals import is_question, sentences
from memory_service.domain.text.traditional import to_simplified

_CLAUSE_RE: Final = re.compile(
    r"[,，、;；:：…]+\s*|\s+[-\u2013\u2014]+\s+|\.{2,}\s*|\s+(?=(?:but|because|though|although)\s)|(?<=[\u4e00-\u9fff])(?=但是?|不过|可是|因为)",
    re.IGNORECASE,
)
_END: Final = " \t.!?。！？~～\"'\u201c\u201d()（）"


def is_answer(turn: Turn) -> bool:
    """Whether the user actually answers in a turn: in one sentence at least."""
    return turn.role is TurnRole.USER and any(_answers(sentence) for sentence in sentences(to_simplified(turn.text)))


def _answers(sentence: str) -> bool:
    clauses = [said for part in _CLAUSE_RE.split(sentence) if (said := _plain(part))]
    telling = [clause for clause in clauses if not EMPTY_RE.fullmatch(clause)]
    if is_question(sentence):
        telling = _without_tag(telling)
    if not telling:
        return False
    if _evades(telling[0]):
        return UNSURE_RE.match(telling[0]) is not None and any(map(_outweighs, telling[1:]))
    # "My wife comes too, so I don't know yet" leads up to an evasion; "Lisbon, but I'm not sure" only qualifies.
    return all(not _evades(later) or _qualifies(later) for later in telling[1:])


def _plain(clause: str) -> str:
    """A clause as the patterns know it; "" when there is not one letter or digit in it."""
    text = " ".join(clause.replace("\u2019", "'").lower().split()).strip(_END)
    return text if any(char.isalnum() for char in text) else ""


def _evades(clause: str) -> bool:
    bare = LEAD_RE.sub("", clause, count=1).strip() if LEAD_RE.match(clause) else clause
    return EVASION_RE.match(clause) is not None or (bool(bare) and EVASION_RE.match(bare) is not None)


def _qualifies(clause: str) -> bool:
    return CONTRAST_RE.match(clause) is not None or ASIDE_RE.match(clause) is not None


def _outweighs(clause: str) -> bool:
    """Whether a clause answers in spite of a doubt before it: "not sure, but Friday should do"."""
    contrast = CONTRAST_RE.match(clause)
    rest = clause[contrast.end() :].strip() if contrast else ""
    return bool(rest) and not _evades(rest)


def _without_tag(clauses: list[str]) -> list[str]:
    """The clauses of a question but for one at its end that only asks for a nod; none when it asks for more."""
    *said, last = clauses or [""]
    return said if said and TAG_RE.fullmatch(last) and not any(map(is_question, said)) else []
