"""A chat API whose model is a script: it knows what its prompt says and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

from aiohttp import web

from examples.agent_loop import EXTRACTION

NEEDED = {
    "seat": (re.compile(r"\b(window|aisle) seat", re.IGNORECASE), "Do you want a window or an aisle seat?"),
    "meal": (re.compile(r"\b(vegetarian|vegan|kosher)\b", re.IGNORECASE), "Which meal shall I order?"),
    "airport": (re.compile(r"\bfrom (\w+) airport", re.IGNORECASE), "From which airport do you fly?"),
}
_LASTING_RE = re.compile(r"\bI (?:always|usually|am|eat|fly|prefer)\b[^.]*\.")
_GOAL_RE = re.compile(r"\bto ([A-Z]\w+)")


class ScriptedChat:
    """Books a flight once its prompt says all that it needs, and asks for the first missing thing otherwise."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self._runner: web.AppRunner | None = None
        self.base_url = ""

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.base_url = f"http://{host}:{port}/v1"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        messages: list[dict[str, Any]] = (await request.json())["messages"]
        system, rest = messages[0]["content"], messages[1:]
        if system == EXTRACTION:
            said = json.dumps(_LASTING_RE.findall(rest[-1]["content"]))
        else:
            # What it said itself tells it nothing: its questions name what it asks for.
            prompt = "\n".join([system, *(m["content"] for m in rest if m["role"] == "user")])
            heard = "\n".join(line for line in prompt.splitlines() if not line.startswith("assistant:"))
            self.prompts.append(prompt)
            said = self._reply(heard)
        return web.json_response({"choices": [{"message": {"role": "assistant", "content": said}}]})

    def _reply(self, heard: str) -> str:
        found = {name: pattern.search(heard) for name, (pattern, _) in NEEDED.items()}
        for name, (_, question) in NEEDED.items():
            if found[name] is None:
                return question
        goal = _GOAL_RE.findall(heard)
        facts = ", ".join(match.group(1).lower() for match in found.values() if match)
        return f"Booked to {goal[-1] if goal else 'nowhere'}: {facts}."
