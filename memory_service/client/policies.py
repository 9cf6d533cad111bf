"""The calls on a tenant's vocabulary, parameters, experiments and calibration, and on what waits for review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from memory_service.client import decode, encode, rpcs
from memory_service.client import policy_types as p
from memory_service.client import types as t
from memory_service.client.plumbing import Plumbing
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import policy_pb2 as pb
from memory_service.v1 import types_pb2 as types_pb

_cardinality = decode.words(pb.Cardinality, "CARDINALITY", p.Cardinality)
_merge = decode.words(pb.MergePolicy, "MERGE_POLICY", p.MergePolicy)
_sensitivity = decode.words(pb.Sensitivity, "SENSITIVITY", p.Sensitivity)
_unknown = decode.words(pb.UnknownPredicates, "UNKNOWN_PREDICATES", p.UnknownPredicates)
_variant = decode.words(pb.Variant, "VARIANT", p.Variant)
_cause = decode.words(api.ReviewCause, "REVIEW_CAUSE", p.ReviewCause)


class PolicyCalls(Plumbing):
    """Base of `Core`. Those without a `user` need an admin key and are about its tenant.

    `expected_version` makes a change be refused (`Aborted`) unless that is the version in force; 0 is any. `reason`
    is kept with the version.
    """

    # ── Vocabulary ──────────────────────────────────────────────────────────────────────────────────────────

    async def vocabulary(self, *, timeout_seconds: float | None = None) -> p.Vocabulary:
        """The predicates in force, by name."""
        found = await self._call(rpcs.LIST_PREDICATES, pb.ListPredicatesRequest(), timeout_seconds)
        return p.Vocabulary([_predicate(one) for one in found.predicates], _unknown(found.unknown), found.version)

    async def put_predicate(
        self,
        name: str,
        *,
        kind: t.Kind | str,
        cardinality: p.Cardinality | str = p.Cardinality.MANY,
        merge: p.MergePolicy | str | None = None,
        tau: timedelta | None = None,
        never_decays: bool = False,
        aliases: Sequence[str] = (),
        sensitive: bool = False,
        expected_version: int = 0,
        reason: str = "",
        timeout_seconds: float | None = None,
    ) -> p.Predicate:
        """Add a predicate, or change the one of its name (whole); as it is kept.

        `merge` is "confirm" for one value and "union" for many when left out. `tau` and `never_decays` exclude each
        other; without either its kind's tau holds.
        """
        word = pb.Predicate(
            name=encode.text(name, "predicate.name"),
            kind=encode.number(types_pb.Kind, "KIND", t.Kind, kind, "predicate.kind"),  # type: ignore[arg-type]
            cardinality=encode.number(  # type: ignore[arg-type]
                pb.Cardinality, "CARDINALITY", p.Cardinality, cardinality, "predicate.cardinality"
            ),
            aliases=encode.texts(aliases, "predicate.aliases"),
            sensitivity=pb.SENSITIVITY_SENSITIVE if sensitive else pb.SENSITIVITY_NORMAL,
        )
        if merge is not None:
            word.merge = encode.number(pb.MergePolicy, "MERGE_POLICY", p.MergePolicy, merge, "predicate.merge")  # type: ignore[assignment]
        if tau is not None:
            word.tau.CopyFrom(encode.duration(tau, "predicate.tau"))
        if never_decays:
            if tau is not None:
                raise encode.refuse("predicate.tau", "has a tau or never decays, not both")
            word.never_decays = True
        request = pb.PutPredicateRequest(predicate=word, **_edit(expected_version, reason))
        return _predicate((await self._call(rpcs.PUT_PREDICATE, request, timeout_seconds)).predicate)

    async def remove_predicate(
        self,
        name: str,
        *,
        replacement: str = "",
        expected_version: int = 0,
        reason: str = "",
        timeout_seconds: float | None = None,
    ) -> int:
        """Take a predicate out; the version in force.

        Raises FailedPrecondition (PREDICATE_IN_USE) when memories have it and no replacement is named.
        """
        request = pb.RemovePredicateRequest(
            name=encode.text(name, "name"),
            replacement=encode.text(replacement, "replacement"),
            **_edit(expected_version, reason),
        )
        return (await self._call(rpcs.REMOVE_PREDICATE, request, timeout_seconds)).version

    async def set_unknown_predicates(
        self,
        unknown: p.UnknownPredicates | str,
        *,
        expected_version: int = 0,
        reason: str = "",
        timeout_seconds: float | None = None,
    ) -> int:
        """Say what happens to predicates outside the vocabulary; the version in force."""
        chosen = encode.number(pb.UnknownPredicates, "UNKNOWN_PREDICATES", p.UnknownPredicates, unknown, "unknown")
        request = pb.SetUnknownPredicatesRequest(unknown=chosen, **_edit(expected_version, reason))  # type: ignore[arg-type]
        return (await self._call(rpcs.SET_UNKNOWN_PREDICATES, request, timeout_seconds)).version

    async def vocabulary_history(
        self, *, limit: int = 0, before_version: int = 0, timeout_seconds: float | None = None
    ) -> Sequence[p.PolicyVersion]:
        """Versions of the vocabulary, newest first."""
        request = pb.GetVocabularyHistoryRequest(
            limit=encode.integer(limit, "limit"), before_version=encode.integer(before_version, "before_version")
        )
        found = await self._call(rpcs.VOCABULARY_HISTORY, request, timeout_seconds)
        return [_version(one) for one in found.versions]

    async def rollback_vocabulary(
        self,
        version: int,
        *,
        expected_version: int = 0,
        reason: str = "",
        timeout_seconds: float | None = None,
    ) -> int:
        """Bring a version back (0 is what the service starts with), as the next one; the version in force."""
        request = pb.RollbackVocabularyRequest(
            version=encode.integer(version, "version"), **_edit(expected_version, reason)
        )
        return (await self._call(rpcs.ROLLBACK_VOCABULARY, request, timeout_seconds)).version

    # ── Parameters ──────────────────────────────────────────────────────────────────────────────────────────

    async def parameters(self, name: str = "", *, timeout_seconds: float | None = None) -> p.Parameters:
        """Every tunable number, with what the set `name` (the default one when empty) has for it."""
        request = pb.ListParametersRequest(set=encode.text(name, "set"))
        found = await self._call(rpcs.LIST_PARAMETERS, request, timeout_seconds)
        return p.Parameters(
            [_parameter(one) for one in found.parameters], found.version, {s.name: s.version for s in found.sets}
        )

    async def set_parameters(
        self,
        values: Mapping[str, float] | None = None,
        *,
        name: str = "",
        reset: Sequence[str] = (),
        expected_version: int = 0,
        reason: str = "",
        timeout_seconds: float | None = None,
    ) -> int:
        """Change some numbers of a set, give those in `reset` their default back; the version in force."""
        request = pb.SetParametersRequest(
            set=encode.text(name, "set"),
            values={
                encode.text(key, "values"): encode.real(value, f"values.{key}")
                for key, value in (values or {}).items()
            },
            reset=encode.texts(reset, "reset"),
            **_edit(expected_version, reason),
        )
        return (await self._call(rpcs.SET_PARAMETERS, request, timeout_seconds)).version

    async def parameter_history(
        self, name: str = "", *, limit: int = 0, before_version: int = 0, timeout_seconds: float | None = None
    ) -> Sequence[p.PolicyVersion]:
        """Versions of a set with their values, newest first."""
        request = pb.GetParameterHistoryRequest(
            set=encode.text(name, "set"),
            limit=encode.integer(limit, "limit"),
            before_version=encode.integer(before_version, "before_version"),
        )
        found = await self._call(rpcs.PARAMETER_HISTORY, request, timeout_seconds)
        return [_version(one.version, dict(one.values)) for one in found.versions]

    async def rollback_parameters(
        self,
        version: int,
        *,
        name: str = "",
        expected_version: int = 0,
        reason: str = "",
        timeout_seconds: float | None = None,
    ) -> int:
        """Bring a version of a set back (0 is the defaults), as the next one; the version in force."""
        request = pb.RollbackParametersRequest(
            set=encode.text(name, "set"),
            version=encode.integer(version, "version"),
            **_edit(expected_version, reason),
        )
        return (await self._call(rpcs.ROLLBACK_PARAMETERS, request, timeout_seconds)).version

    # ── Experiments and calibration ─────────────────────────────────────────────────────────────────────────

    async def start_experiment(
        self,
        name: str,
        treatment: str,
        *,
        share: float,
        control: str = "",
        reason: str = "",
        timeout_seconds: float | None = None,
    ) -> p.Experiment:
        """Give a share of the users the parameter set `treatment`, and the others `control`."""
        request = pb.StartExperimentRequest(
            name=encode.text(name, "name"),
            treatment=encode.text(treatment, "treatment"),
            control=encode.text(control, "control"),
            share=encode.real(share, "share"),
            reason=encode.text(reason, "reason"),
        )
        return _experiment((await self._call(rpcs.START_EXPERIMENT, request, timeout_seconds)).experiment)

    async def stop_experiment(
        self, name: str, *, reason: str = "", timeout_seconds: float | None = None
    ) -> p.Experiment:
        """End an experiment: everybody has the default set again."""
        request = pb.StopExperimentRequest(name=encode.text(name, "name"), reason=encode.text(reason, "reason"))
        return _experiment((await self._call(rpcs.STOP_EXPERIMENT, request, timeout_seconds)).experiment)

    async def experiments(self, *, timeout_seconds: float | None = None) -> Sequence[p.Experiment]:
        """The tenant's experiments, newest first, with what was counted on their sides."""
        found = await self._call(rpcs.LIST_EXPERIMENTS, pb.ListExperimentsRequest(), timeout_seconds)
        return [_experiment(one) for one in found.experiments]

    async def calibration(self, user: str = "", *, timeout_seconds: float | None = None) -> Sequence[p.Calibration]:
        """What the intervals between uses suggest for tau: of one user, or of all of the tenant's when empty."""
        request = pb.GetCalibrationRequest(user=encode.text(user, "user"))
        found = await self._call(rpcs.CALIBRATION, request, timeout_seconds)
        return [_calibration(one) for one in found.calibrations]

    # ── Reviews ─────────────────────────────────────────────────────────────────────────────────────────────

    async def reviews(
        self,
        *,
        page_size: int = 0,
        page_token: str = "",
        agent: str | None = None,
        user: str | None = None,
        timeout_seconds: float | None = None,
    ) -> p.ReviewPage:
        """A page of what waits for a person; it may be short, or empty, with more to come."""
        request = api.ListReviewsRequest(
            user=self._user(user),
            page_size=encode.integer(page_size, "page_size"),
            page_token=encode.text(page_token, "page_token"),
            agent=self._agent(agent),
        )
        found = await self._call(rpcs.LIST_REVIEWS, request, timeout_seconds)
        reviews = [p.Review(decode.memory(one.memory), _cause(one.cause)) for one in found.reviews]
        return p.ReviewPage(reviews, found.next_page_token)

    async def decide_review(
        self,
        memory_id: str,
        decision: p.ReviewDecision | str,
        *,
        reason: str = "",
        etag: str = "",
        user: str | None = None,
        request_id: str | None = None,
        dot: t.Dot | None = None,
        context: t.ContextArgument = t.KEPT,
        timeout_seconds: float | None = None,
    ) -> t.WriteResult:
        """Accept, reject or reopen (take the decision back) a sensitive memory that nobody said outright.

        Raises FailedPrecondition (REVIEW_NOT_WAITING) for a memory that this decision is not about.
        """
        chosen = encode.number(api.ReviewDecision, "REVIEW_DECISION", p.ReviewDecision, decision, "decision")
        request = api.DecideReviewRequest(
            memory_id=encode.text(memory_id, "memory_id"),
            decision=chosen,  # type: ignore[arg-type]
            reason=encode.text(reason, "reason"),
            etag=encode.text(etag, "etag"),
        )
        made = await self._made(rpcs.DECIDE_REVIEW, request, user, request_id, dot, context, timeout_seconds)
        return decode.write_result(made)


def _edit(expected_version: int, reason: str) -> dict[str, Any]:
    return {
        "expected_version": encode.integer(expected_version, "expected_version"),
        "reason": encode.text(reason, "reason"),
    }


def _predicate(value: pb.Predicate) -> p.Predicate:
    return p.Predicate(
        name=value.name,
        kind=decode.kind_word(value.kind),
        cardinality=_cardinality(value.cardinality),
        merge=_merge(value.merge),
        tau=decode.duration(value.tau) if value.HasField("tau") else None,
        never_decays=value.never_decays,
        aliases=tuple(value.aliases),
        sensitivity=_sensitivity(value.sensitivity),
    )


def _version(value: pb.PolicyVersion, values: Mapping[str, float] | None = None) -> p.PolicyVersion:
    return p.PolicyVersion(value.version, value.actor, value.reason, decode.timestamp(value.at), values)


def _parameter(value: pb.Parameter) -> p.Parameter:
    return p.Parameter(
        name=value.name,
        value=value.value,
        default=value.default_value,
        minimum=value.minimum,
        maximum=value.maximum,
        whole=value.whole,
        purpose=value.purpose,
        requirement=value.requirement,
    )


def _experiment(value: pb.Experiment) -> p.Experiment:
    return p.Experiment(
        name=value.name,
        control=value.control,
        treatment=value.treatment,
        share=value.share,
        started_at=decode.timestamp(value.started_at),
        stopped_at=decode.timestamp(value.stopped_at) if value.HasField("stopped_at") else None,
        counts={_variant(side.variant): dict(side.counts) for side in value.counts},
    )


def _calibration(value: pb.Calibration) -> p.Calibration:
    return p.Calibration(
        kind=decode.kind_word(value.kind),
        predicate=value.predicate,
        intervals=value.intervals,
        dominant=decode.duration(value.dominant),
        suggested_tau=decode.duration(value.suggested_tau),
        tau=decode.duration(value.tau) if value.HasField("tau") else None,
        enough=value.enough,
        counts=[(decode.duration(one.begins_at), one.count) for one in value.counts],
    )
