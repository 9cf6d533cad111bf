"""How memories look in a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from memory_service.cli.common import one_line
from memory_service.client import (
    ContestedSlot,
    Context,
    FeedbackResult,
    ForgetResult,
    History,
    Memory,
    MemoryDetail,
    RecallResult,
    RevokeResult,
    Side,
    WatchCheckpoint,
    WatchEvent,
    WriteResult,
)
from memory_service.client.types import Affected

BAR_CELLS = 12

_COLOURS = {
    "created": "green",
    "supported": "green",
    "updated": "cyan",
    "reactivated": "cyan",
    "superseded": "yellow",
    "contested": "magenta",
    "retracted": "red",
    "forgotten": "red",
    "suppressed": "yellow",
    "yielded": "yellow",
    "active": "green",
}


_NOT_REMEMBERED = {
    "suppressed": "not remembered: what it says was forgotten or rejected, and this writer had not seen that",
}


def plain(text: str) -> str:
    """Text in which nothing is markup."""
    return escape(text)


def coloured(word: str) -> str:
    """A status or effect in its colour."""
    return f"[{_COLOURS.get(word, 'white')}]{escape(word)}[/]"


def when(value: datetime | None) -> str:
    """A time in the reader's zone, to the minute; "" when absent."""
    return value.astimezone().strftime("%Y-%m-%d %H:%M") if value else ""


def bar(share: float) -> str:
    """A bar of twelve cells; `share` is cut to 0..1."""
    eighths = round(min(1.0, max(0.0, share)) * BAR_CELLS * 8)
    full, rest = divmod(eighths, 8)
    partial = " ▏▎▍▌▋▊▉"[rest] if rest else ""
    return ("█" * full + partial).ljust(BAR_CELLS)


def table(*columns: str, fold: Sequence[str] = ()) -> Table:
    """A plain table; the columns in `fold` give way when space is short."""
    made = Table(box=None, pad_edge=False, header_style="bold dim", padding=(0, 2, 0, 0))
    for name in columns:
        made.add_column(name, overflow="fold", no_wrap=name not in fold, ratio=1 if name in fold else None)
    return made


def statement(memory: Memory) -> str:
    """What a memory says, on one line."""
    if memory.redacted:
        return "(forgotten)"
    if memory.text:
        return one_line(memory.text)
    if memory.assertion is not None:
        said = memory.assertion
        return one_line(f"{said.subject} {said.predicate} {json.dumps(said.object, ensure_ascii=False)}")
    return ""


_STANDING_COLOURS = {"superseded": "yellow", "past": "dim", "wrong": "red", "upcoming": "cyan", "yielded": "yellow"}


def standing(memory: Memory) -> str:
    """What a memory is at the time asked about, "" when it simply holds: until when, and what took its place."""
    word = memory.standing.value
    colour = _STANDING_COLOURS.get(word)
    until = f"until {when(memory.valid_to)}" if memory.valid_to and word != "wrong" else ""
    by = f"then {memory.superseded_by}" if memory.superseded_by else ""
    if colour is None:
        return f"[dim]{' · '.join(part for part in (until, by) if part)}[/]" if by else ""
    since = f"from {when(memory.valid_from)}" if word == "upcoming" else ""
    facts = [word.replace("wrong", "wrong, never true"), since or until, by]
    return f"[{colour}]{' · '.join(fact for fact in facts if fact)}[/]"


def change(out: Console, result: WriteResult) -> None:
    """What a write, correction or roll-back did."""
    note = " [dim](the answer to an earlier, identical request)[/]" if result.replayed else ""
    if result.memory is None:
        why = _NOT_REMEMBERED.get(result.effect.value, "")
        out.print(f"{coloured(result.effect.value)}{note} [dim]{why}[/]".rstrip())
    else:
        memory = result.memory
        out.print(f"{coloured(result.effect.value)}  {escape(statement(memory))}{note}")
        facts = [memory.id, memory.kind.value, f"version {memory.version}"]
        if memory.topic:
            facts.append(f"topic {memory.topic}")
        facts.append(f"confidence {memory.confidence:.2f}")
        if memory.support > 1:
            facts.append(f"support {memory.support}")
        out.print(f"[dim]{escape(' · '.join(facts))}[/]")
    affected(out, result.affected)
    for met in result.conflicts:
        if met.other is not None:
            out.print(f"  [dim]it met[/] {side(met.other)}")


def side(one: Side) -> str:
    """One value of a conflict: what, who, when, and which clock."""
    value = one.value if isinstance(one.value, str) else json.dumps(one.value, ensure_ascii=False)
    who = "/".join(part for part in (one.device, one.agent) if part) or one.actor
    facts = [
        who,
        f"said {when(one.said_at)}" if one.said_at else "",
        f"accepted {when(one.created_at)}" if one.created_at else "",
    ]
    if one.dot is not None:
        facts.append(f"change {one.dot.device}:{one.dot.counter}")
    facts.append(f"had seen {clock(one.context)}")
    return f"{escape(one_line(value))}  [dim]{escape(' · '.join(fact for fact in facts if fact))}[/]"


def clock(seen: Context) -> str:
    """A causal context on one line."""
    return " ".join(f"{device}:{count}" for device, count in sorted(seen.counters.items())) or "nothing"


def contested(out: Console, slots: Sequence[ContestedSlot]) -> None:
    """What memories disagree about."""
    if not slots:
        out.print("[dim]nothing is contested[/]")
    for one in slots:
        name = f"{one.slot.subject} {one.slot.predicate}" if one.slot.predicate else one.slot.topic or "(no topic)"
        out.print(f"[magenta]{escape(name)}[/]")
        for each in one.sides:
            out.print(f"  {side(each)}")
            out.print(f"    [dim]{each.memory_id}[/]")


def revoked(out: Console, result: RevokeResult, *, preview: bool) -> None:
    """What was or would be undone."""
    count = f"{result.changes} {'change' if result.changes == 1 else 'changes'}"
    out.print(f"would undo {count}" if preview else f"[red]undone[/] {count}  [dim]revision {result.revision}[/]")
    affected(out, result.affected)


def feedback(out: Console, result: FeedbackResult) -> None:
    """What was recorded of recalled memories."""
    out.print(f"recorded {result.recorded} {'memory' if result.recorded == 1 else 'memories'}")
    for memory_id in result.missing_ids:
        out.print(f"[dim]not there any more: {escape(memory_id)}[/]")


def told(out: Console, one: WatchEvent | WatchCheckpoint) -> None:
    """One message of a watch."""
    if isinstance(one, WatchCheckpoint):
        out.print(f"[dim]up to here: {escape(one.cursor)}[/]")
        return
    event = one.event
    what = statement(one.memory) if one.memory is not None else "(gone)"
    by = event.device or event.actor
    facts = [when(event.at), f"by {by}" if by else "", event.reason, one.memory_id]
    out.print(f"{coloured(event.event)}  {escape(what)}")
    out.print(f"  [dim]{escape(' · '.join(fact for fact in facts if fact))}[/]")


def affected(out: Console, others: Iterable[Affected]) -> None:
    """Other memories that changed."""
    for other in others:
        what = statement(other.memory) if other.memory else ""
        out.print(f"  {coloured(other.effect.value)}  {escape(what)} [dim]{other.memory_id}[/]")
        if other.reason:
            out.print(f"    [dim]{escape(other.reason)}[/]")


def recalled(out: Console, result: RecallResult, *, explain: bool) -> None:
    """Memories found, best first, with bars relative to the best and why each is here."""
    if result.as_of_words:
        out.print(f"[dim]as of {when(result.as_of_valid)}: “{escape(result.as_of_words)}” in the question[/]")
    if not result.memories:
        out.print("[dim]nothing found[/]")
    best = max((found.score for found in result), default=0.0) or 1.0
    for place, found in enumerate(result, start=1):
        flag = "  [magenta]disputed[/]" if found.contested else ""
        text = escape(statement(found.memory))
        out.print(f"[bold]{place:>2}[/] [green]{bar(found.score / best)}[/] {found.score:.3f}  {text}{flag}")
        facts = [found.memory.kind.value, when(found.memory.said_at or found.memory.recorded_at), found.why]
        out.print(f"   [dim]{escape(' · '.join(fact for fact in facts if fact))}[/]")
        out.print(f"   [dim]{found.memory.id}[/]")
        if shown := standing(found.memory):
            out.print(f"   {shown}")
        if explain:
            part = found.breakdown
            out.print(
                f"   [dim]semantic {part.semantic:.3f}  freshness {part.freshness:.3f}  importance "
                f"{part.importance:.3f}  cosine {part.cosine:.3f} (#{part.vector_rank})  bm25 {part.bm25:.2f} "
                f"(#{part.lexical_rank})  slot #{part.slot_rank}  tier +{part.tier_bonus:.2f}  "
                f"support x{part.support:.2f}[/]"
            )
    if explain:
        ran = [f"{stage.name} {stage.duration.total_seconds() * 1000:.1f} ms" for stage in result.stages if stage.ran]
        out.print(f"[dim]{result.candidates} candidates · {escape(' · '.join(ran))}[/]")
    for stage in result.stages:
        if not stage.ran and stage.note and (explain or result.degraded):
            out.print(f"[yellow]without {escape(stage.name)}: {escape(stage.note)}[/]")


def _shown_status(memory: Memory) -> str:
    """The status, or what it is at the time asked about where that says more."""
    word = memory.standing.value
    if word in _STANDING_COLOURS:
        return f"[{_STANDING_COLOURS[word]}]{word}[/]"
    return coloured(memory.status.value if word == "unknown" or memory.status.value == "contested" else "active")


def memories(out: Console, found: Sequence[Memory]) -> None:
    """A table of memories."""
    made = table("id", "kind", "status", "said", "memory", fold=["memory"])
    for memory in found:
        said = when(memory.said_at or memory.recorded_at)
        made.add_row(memory.id, memory.kind.value, _shown_status(memory), said, Text(statement(memory)))
    if found:
        out.print(made)
    else:
        out.print("[dim]no memories[/]")


def detail(out: Console, shown: MemoryDetail) -> None:
    """Everything known of one memory."""
    memory = shown.memory
    made = table("", " ", fold=[" "])
    made.show_header = False
    rows: dict[str, str] = {
        "memory": statement(memory),
        "id": memory.id,
        "etag": memory.etag,
        "status": f"{memory.status.value}, {memory.tier.value}" + (", in cold storage" if memory.cold else ""),
        "standing": Text.from_markup(standing(memory)).plain,
        "kind": memory.kind.value,
        "topic": memory.topic,
        "tags": ", ".join(memory.tags),
        "value": _value(memory),
        "confidence": f"{memory.confidence:.2f} ({memory.source.value}), support {memory.support}",
        "importance": f"{memory.importance:.2f}",
        "held": " … ".join((when(memory.valid_from), when(memory.valid_to))).strip(" …"),
        "said": when(memory.said_at),
        "recorded": when(memory.recorded_at),
        "expires": when(memory.expires_at),
        "use": f"{memory.access_count} recalls, {memory.adopted_count} adopted, {memory.rejected_count} rejected",
        "from": _origin(memory),
        "reason": memory.reason,
        "links": "\n".join(f"{link.from_id} {link.relation.value} {link.to_id}" for link in shown.links),
    }
    for name, text in rows.items():
        if text:
            made.add_row(Text(name, style="dim"), Text(text))
    out.print(made)


def _value(memory: Memory) -> str:
    if memory.assertion is None:
        return ""
    said = memory.assertion
    return f"{said.subject} · {said.predicate} · {json.dumps(said.object, ensure_ascii=False)}"


def _origin(memory: Memory) -> str:
    source = memory.provenance
    named = {
        "device": source.device,
        "agent": source.agent,
        "session": source.session,
        "process": source.process,
        "reference": source.reference,
        "key": source.actor,
    }
    return ", ".join(f"{name} {value}" for name, value in named.items() if value)


def timeline(out: Console, shown: History) -> None:
    """Versions, each with the events that made it, oldest first."""
    events = sorted(shown.events, key=lambda event: event.version)
    for version in shown.versions:
        out.print(
            f"[bold]v{version.version}[/] {when(version.recorded_at)}  {coloured(version.status.value)}  "
            f"{escape(statement(version))}"
        )
        for event in (event for event in events if event.version == version.version):
            states = f" {event.before} → {event.after}" if event.before or event.after else ""
            by = f" by {event.device or event.actor}" if event.device or event.actor else ""
            why = f": {event.reason}" if event.reason else ""
            out.print(f"   │ [cyan]{escape(event.event)}[/][dim]{escape(states + by + why)}[/]")
            for name, value in sorted(event.details.items()):
                out.print(f"   │   [dim]{escape(name)} = {escape(value)}[/]")
    known = {version.version for version in shown.versions}
    for event in (event for event in events if event.version not in known):
        out.print(f"   │ [cyan]{escape(event.event)}[/] [dim]{when(event.at)} {escape(event.reason)}[/]")
    for link in shown.links:
        out.print(f"[dim]{link.from_id} {link.relation.value} {link.to_id}[/]")


def forgotten(out: Console, result: ForgetResult) -> None:
    """How many memories are gone."""
    count = result.forgotten_count
    out.print(f"[red]forgotten[/] {count} {'memory' if count == 1 else 'memories'}")
