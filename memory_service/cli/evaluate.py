"""`eval`: loads a set through the API, asks its questions, and prints how well memory answered."""

from __future__ import annotations

import contextlib
import json
import math
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_service.cli import dataset
from memory_service.cli.common import Exit, Session, console, fail, print_json, with_client_options
from memory_service.cli.evaluation import Answer, figures, percentile
from memory_service.cli.form import DatasetError, lines_of

if TYPE_CHECKING:
    from rich.progress import Progress

    from memory_service.client import AsyncMemoryClient, WriteOutcome

RECALL_LIMIT = 20
BATCH_SIZE = 100
TEXT_CHARS_MAX = 16_000
"""A longer memory is written as several, each counting as the whole (the service takes 16,384)."""
QUERY_CHARS_MAX = 8_192
RECALL_SECONDS_MAX = 30.0
BATCH_SECONDS_MAX = 300.0
"""Long texts are many fragments to embed."""


@dataclass(slots=True)
class Run:
    """One evaluation: what was written, asked and measured."""

    client: AsyncMemoryClient
    prefix: str
    profile: str
    process: str
    step: Callable[[str, int], None]
    answers: list[Answer] = field(default_factory=list)
    recall_ms: list[float] = field(default_factory=list)
    written: int = 0
    write_seconds: float = 0.0
    effects: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    split: int = 0

    async def owner(self, name: str, owner: dataset.Owner) -> None:
        """Load one owner's memories and ask its questions, each seeing only what came before it."""
        user = self.prefix + name
        stands_for: dict[str, set[str]] = defaultdict(set)
        loaded = 0
        asked = sorted(owner.questions, key=_visible)
        for question in asked:
            end = loaded
            while end < len(owner.memories) and owner.memories[end].order < _visible(question):
                end += 1
            await self._load(user, owner.memories[loaded:end], stands_for)
            loaded = end
            await self._ask(user, question, stands_for)
        await self._load(user, owner.memories[loaded:], stands_for)

    async def _load(self, user: str, memories: Sequence[dataset.EvalMemory], stands_for: dict[str, set[str]]) -> None:
        from memory_service.client import NewMemory

        if not memories:
            return
        items, ids = [], []
        for memory in memories:
            pieces = dataset.parts(memory.text, TEXT_CHARS_MAX)
            self.split += len(pieces) > 1
            for piece in pieces:
                items.append(NewMemory(piece, _fields(memory, self.process)))
                ids.append(memory.id)
        started = time.perf_counter()
        outcomes = await self.client.write_many(
            items,
            user=user,
            batch_size=BATCH_SIZE,
            timeout_seconds=BATCH_SECONDS_MAX,
            on_progress=lambda told: self.step("memories", len(told.outcomes)),
        )
        self.write_seconds += time.perf_counter() - started
        for memory_id, outcome in zip(ids, outcomes, strict=True):
            self._note(memory_id, outcome, stands_for)

    def _note(self, memory_id: str, outcome: WriteOutcome, stands_for: dict[str, set[str]]) -> None:
        from memory_service.client import Effect

        if outcome.result is None:
            self.refused[outcome.error.reason if outcome.error else ""] += 1
            return
        result = outcome.result
        self.written += 1
        self.effects[result.effect.value] += 1
        if result.memory is None:
            return
        if result.effect is Effect.UPDATED:  # it says something else now
            stands_for[result.memory.id].clear()
        stands_for[result.memory.id].add(memory_id)

    async def _ask(self, user: str, question: dataset.Question, stands_for: dict[str, set[str]]) -> None:
        started = time.perf_counter()
        result = await self.client.recall(
            question.text[-QUERY_CHARS_MAX:],
            user=user,
            limit=RECALL_LIMIT,
            read_only=True,
            profile=self.profile,
            timeout_seconds=RECALL_SECONDS_MAX,
        )
        self.recall_ms.append((time.perf_counter() - started) * 1000)
        self.answers.append(
            Answer(
                question=question.id,
                category=question.category,
                answerable=question.answerable,
                evidence=question.evidence,
                ranking=[frozenset(stands_for.get(found.memory.id, ())) for found in result],
                top_score=result.memories[0].score if result.memories else 0.0,
                newer=question.newer,
                older=question.older,
            )
        )
        self.step("questions", 1)

    def report(self, data: dataset.EvalSet) -> dict[str, Any]:
        """The figures, with what they were measured on."""
        return {
            "set": data.name,
            "language": data.language,
            **figures(self.answers),
            "owners": len(data.owners),
            "memories": self.written,
            "questions": len(self.answers),
            "write_per_s": round(self.written / self.write_seconds, 1) if self.write_seconds else 0.0,
            "recall_p50_ms": round(percentile(self.recall_ms, 0.50), 2),
            "recall_p95_ms": round(percentile(self.recall_ms, 0.95), 2),
            "effects": dict(sorted(self.effects.items())),
            "refused": dict(sorted(self.refused.items())),
            "split": self.split,
        }


def _visible(question: dataset.Question) -> float:
    return math.inf if question.visible_before_order is None else question.visible_before_order


def _fields(memory: dataset.EvalMemory, process: str) -> Any:
    fields: dict[str, Any] = {"session": memory.session, "reference": memory.id}
    if process:
        fields["process"] = process
    if memory.time is not None:
        fields["said_at"] = memory.time
    return fields


async def evaluate(
    client: AsyncMemoryClient,
    data: dataset.EvalSet,
    *,
    prefix: str,
    profile: str = "",
    step: Callable[[str, int], None] = lambda _what, _count: None,
    forget_after: bool = False,
) -> tuple[dict[str, Any], Sequence[Answer]]:
    """Load and ask everything, one owner after the other; the report and every answer.

    Users are named `prefix` + owner, so that runs never see one another's memories.
    """
    run = Run(client, prefix, profile, data.process, step)
    for name, owner in data.owners.items():
        await run.owner(name, owner)
    report = run.report(data)
    if forget_after:
        await _forget_all(client, [prefix + name for name in data.owners])
    return report, run.answers


async def _forget_all(client: AsyncMemoryClient, users: Sequence[str]) -> None:
    from memory_service.client import MemoryFilter, Status

    everything = MemoryFilter(statuses=[status for status in Status if status is not Status.UNKNOWN])
    for user in users:
        while (await client.forget(where=everything, user=user, timeout_seconds=60.0)).forgotten_count:
            pass


@contextlib.asynccontextmanager
async def service_for(session: Session) -> AsyncIterator[AsyncMemoryClient]:
    """A client of the service named by --target, else of one started for the occasion and removed after."""
    if session.options.target is not None:
        async with session.async_client() as client:
            yield client
        return
    from memory_service.client import Unavailable
    from memory_service.domain import errors
    from memory_service.temporary import temporary

    async with contextlib.AsyncExitStack() as stack:
        try:
            local = await stack.enter_async_context(temporary())
        except errors.Unavailable as error:
            raise Unavailable(error.message, reason=error.reason.value) from None
        yield await stack.enter_async_context(session.async_client(local))


@with_client_options
def evaluate_command(
    session: Session,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A set in the evaluation form.")],
    limit_owners: Annotated[int | None, typer.Option(min=1, help="Only the first so many owners of the set.")] = None,
    profile: Annotated[str, typer.Option(help="Ranking profile to ask with.")] = "",
    details: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write every answer here, one JSON object a line.")
    ] = None,
    forget_after: Annotated[
        bool, typer.Option("--forget-after", help="Forget the memories of this run in the --target again.")
    ] = False,
) -> None:
    """Measure how well memory answers a set of questions.

    Without --target a service of its own is started on temporary databases and removed after.
    """
    import asyncio

    try:
        data = dataset.read_set(lines_of(file), owners_max=limit_owners)
    except DatasetError as error:
        raise fail(f"{file}: {error}", code=Exit.USAGE, as_json=session.options.as_json) from None

    async def run() -> tuple[dict[str, Any], Sequence[Answer]]:
        prefix = f"eval-{secrets.token_hex(4)}-"
        async with service_for(session) as client:
            with _progress(data) as step:
                return await evaluate(
                    client, data, prefix=prefix, profile=profile, step=step, forget_after=forget_after
                )

    report, answers = asyncio.run(run())
    if details is not None:
        _write_details(details, answers)
    if session.options.as_json:
        print_json(report)
    else:
        _show(report)
    if report["refused"]:
        raise typer.Exit(Exit.FAILED)


@contextlib.contextmanager
def _progress(data: dataset.EvalSet) -> Any:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    memories = sum(
        len(dataset.parts(memory.text, TEXT_CHARS_MAX)) for owner in data.owners.values() for memory in owner.memories
    )
    questions = sum(len(owner.questions) for owner in data.owners.values())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bars:
        tasks = {
            "memories": bars.add_task("memories", total=memories),
            "questions": bars.add_task("questions", total=questions),
        }
        yield lambda what, count: _advance(bars, tasks[what], count)


def _advance(bars: Progress, task: Any, count: int) -> None:
    bars.advance(task, count)


def _write_details(path: Path, answers: Sequence[Answer]) -> None:
    with path.open("w", encoding="utf-8") as out:
        for answer in answers:
            line = {
                "question": answer.question,
                "category": answer.category,
                "answerable": answer.answerable,
                "evidence": sorted(answer.evidence),
                "ranking": [sorted(ids) for ids in answer.ranking],
                "top_score": answer.top_score,
            }
            out.write(json.dumps(line, ensure_ascii=False) + "\n")


def _show(report: dict[str, Any]) -> None:
    from memory_service.cli import render

    out = console()
    made = render.table("", "n", "R@1", "R@5", "R@10", "R@20", "MRR", "nDCG@10")
    rows = {report["set"] or "all": report, **{f"  {k}": v for k, v in report["by_category"].items()}}
    for name, row in rows.items():
        shares = [*row["recall_at"].values(), row["mrr"], row["ndcg_at_10"]]
        made.add_row(name, str(row["n"]), *(f"{share:.3f}" for share in shares))
    out.print(made)
    if "updates" in report:
        updates = report["updates"]
        out.print(f"knowledge updates: the newer one first in {updates['newer_first']:.3f} of {updates['n']}")
    out.print(
        f"[dim]{report['memories']} memories at {report['write_per_s']} a second; recall p50 "
        f"{report['recall_p50_ms']} ms, p95 {report['recall_p95_ms']} ms; refused {report['refused'] or 0}[/]"
    )
