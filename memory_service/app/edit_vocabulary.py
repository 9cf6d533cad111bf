"""A tenant's vocabulary, changed while running (P3), so that no memory is left with a word nobody knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from memory_service.app.policy_changes import By, PolicyChanges
from memory_service.app.validation import check_name
from memory_service.domain import limits
from memory_service.domain.errors import FailedPrecondition, Reason
from memory_service.domain.ids import TenantId
from memory_service.domain.policy import VOCABULARY, PolicyDocument, vocabulary_of, vocabulary_text
from memory_service.domain.vocabulary import (
    Predicate,
    UnknownPredicates,
    Vocabulary,
    checked,
    normalise_name,
)

_COUNTED_MAX: Final = 1000


@dataclass(frozen=True, slots=True)
class EditVocabulary:
    """Lists, changes and rolls back one tenant's words.

    Every change is one version. One that would orphan memories, by taking away the word they have, is refused with
    PREDICATE_IN_USE, which tells how many (counted to a thousand, of how many users), unless another word takes over
    their names: then the upkeep step `vocabulary` gives those memories the other word.
    """

    changes: PolicyChanges

    def current(self, tenant: TenantId) -> tuple[int, Vocabulary]:
        """The version and the words in force."""
        return self.changes.policies.vocabulary(tenant)

    async def put(self, tenant: TenantId, predicate: Predicate, by: By) -> tuple[int, Predicate]:
        """Add a word, or change the one of its name; the version in force and the word as kept.

        Raises:
            InvalidInput: for a bad name, alias or tau (see `checked`), one that is another word's, or one too many.
            Conflict: ETAG_MISMATCH.
        """
        kept = checked(predicate, "predicate")
        version = await self._change(tenant, by, lambda words: words.having(kept))
        return version, kept

    async def remove(self, tenant: TenantId, name: str, replacement: str, by: By) -> int:
        """Take a word out; its names and memories go to the replacement, when one is named.

        Raises:
            InvalidInput: UNKNOWN_PREDICATE, or FIELD_INVALID for the word that unknown ones take their rules from.
            FailedPrecondition: PREDICATE_IN_USE when memories have it and there is no replacement.
        """
        check_name(name, "name", required=True, limit=limits.PREDICATE_CHARS_MAX)
        check_name(replacement, "replacement", limit=limits.PREDICATE_CHARS_MAX)
        return await self._change(tenant, by, lambda words: words.without(name, replacement))

    async def set_unknown(self, tenant: TenantId, unknown: UnknownPredicates, by: By) -> int:
        """Change what happens to predicates outside the vocabulary.

        Raises:
            FailedPrecondition: PREDICATE_IN_USE when they are to be refused and memories have some.
        """
        return await self._change(tenant, by, lambda words: words.with_unknown(unknown))

    async def roll_back(self, tenant: TenantId, version: int, by: By) -> int:
        """Bring a version back, as the next one; 0 is what the service starts with.

        Raises:
            NotFound: VERSION_NOT_FOUND. FailedPrecondition: PREDICATE_IN_USE.
            InvalidInput: FIELD_INVALID for a version that lacks the word that unknown ones take their rules from.
        """
        if version == 0:
            target = self.changes.policies.start.vocabulary_of(tenant)
        else:
            target = vocabulary_of(await self.changes.past(tenant, VOCABULARY, version))
        return await self._change(tenant, by, lambda _: target.complete("version"))

    async def history(self, tenant: TenantId, limit: int, before: int) -> list[PolicyDocument]:
        """Versions, newest first."""
        return await self.changes.history(tenant, VOCABULARY, limit, before)

    async def _change(self, tenant: TenantId, by: By, make: Callable[[Vocabulary], Vocabulary]) -> int:
        async def made() -> str:
            words = self.current(tenant)[1]
            after = make(words)
            text = vocabulary_text(after)
            await self._check_uses(tenant, words, after)
            return text

        def current() -> tuple[int, str]:
            version, words = self.current(tenant)
            return version, vocabulary_text(words)

        return await self.changes.change(tenant, VOCABULARY, by, made, current)

    async def _check_uses(self, tenant: TenantId, before: Vocabulary, after: Vocabulary) -> None:
        lost = [name for name in before.predicates if after.find(name) is None]
        if lost:
            await self._refuse_used(tenant, lost, others=False)
        closing = before.unknown is UnknownPredicates.MAP and after.unknown is UnknownPredicates.REFUSE
        if closing:
            await self._refuse_used(tenant, _names(after), others=True)

    async def _refuse_used(self, tenant: TenantId, names: Iterable[str], *, others: bool) -> None:
        listed = sorted(names)
        uses = await self.changes.policies.store.uses(tenant, listed, others=others, limit=_COUNTED_MAX)
        if not uses.memories:
            return
        more = "+" if uses.more else ""
        what = "predicates outside the vocabulary" if others else ", ".join(listed)
        raise FailedPrecondition(
            Reason.PREDICATE_IN_USE,
            f"{uses.memories}{more} memories of {uses.users} users have {what}: name the word that takes its place",
            field="name",
            metadata={"memories": f"{uses.memories}{more}", "users": str(uses.users)},
        )


def _names(words: Vocabulary) -> set[str]:
    return {normalise_name(name) for word in words.predicates.values() for name in (word.name, *word.aliases)}
