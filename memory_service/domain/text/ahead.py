"""Whether a question asks about what lies ahead, without naming a day: "when are we at the lake", 下周有什么安排."""

from __future__ import annotations

import re
from typing import Final

from memory_service.domain.text.traditional import to_simplified

_AHEAD_RE: Final = re.compile(
    r"\b(?:when|what (?:day|date|time|week|month)|how (?:soon|long until)|will|won't|shall|going to|gonna|next"
    r"|upcoming|coming up|plan(?:s|ned|ning)?|book(?:ed|ing|ings)|scheduled?|ahead|later|soon|tomorrow)\b"
    r"|什么时候|什么时间|何时|哪天|哪一天|几号|几月|几点|星期几|周几|多久|打算|计划|安排|预定|订了|将|要去|要来|会去|接下来|以后"
    r"|下[个周月次一]"
    r"|明[天年]|后天",
    re.IGNORECASE,
)


def asks_ahead(query: str) -> bool:
    """Whether a question is as likely about what is to come as about what is."""
    return _AHEAD_RE.search(to_simplified(query)) is not None
