"""What was forgotten does not come back in other words, on either store, by whatever way it arrives (B3, F7)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory_service.app.commands import (
    BatchItem,
    ChangeResult,
    CorrectCommand,
    Effect,
    ForgetCommand,
    RollbackCommand,
    Statement,
)
from memory_service.domain.errors import NotFound, Reason
from memory_service.domain.memory import Assertion, Source, Visibility
from memory_service.domain.vocabulary import UnknownPredicates, Vocabulary
from memory_service.ports.memory_store import MemoryStore
from tests.app.harness import World, device
from tests.contracts import builders as make

RELEARNT = [
    (
        "I weigh 94 kilos.",
        "User's weight: 94 kg.",
        "You may note it again: I weigh 94 kilos now.",
        "The user weighs 94 kg.",
    ),
    ("我现在一个月到手一万八。", "用户月收入约 18000 元。", "记一下，我月薪一万八。", "用户工资每月18,000元。"),
]


class Life:
    """One user of a world, and what they tell, have forgotten, and what is guessed of them."""

    def __init__(self, store: MemoryStore) -> None:
        words = Vocabulary.of(unknown=UnknownPredicates.MAP)
        self.world, self.owner = World(store=store, vocabulary=words), make.new_owner()

    async def tell(self, text: str, **given: object) -> ChangeResult:
        self.world.clock.advance(timedelta(hours=1))
        return await self.world.say(text, owner=self.owner, **given)  # type: ignore[arg-type]

    async def guess(self, text: str, **given: object) -> ChangeResult:
        return await self.tell(text, source=Source.INFERRED, **given)

    async def forget(self, said: ChangeResult) -> None:
        assert said.memory is not None
        self.world.clock.advance(timedelta(hours=1))
        await self.world.erase(said.memory.id, owner=self.owner)

    async def texts(self) -> list[str]:
        return await self.world.current(self.owner)


@pytest.fixture
def life(store: MemoryStore) -> Life:
    return Life(store)


@pytest.mark.parametrize(("told", "guessed", "anew", "guessed_anew"), RELEARNT)
async def test_what_is_told_after_a_forget_counts_and_so_do_guesses_of_it(
    life: Life, told: str, guessed: str, anew: str, guessed_anew: str
):
    await life.forget(await life.tell(told))
    assert (await life.guess(guessed)).effect is Effect.SUPPRESSED
    assert (await life.tell(anew)).effect is Effect.CREATED
    assert (await life.guess(guessed_anew)).effect is not Effect.SUPPRESSED


async def test_telling_another_value_does_not_lift_the_bar_for_the_forgotten_one(life: Life):
    await life.forget(await life.tell("I weigh 94 kilos."))
    await life.tell("I weigh 87 kilos.")
    assert (await life.guess("User's weight: 94 kg.")).effect is Effect.SUPPRESSED
    assert (await life.guess("The user weighs 87 kg.")).effect is not Effect.SUPPRESSED


async def test_what_an_agent_was_told_in_private_lifts_the_bar_for_that_agent_alone(life: Life):
    await life.forget(await life.tell("I weigh 94 kilos."))
    await life.tell("I weigh 94 kilos now.", agent="coach", visibility=Visibility.PRIVATE)
    assert (await life.guess("User's weight: 94 kg.", agent="chef")).effect is Effect.SUPPRESSED
    assert (await life.guess("User's weight: 94 kg.", agent="coach")).effect is not Effect.SUPPRESSED


@pytest.mark.parametrize(
    ("text", "assertion"),
    [
        ("It's 94 these days.", Assertion("user", "weight", "94 kilos")),
        ("", Assertion("user", "weight", "94 kilos")),
    ],
)
async def test_a_slot_is_known_again_by_words_and_words_by_a_slot(life: Life, text: str, assertion: Assertion):
    await life.forget(await life.tell(text, assertion=assertion))
    assert (await life.guess("用户体重94公斤。")).effect is Effect.SUPPRESSED
    assert (await life.guess("", assertion=Assertion("user", "weight", "94 kg"))).effect is Effect.SUPPRESSED
    other = await life.guess("", assertion=Assertion("user", "weight", "88 kg"))
    assert other.effect is not Effect.SUPPRESSED


async def test_a_forgotten_text_is_known_again_in_a_slot(life: Life):
    await life.forget(await life.tell("I weigh 94 kilos."))
    again = await life.guess("Noted today.", assertion=Assertion("user", "weight", "94 kg"))
    assert again.effect is Effect.SUPPRESSED


async def test_a_guess_from_a_device_that_had_not_seen_the_forget_is_suppressed(life: Life):
    world, owner = life.world, life.owner
    told = await life.tell("I weigh 94 kilos.", meta=device("phone", 1, {}))
    await life.forget(told)
    late = await life.guess("User's weight: 94 kg.", meta=device("tablet", 1, {"phone": 1}))
    assert late.effect is Effect.SUPPRESSED
    other = await life.guess("The user is 181 cm tall.", meta=device("tablet", 2, {"phone": 1}))
    assert other.effect is Effect.CREATED
    state = await world.store.state(owner)
    knowing = device("tablet", 3, dict(state.clock))
    assert (await life.guess("The user weighs 94 kg.", meta=knowing)).effect is Effect.CREATED, "it knew"


@pytest.mark.parametrize("guess_first", [True, False])
async def test_a_forget_and_a_guess_that_knew_not_of_each_other_end_alike_in_either_order(
    life: Life, guess_first: bool
):
    told = await life.tell("I weigh 94 kilos.", meta=device("phone", 1, {}))
    assert told.memory is not None

    async def guess() -> None:
        await life.guess("User's weight: 94 kg.", meta=device("tablet", 1, {"phone": 1}))

    async def forget() -> None:
        await life.world.erase(told.memory.id, owner=life.owner, meta=device("laptop", 1, {"phone": 1}))  # type: ignore[union-attr]

    for step in (guess, forget) if guess_first else (forget, guess):
        await step()
    assert await life.texts() == []


async def test_a_correction_that_is_a_guess_does_not_bring_it_back(life: Life):
    await life.forget(await life.tell("I weigh 94 kilos."))
    wrong = await life.guess("The user weighs little.")
    assert wrong.memory is not None

    async def correct(**given: object) -> ChangeResult:
        statement = Statement(text="User's weight: 94 kg.", **given)  # type: ignore[arg-type]
        assert wrong.memory is not None
        command = CorrectCommand(memory_id=wrong.memory.id, statement=statement)
        return await life.world.correct(life.owner, command, device("phone"))

    assert (await correct(source=Source.DERIVED)).effect is Effect.SUPPRESSED
    assert (await correct()).effect is Effect.UPDATED, "the user corrects it outright"


async def test_a_version_that_guessed_what_was_forgotten_since_is_not_rolled_back_to(life: Life):
    told = await life.tell("I weigh 94 kilos.")
    guess = await life.guess("", assertion=Assertion("user", "weight", "94 kg"))
    assert guess.memory is not None
    await life.world.correct(
        life.owner,
        CorrectCommand(
            memory_id=guess.memory.id, statement=Statement(assertion=Assertion("user", "weight", "88 kg"))
        ),
        device("phone"),
    )
    await life.forget(told)
    with pytest.raises(NotFound) as refused:
        await life.world.rollback(life.owner, RollbackCommand(memory_id=guess.memory.id, version=1), device("phone"))
    assert refused.value.reason is Reason.VERSION_NOT_FOUND


async def test_every_version_of_a_forgotten_memory_stays_away(life: Life):
    told = await life.tell("I weigh 94 kilos.")
    assert told.memory is not None
    command = CorrectCommand(memory_id=told.memory.id, statement=Statement(text="I weigh 88 kilos."))
    await life.forget(await life.world.correct(life.owner, command, device("phone")))
    for text in ("User's weight: 94 kg.", "User's weight: 88 kg."):
        assert (await life.guess(text)).effect is Effect.SUPPRESSED


async def test_what_is_forgotten_by_what_it_says_stays_away_though_nobody_had_said_it(life: Life):
    command = ForgetCommand(says=Statement(text="I weigh 94 kilos."))
    await life.world.forget(life.owner, command, device("phone"))
    assert (await life.guess("User's weight: 94 kg.")).effect is Effect.SUPPRESSED


async def test_an_import_of_what_was_said_before_does_not_bring_it_back(life: Life):
    said_at = life.world.clock.now()
    await life.forget(await life.tell("I weigh 94 kilos."))
    late = await life.tell("I weigh 94 kilos.", said_at=said_at)
    assert late.effect is Effect.SUPPRESSED
    slow_clock = await life.tell("I weigh 94 kilos.", said_at=life.world.clock.now() - timedelta(minutes=50))
    assert slow_clock.effect is Effect.CREATED, "said since"


async def test_a_long_derived_text_is_judged_by_the_sentence(life: Life):
    await life.forget(await life.tell("My brother Tomas is in rehab near Leeds."))
    harmless = (
        "The user asked about trains. Tomas is a character in the novel. A brother was mentioned. Leeds won. "
        "The rehab of the house is done."
    )
    assert (await life.guess(harmless)).effect is Effect.CREATED
    telling = "The user asked about trains. It rained. The user's brother Tomas is in rehab in Leeds. Then they left."
    assert (await life.guess(telling)).effect is Effect.SUPPRESSED


async def test_a_batch_judges_a_guess_by_what_it_told_before(life: Life):
    await life.forget(await life.tell("I weigh 94 kilos."))
    items = [
        BatchItem(statement=Statement(text="User's weight: 94 kg.", source=Source.DERIVED)),
        BatchItem(statement=Statement(text="I weigh 94 kilos, note it.")),
        BatchItem(statement=Statement(text="The user weighs 94 kg.", source=Source.DERIVED)),
    ]
    results = await life.world.write.batch(life.owner, items, actor="key", context=None)
    effects = [result.effect for result in results if isinstance(result, ChangeResult)]
    assert effects[:2] == [Effect.SUPPRESSED, Effect.CREATED]
    assert effects[2] is not Effect.SUPPRESSED


async def test_a_suppressed_guess_is_counted_and_in_the_answer(life: Life):
    counted: list[tuple[str, float]] = []

    class Counting(type(life.world.changes.telemetry)):  # type: ignore[misc]
        def count(self, name: str, amount: float = 1, **labels: str) -> None:
            counted.append((name, amount))

    changes = life.world.changes
    object.__setattr__(changes, "telemetry", Counting())
    await life.forget(await life.tell("I weigh 94 kilos."))
    await life.guess("User's weight: 94 kg.")
    await life.guess("The user is 181 cm tall.")
    assert [entry for entry in counted if entry[0] == "restatements_suppressed_total"] == [
        ("restatements_suppressed_total", 1)
    ]
