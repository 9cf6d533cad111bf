"""A console that obeys nothing in what it is told to show: control characters are shown, not sent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# C0 but line feed, DEL, C1, and what changes the direction of what follows.
_CONTROL_RE: Final = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_OWN: Final = frozenset({"\r"})
"""What the program ends a line with that the next one is to replace; no text holds it, since rich takes it out."""


def shown(text: str) -> str:
    r"""Text with its control characters written out, as in `\x1b`."""
    return _CONTROL_RE.sub(lambda match: ascii(match.group())[1:-1], text)


class SafeConsole(Console):
    """A rich console whose texts cannot move the cursor, set the title or the clipboard, or hide what follows."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Segments of a renderable; only rich's own control segments are left as they are."""
        for segment in super().render(renderable, options):
            text = segment.text
            if segment.control or text in _OWN or not _CONTROL_RE.search(text):
                yield segment
            else:
                yield Segment(shown(text), segment.style)
