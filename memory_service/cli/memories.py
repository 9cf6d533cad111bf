"""Commands on memories: write, recall, feedback, correct, forget, list, show, history, rollback, unmerge."""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from memory_service.cli.common import Session, fail, parse_json, parse_time, with_client_options

if TYPE_CHECKING:
    from memory_service.client import MemoryFilter
    from memory_service.client.types import MemoryFields

Text = Annotated[str | None, typer.Argument(help="What to remember; - reads standard input.", show_default=False)]
MemoryId = Annotated[str, typer.Argument(metavar="ID", help="Id of the memory.")]
Subject = Annotated[str | None, typer.Option(help="Whom or what it is about (`user` when left out).")]
Predicate = Annotated[str | None, typer.Option(help="What it says of the subject, e.g. `allergy`.")]
Object = Annotated[str | None, typer.Option("--object", help="The value, as JSON or plain text.")]
Kind = Annotated[str | None, typer.Option(help="preference, profile, fact, event, constraint, …")]
Kinds = Annotated[list[str] | None, typer.Option("--kind", help="Only of this kind (may be repeated).")]
Topic = Annotated[str | None, typer.Option(help="What it is about.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Label (may be repeated).")]
Source = Annotated[str | None, typer.Option(help="explicit, explicit_correction, derived or inferred.")]
Confidence = Annotated[float | None, typer.Option(help="0 to 1.")]
Importance = Annotated[float | None, typer.Option(help="0 to 1.")]
Time = Annotated[str | None, typer.Option(metavar="TIME", help="ISO 8601; local time without a zone.")]
Agent = Annotated[str | None, typer.Option(help="Agent that writes or asks.")]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="What held in the world then.")]
AsBelieved = Annotated[
    str | None, typer.Option("--as-believed", "--believed-at", metavar="TIME", help="What was believed then.")
]
ConversationId = Annotated[str | None, typer.Option("--session", help="Conversation it came from.")]
Reason = Annotated[str, typer.Option(help="Why; kept in the history.")]


def _fields(**given: Any) -> MemoryFields:
    """The fields that were given on the command line."""
    times = ("valid_from", "valid_to", "expires_at", "said_at")
    values = {name: value for name, value in given.items() if value is not None}
    values.update({name: parse_time(values[name]) for name in times if name in values})
    if "object" in values:
        values["object"] = parse_json(values["object"])
    return cast("MemoryFields", values)


@with_client_options
def write(
    session: Session,
    text: Text = None,
    subject: Subject = None,
    predicate: Predicate = None,
    object_: Object = None,
    kind: Kind = None,
    topic: Topic = None,
    tags: Tags = None,
    source: Source = None,
    confidence: Confidence = None,
    importance: Importance = None,
    valid_from: Time = None,
    valid_to: Time = None,
    expires_at: Time = None,
    said_at: Time = None,
    time_zone: Annotated[str | None, typer.Option(help="Zone of the speaker, e.g. Asia/Shanghai.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Only for the agent that writes.")] = False,
    pinned: Annotated[bool, typer.Option("--pinned", help="Never decays.")] = False,
    agent: Agent = None,
    conversation: ConversationId = None,
    reference: Annotated[str | None, typer.Option(help="Your own id of the source.")] = None,
    request_id: Annotated[str | None, typer.Option(help="Makes repeating the command harmless.")] = None,
) -> None:
    """Remember one statement."""
    fields = _fields(
        subject=subject,
        predicate=predicate,
        object=object_,
        kind=kind,
        topic=topic,
        tags=tags,
        source=source,
        confidence=confidence,
        importance=importance,
        valid_from=valid_from,
        valid_to=valid_to,
        expires_at=expires_at,
        said_at=said_at,
        time_zone=time_zone,
        visibility="private" if private else None,
        pinned=pinned or None,
        agent=agent,
        session=conversation,
        reference=reference,
    )
    statement = sys.stdin.read().strip() if text == "-" else text
    with session.client() as client:
        result = client.write(statement, request_id=request_id, **fields)
    from memory_service.cli import render

    session.show(result, lambda out: render.change(out, result))


@with_client_options
def recall(
    session: Session,
    query: Annotated[str, typer.Argument(help="The question; empty lists by score.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most, 1 to 200.")] = 10,
    kinds: Kinds = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Only with this label (repeatable).")] = None,
    conversation: Annotated[str | None, typer.Option("--session", help="Only of this conversation.")] = None,
    as_of: AsOf = None,
    as_believed: AsBelieved = None,
    resolve_time: Annotated[
        bool, typer.Option("--resolve-time", help="Answer about the past time that the question names.")
    ] = False,
    time_zone: Annotated[str, typer.Option(help="Your zone for --resolve-time, e.g. Asia/Shanghai.")] = "",
    profile: Annotated[str, typer.Option(help="Ranking profile.")] = "",
    agent: Agent = None,
    token_budget: Annotated[int, typer.Option(help="Tokens of the context block; 0 is unlimited.")] = 0,
    fresh: Annotated[bool, typer.Option("--fresh", help="See every acknowledged change.")] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Leave no trace in use counts.")] = False,
    deep: Annotated[bool, typer.Option("--deep", help="Search the archive and cold storage too; slower.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score came about.")] = False,
    block: Annotated[bool, typer.Option("--block", help="Print only the text for a language model.")] = False,
) -> None:
    """Find what matters for a question."""
    from memory_service.cli import render
    from memory_service.client import Consistency, MemoryFilter

    where = MemoryFilter(kinds=kinds or (), tags_all=tags or (), sessions=[conversation] if conversation else ())
    with session.client() as client:
        result = client.recall(
            query,
            limit=limit,
            where=None if where == MemoryFilter() else where,
            consistency=Consistency.fully_consistent() if fresh else None,
            as_of_valid=parse_time(as_of),
            as_of_recorded=parse_time(as_believed),
            resolve_time=resolve_time,
            time_zone=time_zone,
            profile=profile,
            agent=agent,
            token_budget=token_budget,
            read_only=read_only,
            deep=deep,
        )
    if block and not session.options.as_json:
        print(result.context_block)
        return
    session.show(result, lambda out: render.recalled(out, result, explain=explain))


@with_client_options
def correct(
    session: Session,
    memory_id: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="The memory; leave out with --predicate.", show_default=False),
    ] = None,
    text: Annotated[str | None, typer.Argument(help="What it should say.", show_default=False)] = None,
    subject: Subject = None,
    predicate: Predicate = None,
    object_: Object = None,
    kind: Kind = None,
    topic: Topic = None,
    tags: Tags = None,
    confidence: Confidence = None,
    importance: Importance = None,
    valid_from: Time = None,
    valid_to: Time = None,
    outdated: Annotated[
        bool, typer.Option("--outdated/--wrong", help="The old value was true until now / never true.")
    ] = False,
    changed_at: Annotated[str | None, typer.Option(metavar="TIME", help="When it ceased to hold.")] = None,
    reason: Reason = "",
    etag: Annotated[str, typer.Option(help="Only if the memory still has this etag.")] = "",
) -> None:
    """Change what is remembered, or give a slot another value."""
    from memory_service.cli import render
    from memory_service.client import CorrectionNature, Slot

    slot = Slot(subject or "user", predicate) if memory_id is None and predicate else None
    fields = _fields(
        subject=subject if slot is None else None,
        predicate=predicate if slot is None else None,
        object=object_,
        kind=kind,
        topic=topic,
        tags=tags,
        confidence=confidence,
        importance=importance,
        valid_from=valid_from,
        valid_to=valid_to,
    )
    with session.client() as client:
        result = client.correct(
            memory_id,
            text,
            slot=slot,
            nature=CorrectionNature.OUTDATED if outdated else CorrectionNature.WRONG,
            changed_at=parse_time(changed_at),
            reason=reason,
            etag=etag,
            **fields,
        )
    session.show(result, lambda out: render.change(out, result))


@with_client_options
def forget(
    session: Session,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Memories to forget.")] = None,
    subject: Subject = None,
    predicate: Annotated[str | None, typer.Option(help="Everything of this slot.")] = None,
    topic: Annotated[str | None, typer.Option(help="Everything of this topic.")] = None,
    kinds: Kinds = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Only with this label (repeatable).")] = None,
    conversation: Annotated[str | None, typer.Option("--session", help="Only of this conversation.")] = None,
    says: Annotated[str | None, typer.Option(metavar="TEXT", help="Whatever says this, by any id.")] = None,
    reason: Reason = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be forgotten.")] = False,
) -> None:
    """Forget memories, and everything kept of their content."""
    from memory_service.cli import render
    from memory_service.cli.common import console
    from memory_service.client import MemoryFilter, Slot

    slot = Slot(subject=subject or "user", predicate=predicate) if predicate else None
    slot = Slot(topic=topic) if topic else slot
    where = MemoryFilter(kinds=kinds or (), tags_all=tags or (), sessions=[conversation] if conversation else ())
    target: dict[str, Any] = {"ids": ids or None, "slot": slot, "statement": says}
    target["where"] = None if where == MemoryFilter() else where
    if sum(value is not None for value in target.values()) != 1:
        raise typer.BadParameter(
            "name ids, or one slot (--predicate or --topic), or a filter (--kind, --tag, --session), or --says TEXT"
        )
    with session.client() as client:
        preview = client.forget(**target, validate_only=True)
        if dry_run:
            session.show(preview, lambda out: _show_preview(out, preview))
            return
        if not yes:
            if session.options.as_json or not sys.stdin.isatty():
                raise fail("nothing was forgotten: say --yes to do it", as_json=session.options.as_json)
            _show_preview(console(), preview)
            typer.confirm(f"Forget {preview.forgotten_count}?", abort=True)
        result = client.forget(**target, reason=reason)
    session.show(result, lambda out: render.forgotten(out, result))


def _show_preview(out: Any, preview: Any) -> None:
    from memory_service.cli import render

    render.memories(out, preview.preview)
    more = preview.forgotten_count - len(preview.preview)
    if more > 0:
        out.print(f"[dim]and {more} more[/]")


@with_client_options
def list_memories(
    session: Session,
    kinds: Kinds = None,
    statuses: Annotated[list[str] | None, typer.Option("--status", help="active, contested, …")] = None,
    tiers: Annotated[list[str] | None, typer.Option("--tier", help="candidate, long_term, archive")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Only with this label (repeatable).")] = None,
    conversation: Annotated[str | None, typer.Option("--session", help="Only of this conversation.")] = None,
    agent: Agent = None,
    as_of: AsOf = None,
    as_believed: AsBelieved = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="How many at most; 0 is all.")] = 50,
) -> None:
    """List memories in order of creation."""
    from memory_service.cli import render
    from memory_service.client import MemoryFilter

    where: MemoryFilter = MemoryFilter(
        kinds=kinds or (),
        statuses=statuses or (),
        tiers=tiers or (),
        tags_all=tags or (),
        sessions=[conversation] if conversation else (),
    )
    with session.client() as client:
        every = client.list(
            where=where,
            agent=agent,
            page_size=min(limit or 500, 500),
            as_of_valid=parse_time(as_of),
            as_of_recorded=parse_time(as_believed),
        )
        found = list(itertools.islice(every, limit or None))
    session.show({"memories": found}, lambda out: render.memories(out, found))


@with_client_options
def show(
    session: Session,
    memory_id: MemoryId,
    agent: Agent = None,
    as_of: AsOf = None,
    as_believed: AsBelieved = None,
) -> None:
    """Show everything known of one memory, now or at another time."""
    from memory_service.cli import render

    with session.client() as client:
        detail = client.get(
            memory_id, agent=agent, as_of_valid=parse_time(as_of), as_of_recorded=parse_time(as_believed)
        )
    session.show(detail, lambda out: render.detail(out, detail))


@with_client_options
def history(session: Session, memory_id: MemoryId) -> None:
    """Show every version of a memory and what happened to it."""
    from memory_service.cli import render

    with session.client() as client:
        shown = client.history(memory_id)
    session.show(shown, lambda out: render.timeline(out, shown))


@with_client_options
def feedback(
    session: Session,
    adopted: Annotated[list[str] | None, typer.Option(metavar="ID", help="It was of use (repeatable).")] = None,
    rejected: Annotated[list[str] | None, typer.Option(metavar="ID", help="It was of no use (repeatable).")] = None,
    request_id: Annotated[str | None, typer.Option(help="Makes repeating the command harmless.")] = None,
) -> None:
    """Say which recalled memories were of use: they fade more slowly, the others sooner."""
    from memory_service.cli import render

    if not adopted and not rejected:
        raise typer.BadParameter("name a memory: --adopted ID or --rejected ID")
    with session.client() as client:
        result = client.record_feedback(adopted=adopted or (), rejected=rejected or (), request_id=request_id)
    session.show(result, lambda out: render.feedback(out, result))


@with_client_options
def rollback(
    session: Session,
    memory_id: MemoryId,
    version: Annotated[int, typer.Argument(min=1, help="The version to go back to.")],
    reason: Reason = "",
    etag: Annotated[str, typer.Option(help="Only if the memory still has this etag.")] = "",
) -> None:
    """Make an earlier version of a memory current again."""
    from memory_service.cli import render

    with session.client() as client:
        result = client.rollback(memory_id, version, reason=reason, etag=etag)
    session.show(result, lambda out: render.change(out, result))


@with_client_options
def unmerge(
    session: Session,
    memory_id: MemoryId,
    reason: Reason = "",
    etag: Annotated[str, typer.Option(help="Only if the memory still has this etag.")] = "",
) -> None:
    """Take a memory apart that the service merged from others."""
    from memory_service.cli import render

    with session.client() as client:
        result = client.unmerge(memory_id, reason=reason, etag=etag)
    session.show(result, lambda out: render.change(out, result))
