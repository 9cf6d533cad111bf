"""Commands on what waits for a person: reviews, accept, reject."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memory_service.cli.common import Session, with_client_options

if TYPE_CHECKING:
    from rich.console import Console

    from memory_service.client import Review

REVIEWS_MAX = 1_000

MemoryId = Annotated[str, typer.Argument(metavar="ID", help="Id of the memory.")]
Reason = Annotated[str, typer.Option(help="Why; kept in the history.")]


@with_client_options
def reviews(
    session: Session,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=REVIEWS_MAX, help="At most so many.")] = 50,
    agent: Annotated[str | None, typer.Option(help="Agent that asks.")] = None,
) -> None:
    """List memories that wait for a person: contested ones, and sensitive ones that nobody said outright."""
    found: list[Review] = []
    token, more = "", True
    with session.client() as client:
        while more and len(found) < limit:
            page = client.reviews(page_size=min(limit, 500), page_token=token, agent=agent)
            found += page.reviews
            token = page.next_page_token
            more = bool(token)
    found = found[:limit]
    session.show({"reviews": found, "more": more}, lambda out: _show(out, found))


def _show(out: Console, found: list[Review]) -> None:
    from memory_service.cli import render

    if not found:
        out.print("nothing waits for a decision")
        return
    made = render.table("id", "why", "source", "confidence", "memory", fold=["memory"])
    for one in found:
        memory = one.memory
        made.add_row(
            memory.id,
            one.cause.value,
            memory.source.value,
            f"{memory.confidence:.2f}",
            render.plain(render.statement(memory)),
        )
    out.print(made)
    causes = {one.cause.value for one in found}
    if "sensitive" in causes:
        out.print("[dim]Decide with: memory-service accept ID, or reject ID[/]")
    if "contested" in causes:
        out.print("[dim]Contested ones: memory-service conflicts, then resolve ID… --keep ID[/]")


@with_client_options
def accept(
    session: Session,
    memory_id: MemoryId,
    reason: Reason = "",
    undo: Annotated[bool, typer.Option("--undo", help="Take the decision back: it waits again.")] = False,
) -> None:
    """Accept a sensitive memory that waits: it is long-term from now on."""
    _decide(session, memory_id, "reopen" if undo else "accept", reason)


@with_client_options
def reject(
    session: Session,
    memory_id: MemoryId,
    reason: Reason = "",
    undo: Annotated[bool, typer.Option("--undo", help="Take the decision back: it waits again.")] = False,
) -> None:
    """Reject a sensitive memory that waits: it was never true, and is not inferred again."""
    _decide(session, memory_id, "reopen" if undo else "reject", reason)


def _decide(session: Session, memory_id: str, decision: str, reason: str) -> None:
    from memory_service.cli import render

    with session.client() as client:
        result = client.decide_review(memory_id, decision, reason=reason)
    session.show(result, lambda out: render.change(out, result))
