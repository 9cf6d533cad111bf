"""`demo`: half a minute with the service, told step by step."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_service.cli.common import Session, console, print_json, to_json, with_client_options
from memory_service.cli.evaluate import service_for

if TYPE_CHECKING:
    from rich.console import Console

    from memory_service.client import AsyncMemoryClient, History, RecallResult, WriteResult

PAUSE_SECONDS = 2.5


@dataclass(slots=True)
class Story:
    """What is told and done, for people as it happens, for machines at the end."""

    client: AsyncMemoryClient
    user: str
    out: Console | None
    pause_seconds: float
    steps: list[dict[str, Any]] = field(default_factory=list)

    async def chapter(self, title: str, why: str) -> None:
        """Begin a chapter."""
        self.steps.append({"title": title, "why": why, "did": []})
        if self.out is not None:
            await _pause(self.pause_seconds if len(self.steps) > 1 else 0)
            self.out.print(f"\n[bold]{len(self.steps)}. {title}[/]")
            self.out.print(f"[dim]{why}[/]")

    async def did(self, call: str, result: Any, render: Callable[[Console], None]) -> None:
        """Tell one call and what came of it."""
        self.steps[-1]["did"].append({"call": call, "result": to_json(result)})
        if self.out is not None:
            await _pause(self.pause_seconds / 4)
            self.out.print(f"[cyan]> {call}[/]", markup=True)
            render(self.out)

    async def wrote(self, call: str, change: Awaitable[WriteResult]) -> WriteResult:
        """Tell a change."""
        from memory_service.cli import render

        result = await change
        await self.did(call, result, lambda out: render.change(out, result))
        return result

    async def asked(self, question: str, *, limit: int = 2) -> RecallResult:
        """Ask, and tell the answer."""
        from memory_service.cli import render

        result = await self.client.recall(question, user=self.user, limit=limit)
        await self.did(f"recall “{question}”", result, lambda out: render.recalled(out, result, explain=False))
        return result


async def _pause(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)


async def write_and_recall(story: Story) -> None:
    """Chapter 1 and 2: statements, structured and free, in two languages; questions across them."""
    client, user = story.client, story.user
    await story.chapter(
        "Write",
        "Statements, structured or free, in English and Chinese. Each is durable once it is answered.",
    )
    await story.wrote(
        "write “I live in Berlin.” location = Berlin",
        client.write("I live in Berlin.", predicate="location", object="Berlin", user=user),
    )
    await story.wrote(
        "write “我对花生过敏，点餐时要避开。” allergy = 花生 (peanuts)",
        client.write("我对花生过敏，点餐时要避开。", predicate="allergy", object="花生", user=user),
    )
    await story.wrote(
        "write “Please answer in short bullet points.”",
        client.write("Please answer in short bullet points.", user=user),
    )
    await story.chapter(
        "Recall",
        "Words, vectors and slots are searched together; every answer says why it is there.",
    )
    await story.asked("Which city do I live in?")
    await story.asked("点餐时要注意什么？")


async def repeat_and_correct(story: Story) -> None:
    """Chapters 3 and 4."""
    client, user = story.client, story.user
    await story.chapter("Say it again", "A statement made twice is one memory with more support, not two memories.")
    await story.wrote(
        "write “I live in Berlin.” location = Berlin",
        client.write("I live in Berlin.", predicate="location", object="Berlin", user=user),
    )
    await story.chapter(
        "Correct",
        "The old value was true until now: it is superseded, not overwritten, and history keeps both.",
    )
    moved = await story.wrote(
        "correct “I live in Hamburg now.” location = Hamburg (outdated)",
        client.correct(
            None,
            "I live in Hamburg now.",
            slot=("user", "location"),
            object="Hamburg",
            nature="outdated",
            reason="moved in spring",
            user=user,
        ),
    )
    await story.asked("Which city do I live in?", limit=1)
    for other in moved.affected[:1]:
        history = await client.history(other.memory_id, user=user)
        await _told_history(story, history)


async def _told_history(story: Story, history: History) -> None:
    from memory_service.cli import render

    await story.did("history of what was corrected", history, lambda out: render.timeline(out, history))


async def conflict(story: Story) -> None:
    """Chapter 5: two devices that have not seen each other's change."""
    from memory_service.client import Dot

    client, user = story.client, story.user
    await story.chapter(
        "Conflict",
        "Phone and laptop change the same thing without having seen each other. No clock decides who is right, "
        "and neither is lost: both stand, marked as disputed.",
    )
    seen = client.causal_context(user)
    for device, city in (("phone", "Munich"), ("laptop", "Cologne")):
        await story.wrote(
            f"{device}: correct location = {city}",
            client.correct(
                slot=("user", "location"),
                object=city,
                dot=Dot(device),
                context=seen,
                nature="outdated",
                user=user,
            ),
        )
    await story.asked("Which city do I live in?")


async def forget(story: Story) -> None:
    """Chapter 6: forgetting, and a device that comes late."""
    from memory_service.cli import render
    from memory_service.client import Dot

    client, user = story.client, story.user
    before = client.causal_context(user)
    await story.chapter(
        "Forget",
        "Text, vectors and history go. A device that was offline and says it again does not bring it back, since "
        "what it had seen is older than the forgetting.",
    )
    gone = await client.forget(slot=("user", "allergy"), reason="the user asked", user=user)
    await story.did("forget everything about allergy", gone, lambda out: render.forgotten(out, gone))
    await story.wrote(
        "old tablet, offline until now: write allergy = 花生",
        client.write(
            "我对花生过敏，点餐时要避开。",
            predicate="allergy",
            object="花生",
            dot=Dot("tablet"),
            context=before,
            user=user,
        ),
    )
    await story.asked("点餐时要注意什么？")


async def tell(story: Story) -> None:
    """The whole story; afterwards the user's memories are forgotten."""
    from memory_service.client import MemoryFilter, Status

    await write_and_recall(story)
    await repeat_and_correct(story)
    await conflict(story)
    await forget(story)
    everything = MemoryFilter(statuses=[status for status in Status if status is not Status.UNKNOWN])
    await story.client.forget(where=everything, user=story.user)


@with_client_options
def demo(
    session: Session,
    fast: Annotated[bool, typer.Option("--fast", help="Without pauses for reading.")] = False,
) -> None:
    """A narrated half minute: write, recall, correct, conflict, forget.

    Without --target it starts a service of its own on temporary databases and removes it after.
    """
    import asyncio

    as_json = session.options.as_json
    out = None if as_json else console()
    pause = 0.0 if fast or not sys.stdout.isatty() else PAUSE_SECONDS

    async def run() -> Story:
        if out is not None and session.options.target is None:
            out.print("[dim]Starting a service on temporary databases …[/]")
        async with service_for(session) as client:
            story = Story(client, session.options.user or f"demo-{secrets.token_hex(4)}", out, pause)
            await tell(story)
            return story

    story = asyncio.run(run())
    if as_json:
        print_json({"user": story.user, "steps": story.steps})
    elif out is not None:
        out.print("\n[dim]What the demo remembered was forgotten again. Next: `memory-service write --help`[/]")
