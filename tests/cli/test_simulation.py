"""The time machine: its figures by hand, its files, and every life of `scenarios/` on both stores (E19)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_service.cli.evaluate_evolution import LAST_WRITE_WINS, SERVICE
from memory_service.cli.evolution import Ask, Held, Look, Scenario, Shown, State, Write
from memory_service.cli.form import DatasetError
from memory_service.cli.simulate import NO_MEMORY, Simulation, simulate
from memory_service.cli.simulation import Answered, check, figures, misses, read_lives, with_looks
from memory_service.config import Settings
from memory_service.ports.embedder import Embedder
from memory_service.timemachine import opened
from memory_service.wiring import make_embedder
from tests.cli.conftest import Shell
from tests.foundations.repository import ROOT

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
SCENARIOS = ROOT / "scenarios"

UPKEEP_EVERY = timedelta(days=7)
"""For the sake of time; before anybody acts their memories are kept up all the same."""

FLOORS = {"recall_at_5": 0.99, "timeliness": 0.97, "contested": 0.95, "states": 0.95}
CEILINGS = {"pollution_rate": 0.02, "false_overwrite_rate": 0.005}


def answered(
    shown: list[Shown],
    held: list[Held] | None = None,
    *,
    key: str = "",
    old: str = "",
    contested: str = "",
    after_forget: bool = False,
    as_of: datetime | None = None,
) -> Answered:
    ask = Ask(
        NOW,
        1,
        "?",
        as_of=as_of,
        expect_in=frozenset(key.split()),
        expect_not_in=frozenset(old.split()),
        expect_contested=frozenset(contested.split()),
        after_forget=after_forget,
    )
    return Answered("life", ask, shown, held)


def told(*places: str) -> list[Shown]:
    """ "a b" states both; "-a" says it is past, "?a" that it is disputed."""
    return [
        Shown(frozenset(place.strip("-?").split()), past=place.startswith("-"), contested=place.startswith("?"))
        for place in places
    ]


def kept(**states: str) -> list[Held]:
    return [Held(name, frozenset(name.split("_")), State(state), name) for name, state in states.items()]


def figure(name: str, *answers: Answered) -> Any:
    return figures(answers)[name]


def test_recall_of_key_facts() -> None:
    assert figure("recall_at_5", answered(told("a", "x"), key="a b")) == 0.5
    assert figure("recall_at_5", answered(told("-a"), key="a")) == 0, "told as past is not told as it stands"
    assert figure("recall_at_5", answered(told("1", "2", "3", "4", "5", "a"), key="a")) == 0
    assert figure("recall_at_5", answered(told("a"), key="a"), answered([], key="a")) == 0.5
    assert figure("recall_at_5", answered(told("a"), old="b")) is None


def test_timeliness_is_whether_the_present_version_comes_first() -> None:
    def timely(*places: str) -> Any:
        return figure("timeliness", answered(told(*places), key="new", old="old"))

    assert timely("x", "new", "old") == 1
    assert timely("-old", "new") == 1
    assert timely("old", "new") == 0
    assert timely("new old") == 0, "merged into one, it is not told which holds"
    assert timely("x") == 0


def test_pollution_is_the_share_of_what_is_returned() -> None:
    assert figure("pollution_rate", answered(told("new", "old", "-old", "x"), old="old")) == 0.25
    forgotten = answered(told("-old", "x"), old="old", after_forget=True)
    assert figure("pollution_rate", forgotten) == 0.5, "what was forgotten must not be there in any form"
    assert figure("pollution_rate", answered([], old="old")) is None


def test_overwritten_is_gone_or_merged_with_another() -> None:
    def lost(held: list[Held] | None, **more: Any) -> Any:
        return figure("false_overwrite_rate", answered([], held, key="a b", **more))

    assert lost(kept(a="remembered", b="archived")) == 0
    assert lost(kept(a="remembered", b="superseded")) == 0.5
    assert lost(kept(a="remembered")) == 0.5
    assert lost(kept(a_b="remembered")) == 1
    assert lost(kept(a="superseded"), as_of=NOW) is None, "a question about the past tells nothing of it"
    assert lost(None) is None


def test_disputes_are_shown_as_disputes() -> None:
    assert figure("contested", answered(told("?a", "?b"), contested="a b")) == 1
    assert figure("contested", answered(told("?a", "b"), contested="a b")) == 0
    assert figure("contested", answered(told("?a"), contested="a b")) == 0


def test_where_a_fact_stands() -> None:
    held = kept(a="remembered", b="superseded", c="candidate")
    held += [Held("again", frozenset("c"), State.REMEMBERED, "c"), Held("old", frozenset("a"), State.SUPERSEDED, "a")]
    look = Look(
        NOW,
        {
            fact: frozenset(wanted.split())
            for fact, wanted in (("a", "remembered"), ("b", "superseded"), ("c", "candidate"))
        },
        once=frozenset("ac"),
    )
    found = {(one.fact, one.wanted): one.met for one in check("life", look, held)}
    assert found == {
        ("a", "remembered"): True,
        ("b", "superseded"): True,
        ("c", "candidate"): False,
        ("a", "one memory"): True,
        ("c", "one memory"): False,
    }
    assert not any(one.met for one in check("life", look, None))


def test_misses_are_told_in_words() -> None:
    bad = answered(told("old"), kept(old="remembered"), key="new", old="old", contested="new")
    assert len(misses(bad)) == 5
    assert misses(answered(told("new", "-old"), kept(new="remembered"), key="new", old="old")) == []


def life(**changed: Any) -> dict[str, Any]:
    steps = [
        {"day": 0, "say": "I live in Bonn.", "fact": "bonn", "slot": ["user", "location", "Bonn"]},
        {"day": 2, "chat": ["Rain.", "More rain."], "every": 3},
        {"day": 40, "ask": "Where do I live?", "key": ["bonn"], "as_of_day": 1},
    ]
    base = {"id": "x", "title": "X", "language": "en", "time_zone": "Europe/Berlin", "start": "2026-01-01"}
    return {**base, "about": ["E2"], "steps": steps, **changed}


def read(tmp_path: Path, data: Any) -> Scenario:
    path = tmp_path / "life.json"
    path.write_text(json.dumps(data))
    return read_lives(path)[0]


def test_a_file_is_read(tmp_path: Path) -> None:
    read_life = read(tmp_path, life())
    assert [step.at.isoformat() for step in read_life.steps] == [
        "2026-01-01T09:00:00+01:00",
        "2026-01-03T09:00:00+01:00",
        "2026-01-06T09:00:00+01:00",
        "2026-02-10T09:00:00+01:00",
    ]
    first, asked = read_life.steps[0], read_life.steps[-1]
    assert isinstance(first, Write)
    assert (first.ref, first.slot, first.session) == ("bonn", ("user", "location", "Bonn"), "day-0")
    assert isinstance(asked, Ask)
    assert asked.as_of == datetime(2026, 1, 2, 11, 0, tzinfo=UTC)
    looks = [step for step in with_looks(read_life).steps if isinstance(step, Look)]
    assert len(looks) == 5
    assert looks[1].at - looks[0].at == timedelta(days=7)


@pytest.mark.parametrize(
    ("step", "what"),
    [
        ({"day": 0, "ask": "?", "key": ["nothing"]}, "nothing has stated"),
        ({"day": 0, "forget": "nothing"}, "nothing has stated"),
        ({"day": 0, "say": "a", "colour": "red"}, "unknown field 'colour'"),
        ({"day": 0}, "must be one of"),
        ({"day": 50, "state": {"bonn": "happy"}}, "'happy' is not a state"),
        ({"say": "a"}, "day"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, step: dict[str, Any], what: str) -> None:
    data = life()
    with pytest.raises(DatasetError, match=what):
        read(tmp_path, {**data, "steps": [*data["steps"], step]})


def test_a_folder_without_scenarios_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no scenario"):
        read_lives(tmp_path)


def test_the_scenarios_are_many_and_in_both_languages() -> None:
    lives = read_lives(SCENARIOS)
    chinese = sum(one.language == "zh" for one in lives)
    assert len(lives) >= 30
    assert chinese * 2 == len(lives)
    for one in lives:
        asks = [step for step in one.steps if isinstance(step, Ask)]
        assert any(ask.expect_in for ask in asks), f"{one.id} has no key fact"
        slots = [step.slot for step in one.steps if isinstance(step, Write)]
        assert slots, one.id
    structured = [one for one in lives if any(isinstance(s, Write) and s.slot for s in one.steps)]
    assert 0 < len(structured) < len(lives), "some with assertions, some with sentences alone"


@pytest.fixture(scope="module")
async def embedder() -> AsyncIterator[Embedder]:
    made = make_embedder(Settings())
    yield made
    await made.close()


def hold(result: Simulation) -> dict[str, Any]:
    report = result.report()
    told_of = json.dumps({name: value for name, value in report.items() if name != "by_scenario"}, indent=1)
    for name, floor in FLOORS.items():
        assert report[name] >= floor, f"{name} fell below {floor}: {told_of}"
    for name, ceiling in CEILINGS.items():
        assert report[name] <= ceiling, f"{name} rose above {ceiling}: {told_of}"
    return report


async def test_months_of_forty_lives_in_memory(embedder: Embedder) -> None:
    result = await simulate(read_lives(SCENARIOS), watched=False, upkeep_every=UPKEEP_EVERY, embedder=embedder)
    report = hold(result)
    last, none = report["controls"][LAST_WRITE_WINS], report["controls"][NO_MEMORY]
    for name in FLOORS:
        assert report[name] > last[name], name
        assert none[name] == 0, name
    for name in CEILINGS:
        assert report[name] < last[name], name


async def test_months_of_forty_lives_in_postgresql(embedder: Embedder, database_url: str, redis_url: str) -> None:
    result = await simulate(
        read_lives(SCENARIOS),
        controls=False,
        watched=False,
        upkeep_every=UPKEEP_EVERY,
        machines=lambda start: opened(start, database_url, redis_url, Settings(), embedder),
        embedder=embedder,
    )
    hold(result)


def test_the_command_shows_a_life(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_SERVICE_EMBEDDER", "hash")
    # The runner's standard error is closed afterwards, and loggers of later tests would hold on to it.
    monkeypatch.setattr("memory_service.logs.configure", lambda *_: None)
    path, picture = str(SCENARIOS / "en-01-three-cities.json"), tmp_path / "plot.svg"
    printed = shell("simulate", "--scenario", path, "--plot", str(picture)).stdout
    assert "remembered → superseded" in printed
    assert "no memory" in printed
    assert "<svg" in picture.read_text()
    report = json.loads(shell("simulate", "--scenario", path, "--no-controls", "--json").stdout.splitlines()[-1])
    assert report["timeliness"] == 1
    moments = report["moments"]["en-01-three-cities"]
    assert moments[-1]["census"]["superseded"] == 2
    assert {moment["did"] for moment in moments} == {"say", "ask", "look"}
    shell("simulate", "--scenario", str(SCENARIOS), "--plot", str(picture), code=2)
    shell("simulate", "--scenario", str(tmp_path), code=2)


async def test_every_moment_is_kept_when_watched(embedder: Embedder) -> None:
    (one,) = read_lives(SCENARIOS / "zh-15-wangji.json")
    result = await simulate([one], controls=False, embedder=embedder)
    moments = result.moments[one.id]
    forgot = next(moment for moment in moments if moment.did == "forget")
    assert [after for _, _, after in forgot.changes] == ["forgotten"]
    assert result.answers[SERVICE][0].shown, "the rest is still there"
