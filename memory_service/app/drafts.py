"""Completes a statement into a draft: everything about a new memory that can be decided before the owner is locked.

Reading, classifying and embedding happen here, so that no database connection is held while a model runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from memory_service.app.commands import Statement
from memory_service.app.fragmenting import assertion_piece, fragment
from memory_service.app.policies import STARTING_POLICIES
from memory_service.app.validation import check_statement, check_vector, time_zone
from memory_service.domain.errors import InvalidInput, MemoryServiceError, Reason, Unavailable
from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import Assertion, Cardinality, Kind, MergePolicy, Source, Visibility
from memory_service.domain.policy import OwnerPolicy
from memory_service.domain.records import ASSERTION_ORDINAL, Fragment
from memory_service.domain.relations.preference import preference
from memory_service.domain.retrieval.rows import CONVERSATION
from memory_service.domain.slots import (
    audience,
    canonical_subject,
    claim_of_assertion,
    claim_of_text,
    render_assertion,
    slot_of_assertion,
    slot_of_topic,
)
from memory_service.domain.text import Classification, StatementKind, analyse, classify, find_times, language_of
from memory_service.domain.text.holding import held_window
from memory_service.domain.text.topic import topic_of
from memory_service.ports.embedder import Embedder
from memory_service.ports.telemetry import Telemetry

TEMPORARY_LIFE = timedelta(days=14)
"""Life of a wish for the moment whose wording names no end (E1: temporary preference)."""

TEMPORARY_KINDS = frozenset({Kind.TEMPORARY_PREFERENCE, Kind.CONTEXT, Kind.EVENT})
"""Kinds that hold for a while and so never take a standing value's place (E17)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A statement with everything decided that needs no state.

    Attributes:
        structured: whether it has an assertion; then its slot's cardinality and merge policy rule.
        mapped: whether its predicate is outside the vocabulary and goes by general rules, so that nothing tells how
            many values its slot has (P3).
        topic_given: whether the writer named the topic, so that its slot may be compared by similarity (E10).
        pieces: fragment texts, and last the assertion where it is `beside` them; `terms` the lexical terms of each,
            none of the assertion's; `vectors` their unit vectors of shape (len(pieces), dimension), None while the
            model is away.
        former: slots and claims it would have had under names its predicate took over: what was forgotten of them
            stays forgotten (B3).
        sensitive: whether it waits for a person unless the user said it outright (P13).
        field: where the statement stands in the caller's request, for errors found later.
    """

    statement: Statement
    text: str
    kind: Kind
    topic: str
    topic_given: bool
    slot: str
    claim: str
    former: tuple[tuple[str, str], ...]
    assertion: Assertion | None
    cardinality: Cardinality
    merge: MergePolicy
    source: Source
    confidence: float
    importance: float
    sensitive: bool
    language: str
    visibility: Visibility
    valid_from: datetime | None
    valid_to: datetime | None
    expires_at: datetime | None
    pieces: tuple[str, ...]
    terms: tuple[tuple[str, ...], ...]
    model_id: str = ""
    vectors: NDArray[np.float32] | None = None
    field: str = "memory"
    mapped: bool = False
    beside: bool = False

    @property
    def wording_vectors(self) -> NDArray[np.float32] | None:
        """The vectors of its own words, without the assertion's; None while the model is away."""
        return self.vectors[: len(self.pieces) - self.beside] if self.vectors is not None else None

    @property
    def structured(self) -> bool:
        """Whether it has an assertion."""
        return self.assertion is not None

    @property
    def reaches_back(self) -> bool:
        """Whether it may speak of a time before the values known now: it names a bound, or when it was said."""
        bounded = (self.valid_from, self.valid_to, self.statement.said_at) != (None, None, None)
        return self.structured and self.cardinality is Cardinality.ONE and bounded

    @property
    def temporary(self) -> bool:
        """Whether it holds only for a while."""
        return self.kind in TEMPORARY_KINDS

    def fragments(self, memory_id: MemoryId, content_version: int) -> list[Fragment]:
        """The records that make the text searchable."""
        vectors, last = self.vectors, len(self.pieces) - 1
        return [
            Fragment(
                memory_id=memory_id,
                content_version=content_version,
                ordinal=ASSERTION_ORDINAL if self.beside and index == last else index,
                text=piece,
                terms=self.terms[index],
                model_id=self.model_id if vectors is not None else "",
                vector=vectors[index] if vectors is not None else None,
            )
            for index, piece in enumerate(self.pieces)
        ]


_MAY_BE_LIKING = frozenset(
    {StatementKind.FACT, StatementKind.PROFILE, StatementKind.PREFERENCE, StatementKind.CONSTRAINT}
)


def _told(text: str, said_at: datetime, zone: ZoneInfo) -> Classification:
    """Kind, topic and times by wording; all wordings of one preference are preferences of one topic (E9)."""
    reading = classify(text, said_at, zone)
    liked = preference(text) if reading.standing and reading.kind in _MAY_BE_LIKING else None
    if liked is None:
        return reading
    kind = StatementKind.PREFERENCE
    return replace(reading, kind=kind, topic=topic_of(liked.about, family=kind.value))


_PASSING: Final = frozenset({StatementKind.CONTEXT, StatementKind.TEMPORARY_PREFERENCE})


def _for_a_while(statement: Statement, said_at: datetime, zone: ZoneInfo) -> Classification | None:
    """What the words of an assertion say of its time, if they say that it is for a while; None if its writer does."""
    given = (statement.kind, statement.valid_from, statement.valid_to, statement.expires_at)
    if not statement.text or given != (None, None, None, None):
        return None
    reading = classify(statement.text, said_at, zone)
    return reading if not reading.standing and reading.kind in _PASSING else None


@dataclass(frozen=True, slots=True)
class Drafting:
    """Makes drafts of one owner: the rules of wording, what is decided for the owner and the embedder together."""

    embedder: Embedder
    telemetry: Telemetry
    policy: OwnerPolicy = STARTING_POLICIES.policy

    async def draft(self, statement: Statement, now: datetime, field: str = "memory") -> Draft:
        """One draft.

        Raises:
            InvalidInput: naming the field and limit that the statement breaks.
        """
        (result,) = await self.draft_all([statement], now, [field])
        if isinstance(result, MemoryServiceError):
            raise result
        return result

    async def draft_all(
        self, statements: Sequence[Statement], now: datetime, fields: Sequence[str]
    ) -> list[Draft | MemoryServiceError]:
        """Drafts in order, with the error in place of a statement that is refused; embedded in one batch."""
        if len(statements) > 4:
            drafts = await asyncio.to_thread(self._read_all, statements, now, fields)
        else:
            drafts = self._read_all(statements, now, fields)
        return await self._embedded(drafts)

    def _read_all(
        self, statements: Sequence[Statement], now: datetime, fields: Sequence[str]
    ) -> list[Draft | MemoryServiceError]:
        drafts: list[Draft | MemoryServiceError] = []
        for statement, field in zip(statements, fields, strict=True):
            try:
                drafts.append(self._read(statement, now, field))
            except MemoryServiceError as error:
                drafts.append(error)
        return drafts

    def _read(self, statement: Statement, now: datetime, field: str) -> Draft:
        check_statement(statement, field)
        visibility = statement.visibility or Visibility.SHARED
        who = audience(visibility, statement.agent)
        said_at = statement.said_at or now
        assertion, cardinality, merge = statement.assertion, Cardinality.MANY, MergePolicy.UNION
        kind = statement.kind
        former: tuple[tuple[str, str], ...] = ()
        if assertion is not None:
            predicate = self.policy.vocabulary.resolve(assertion.predicate, f"{field}.assertion.predicate")
            assertion = Assertion(canonical_subject(assertion.subject), predicate.name, assertion.object)
            kind = kind or predicate.kind
            cardinality, merge = predicate.cardinality, predicate.merge
            slot = slot_of_assertion(assertion.subject, predicate.name, who)
            claim = claim_of_assertion(slot, assertion.object)
            old_slots = [slot_of_assertion(assertion.subject, name, who) for name in predicate.formerly]
            former = tuple((old, claim_of_assertion(old, assertion.object)) for old in old_slots)
        else:
            slot = claim = ""
        text = statement.text or (render_assertion(assertion) if assertion else "")
        zone = time_zone(statement.time_zone, f"{field}.time_zone")
        valid_from, valid_to, expires_at = statement.valid_from, statement.valid_to, statement.expires_at
        if assertion is not None and kind is not None:
            # Structure says what; only since when and until when is left to the wording.
            topic = statement.topic or assertion.predicate
            passing = _for_a_while(statement, said_at, zone)
            if passing is not None:
                # It fills the slot for a while, beside what fills it for good (E17).
                kind = Kind(passing.kind.value)
                valid_from, valid_to, expires_at = self._window(statement, kind, said_at, zone, passing)
            elif valid_from is None and valid_to is None and statement.text:
                held = held_window(text, find_times(text, said_at, zone), said_at)
                valid_from, valid_to = held.start, held.end
        else:
            reading = _told(text, said_at, zone)
            topic = statement.topic or reading.topic
            slot, claim = slot_of_topic(topic, who), claim_of_text(text, who)
            kind = kind or Kind(reading.kind.value)
            valid_from, valid_to, expires_at = self._window(statement, kind, said_at, zone, reading)
        source = statement.source or Source.EXPLICIT
        self._check_worth(statement, source, field)
        pieces, beside = fragment(text), assertion_piece(text, assertion)
        terms = [tuple(analyse(piece)) for piece in pieces]
        confidence = statement.confidence
        return Draft(
            statement=statement,
            text=text,
            kind=kind,
            topic=topic,
            topic_given=bool(statement.topic),
            slot=slot,
            claim=claim,
            former=former,
            assertion=assertion,
            cardinality=cardinality,
            merge=merge,
            source=source,
            confidence=self.policy.parameters.confidence_by_source[source] if confidence is None else confidence,
            importance=statement.importance or 0.0,
            sensitive=self.policy.vocabulary.sensitive(assertion.predicate if assertion else topic),
            language=language_of(text),
            visibility=visibility,
            valid_from=valid_from,
            valid_to=valid_to,
            expires_at=expires_at,
            pieces=(*pieces, beside) if beside else tuple(pieces),
            terms=(*terms, ()) if beside else tuple(terms),
            beside=bool(beside),
            field=field,
            mapped=assertion is not None and self.policy.vocabulary.find(assertion.predicate) is None,
        )

    def _check_worth(self, statement: Statement, source: Source, field: str) -> None:
        """Refuse, and count, an extracted assertion that its own writer gives too little confidence (P4).

        A confidence that the source stands for (E8) is not the writer's judgement, and is never too little.
        """
        least = self.policy.parameters.extracted_confidence_min
        extracted = statement.assertion is not None and source in (Source.DERIVED, Source.INFERRED)
        if not extracted or statement.confidence is None or statement.confidence >= least:
            return
        self.telemetry.count("extracted_refused_total")
        raise InvalidInput(
            Reason.FIELD_OUT_OF_RANGE,
            f"an extracted assertion needs a confidence of at least {least:g}",
            field=f"{field}.confidence",
            metadata={"limit": f"{least:g}", "actual": f"{statement.confidence:g}"},
        )

    def _window(
        self, statement: Statement, kind: Kind, said_at: datetime, zone: ZoneInfo, reading: Classification
    ) -> tuple[datetime | None, datetime | None, datetime | None]:
        """When it holds and when to stop recalling it (E17): the writer's word first, else the wording's.

        What is for the moment (a wish, an exception, a state that ends) is recalled only until it is over. What takes
        place at a time stays findable, and is told as past once the interval in which it holds is over. A turn of a
        conversation is a record of what was said, and its wording ends nothing.
        """
        valid_from, valid_to, expires_at = statement.valid_from, statement.valid_to, statement.expires_at
        if valid_from is None and valid_to is None:
            valid_from, valid_to = reading.window.start, reading.window.end
        if reading.standing:
            return valid_from, valid_to, expires_at
        recorded = statement.process == CONVERSATION
        if kind is Kind.TEMPORARY_PREFERENCE or (reading.passing and not recorded and kind in TEMPORARY_KINDS):
            if expires_at is None:
                expires_at = valid_to or said_at + (reading.expires_after_hint or TEMPORARY_LIFE)
        elif kind is Kind.EVENT and valid_from is None and valid_to is None:
            spans = find_times(statement.text, said_at, zone)
            if spans:
                valid_from, valid_to = min(span.start for span in spans), max(span.end for span in spans)
        return valid_from, valid_to, expires_at

    async def _embedded(self, drafts: Sequence[Draft | MemoryServiceError]) -> list[Draft | MemoryServiceError]:
        model = self.embedder.model
        result = list(drafts)
        waiting: list[tuple[int, Draft]] = []
        for index, draft in enumerate(drafts):
            if isinstance(draft, MemoryServiceError):
                continue
            if draft.statement.vector is None:
                waiting.append((index, draft))
                continue
            try:
                own = check_vector(draft.statement.vector, model.dimension, f"{draft.field}.embedding")
            except MemoryServiceError as error:
                result[index] = error
                continue
            rows = np.tile(own, (len(draft.pieces), 1))
            result[index] = replace(draft, model_id=model.id, vectors=rows)
        pieces = [piece for _, draft in waiting for piece in draft.pieces]
        if not pieces:
            return result
        try:
            vectors = await self.embedder.embed(pieces)
        except Unavailable:
            # The text is what must be durable; its vectors are made later by the backfill job.
            self.telemetry.count("embed_deferred_total", len(pieces))
            return result
        start = 0
        for index, draft in waiting:
            stop = start + len(draft.pieces)
            result[index] = replace(draft, model_id=model.id, vectors=vectors[start:stop])
            start = stop
        return result
