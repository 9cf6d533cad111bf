"""Commands on background work: the schedule, running it now, and what failed."""

from __future__ import annotations

from tests.cli.conftest import Shell
from tests.client.fake_server import FakeServer


def test_the_schedule_for_people_and_machines(shell: Shell) -> None:
    shown = shell("jobs").stdout
    decay = next(line for line in shown.splitlines() if line.startswith("upkeep.decay"))
    for cell in ("1 h", "1 min ago", "in 1 h 30 min", "1 min 30 s", "1,234", "56"):
        assert cell in decay
    assert "on change" in shown
    assert "never" in shown
    assert "2 workers" in shown
    first = shell.json("jobs")["jobs"][0]
    assert (first["name"], first["every"], first["due"], first["waiting"]) == ("upkeep.decay", 3600.0, 3, 2)
    assert first["next_due_at"] == "2026-01-01T13:30:00+00:00"


def test_a_live_view_shows_it_again_and_again(shell: Shell, server: FakeServer) -> None:
    shown = shell("jobs", "--watch", "--count", "2", "--every", "0.2").stdout
    assert shown.count("upkeep.decay") == 2
    lines = shell("jobs", "--watch", "--count", "2", "--every", "0.2", "--json").stdout.splitlines()
    assert len(lines) == 2
    assert len(server.of("ListJobs")) == 4


def test_running_steps_now_tells_what_each_did(shell: Shell, server: FakeServer) -> None:
    assert "decay" in shell("jobs", "run", "--user", "bob").stdout
    told = shell("jobs", "run", "--step", "decay", "--step", "broken", code=1)
    assert "it broke" in told.stdout
    whole, named = server.of("RunUpkeep")
    assert (whole.user, list(whole.steps)) == ("bob", [])
    assert (named.user, list(named.steps)) == ("ann", ["decay", "broken"])
    assert shell.json("jobs", "run")["runs"][0]["changed"] == 3


def test_failed_jobs_are_listed_and_tried_again(shell: Shell, server: FakeServer) -> None:
    listed = shell("jobs", "--failed").stdout
    assert "INTERNAL" in listed
    assert str(2**40) in listed
    assert "9 " in listed
    assert shell.json("jobs", "--failed")["jobs"][1]["id"] == 2**40
    assert "1 waits again" in shell("jobs", "requeue", str(2**40)).stdout
    assert shell.json("jobs", "requeue", "--all") == {"requeued": 2}
    assert [list(request.ids) for request in server.of("RequeueJobs")] == [[2**40], [9, 2**40]]
    shell("jobs", "requeue", code=2)
    shell("jobs", "requeue", "9", "--all", code=2)
