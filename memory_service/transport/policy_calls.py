"""The calls of AdminService about a tenant's vocabulary, parameters, experiments and calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self

from google.protobuf.duration_pb2 import Duration

from memory_service.app.edit_parameters import Calibrated, EditParameters
from memory_service.app.edit_vocabulary import EditVocabulary
from memory_service.app.experiments import SIDES, Experiments, side_counts
from memory_service.app.policy_changes import By, PolicyChanges
from memory_service.app.validation import check_list, check_name
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.memory import Cardinality, MergePolicy
from memory_service.domain.policy import Experiment, PolicyDocument, Variant, values_of
from memory_service.domain.reuse import bucket_seconds
from memory_service.domain.tuning import SPECS, default_of
from memory_service.domain.vocabulary import Predicate, Sensitivity, UnknownPredicates
from memory_service.ports.keys import Role
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.policy_store import Counts
from memory_service.transport.identity import CALLER, Caller
from memory_service.transport.values import KINDS, enum_in, inverse, time_out
from memory_service.v1 import admin_service_pb2_grpc as api_grpc
from memory_service.v1 import policy_pb2 as pb

_CARDINALITIES = {pb.Cardinality.Value(f"CARDINALITY_{c.name}"): c for c in Cardinality}
_MERGES = {pb.MergePolicy.Value(f"MERGE_POLICY_{m.name}"): m for m in MergePolicy}
_SENSITIVITIES = {pb.Sensitivity.Value(f"SENSITIVITY_{s.name}"): s for s in Sensitivity}
_UNKNOWN = {pb.UnknownPredicates.Value(f"UNKNOWN_PREDICATES_{u.name}"): u for u in UnknownPredicates}
_VARIANTS = {pb.Variant.Value(f"VARIANT_{side.name}"): side for side in SIDES}
_KINDS_OUT = inverse(KINDS)
_CARDINALITIES_OUT, _MERGES_OUT = inverse(_CARDINALITIES), inverse(_MERGES)
_SENSITIVITIES_OUT, _UNKNOWN_OUT, _VARIANTS_OUT = inverse(_SENSITIVITIES), inverse(_UNKNOWN), inverse(_VARIANTS)
_SECONDS_MAX = limits.TAU_DAYS_MAX * 86_400.0 * 100


@dataclass(frozen=True, slots=True)
class PolicyCases:
    """What these calls call."""

    vocabulary: EditVocabulary
    parameters: EditParameters
    experiments: Experiments

    @classmethod
    def of(cls, changes: PolicyChanges, memories: MemoryStore) -> Self:
        """All of them over the same collaborators."""
        return cls(EditVocabulary(changes), EditParameters(changes, memories), Experiments(changes))


class PolicyCalls(api_grpc.AdminServiceServicer):
    """Part of `AdminServicer`; see `admin_service.proto` for what each call means. All need the admin role."""

    _policies: PolicyCases

    # Vocabulary --------------------------------------------------------------------------------------------

    async def ListPredicates(self, request: pb.ListPredicatesRequest, context: Any) -> pb.ListPredicatesResponse:
        version, words = self._policies.vocabulary.current(admin().key.tenant)
        listed = sorted(words.predicates.values(), key=lambda word: word.name)
        return pb.ListPredicatesResponse(
            predicates=[_predicate_out(word) for word in listed],
            unknown=_UNKNOWN_OUT[words.unknown],  # type: ignore[arg-type]
            version=version,
        )

    async def PutPredicate(self, request: pb.PutPredicateRequest, context: Any) -> pb.PutPredicateResponse:
        caller = admin()
        predicate = _predicate_in(request.predicate)
        version, kept = await self._policies.vocabulary.put(caller.key.tenant, predicate, _by(caller, request))
        return pb.PutPredicateResponse(version=version, predicate=_predicate_out(kept))

    async def RemovePredicate(self, request: pb.RemovePredicateRequest, context: Any) -> pb.RemovePredicateResponse:
        caller = admin()
        version = await self._policies.vocabulary.remove(
            caller.key.tenant, request.name, request.replacement, _by(caller, request)
        )
        return pb.RemovePredicateResponse(version=version)

    async def SetUnknownPredicates(
        self, request: pb.SetUnknownPredicatesRequest, context: Any
    ) -> pb.SetUnknownPredicatesResponse:
        caller = admin()
        unknown = _needed(_UNKNOWN, request.unknown, "unknown")
        version = await self._policies.vocabulary.set_unknown(caller.key.tenant, unknown, _by(caller, request))
        return pb.SetUnknownPredicatesResponse(version=version)

    async def GetVocabularyHistory(
        self, request: pb.GetVocabularyHistoryRequest, context: Any
    ) -> pb.GetVocabularyHistoryResponse:
        tenant = admin().key.tenant
        found = await self._policies.vocabulary.history(tenant, request.limit, request.before_version)
        return pb.GetVocabularyHistoryResponse(versions=[_version_out(document) for document in found])

    async def RollbackVocabulary(
        self, request: pb.RollbackVocabularyRequest, context: Any
    ) -> pb.RollbackVocabularyResponse:
        caller = admin()
        version = await self._policies.vocabulary.roll_back(caller.key.tenant, request.version, _by(caller, request))
        return pb.RollbackVocabularyResponse(version=version)

    # Parameters --------------------------------------------------------------------------------------------

    async def ListParameters(self, request: pb.ListParametersRequest, context: Any) -> pb.ListParametersResponse:
        tenant = admin().key.tenant
        version, values = self._policies.parameters.current(tenant, request.set)
        base = self._policies.parameters.base
        parameters = [
            pb.Parameter(
                name=spec.name,
                value=values.get(spec.name, default_of(spec, base)),
                default_value=default_of(spec, base),
                minimum=spec.minimum,
                maximum=spec.maximum,
                whole=spec.whole,
                purpose=spec.purpose,
                requirement=spec.requirement,
            )
            for spec in SPECS.values()
        ]
        sets = sorted(self._policies.parameters.sets(tenant).items())
        return pb.ListParametersResponse(
            parameters=parameters,
            version=version,
            sets=[pb.ParameterSet(name=name, version=number) for name, number in sets],
        )

    async def SetParameters(self, request: pb.SetParametersRequest, context: Any) -> pb.SetParametersResponse:
        caller = admin()
        check_list(list(request.values), "values", len(SPECS))
        version = await self._policies.parameters.set(
            caller.key.tenant, request.set, dict(request.values), list(request.reset), _by(caller, request)
        )
        return pb.SetParametersResponse(version=version)

    async def GetParameterHistory(
        self, request: pb.GetParameterHistoryRequest, context: Any
    ) -> pb.GetParameterHistoryResponse:
        tenant = admin().key.tenant
        found = await self._policies.parameters.history(tenant, request.set, request.limit, request.before_version)
        return pb.GetParameterHistoryResponse(
            versions=[pb.ParameterVersion(version=_version_out(d), values=values_of(d.content)) for d in found]
        )

    async def RollbackParameters(
        self, request: pb.RollbackParametersRequest, context: Any
    ) -> pb.RollbackParametersResponse:
        caller = admin()
        version = await self._policies.parameters.roll_back(
            caller.key.tenant, request.set, request.version, _by(caller, request)
        )
        return pb.RollbackParametersResponse(version=version)

    # Experiments and calibration ---------------------------------------------------------------------------

    async def StartExperiment(self, request: pb.StartExperimentRequest, context: Any) -> pb.StartExperimentResponse:
        caller = admin()
        made = await self._policies.experiments.start(
            caller.key.tenant,
            request.name,
            request.control,
            request.treatment,
            request.share,
            By(caller.actor, request.reason),
        )
        return pb.StartExperimentResponse(experiment=_experiment_out(made, {}))

    async def StopExperiment(self, request: pb.StopExperimentRequest, context: Any) -> pb.StopExperimentResponse:
        caller = admin()
        cases = self._policies.experiments
        made = await cases.stop(caller.key.tenant, request.name, By(caller.actor, request.reason))
        return pb.StopExperimentResponse(
            experiment=_experiment_out(made, await cases.counts(caller.key.tenant, made.name))
        )

    async def ListExperiments(self, request: pb.ListExperimentsRequest, context: Any) -> pb.ListExperimentsResponse:
        found = await self._policies.experiments.all(admin().key.tenant)
        return pb.ListExperimentsResponse(experiments=[_experiment_out(known, counts) for known, counts in found])

    async def GetCalibration(self, request: pb.GetCalibrationRequest, context: Any) -> pb.GetCalibrationResponse:
        caller = admin()
        check_name(request.user, "user")
        user = caller.owner(request.user).user if request.user or caller.key.users else ""
        found = await self._policies.parameters.calibration(caller.key.tenant, user)
        return pb.GetCalibrationResponse(calibrations=[_calibration_out(one) for one in found])


def admin() -> Caller:
    """The caller, when it may administer its tenant."""
    caller = CALLER.get()
    caller.require(Role.ADMIN)
    return caller


def _by(caller: Caller, request: Any) -> By:
    return By(caller.actor, request.reason, request.expected_version)


def _needed(table: Mapping[int, Any], number: int, field: str) -> Any:
    found = enum_in(table, number, field)
    if found is None:
        raise InvalidInput(Reason.FIELD_REQUIRED, f"{field} must be given", field=field)
    return found


def _predicate_in(message: pb.Predicate) -> Predicate:
    """A word; merge policy and sensitivity may be left out, since they have an ordinary value."""
    field = "predicate"
    check_list(message.aliases, f"{field}.aliases", limits.PREDICATE_ALIASES_MAX)
    cardinality = _needed(_CARDINALITIES, message.cardinality, f"{field}.cardinality")
    ordinary = MergePolicy.CONFIRM if cardinality is Cardinality.ONE else MergePolicy.UNION
    return Predicate(
        name=message.name,
        kind=_needed(KINDS, message.kind, f"{field}.kind"),
        cardinality=cardinality,
        merge=enum_in(_MERGES, message.merge, f"{field}.merge") or ordinary,
        tau=_tau_in(message.tau) if message.HasField("tau") else None,
        decays=not message.never_decays,
        aliases=tuple(message.aliases),
        sensitivity=enum_in(_SENSITIVITIES, message.sensitivity, f"{field}.sensitivity") or Sensitivity.NORMAL,
    )


def _tau_in(message: Duration) -> timedelta:
    seconds = message.seconds + message.nanos / 1e9
    if abs(seconds) > _SECONDS_MAX:
        seconds = _SECONDS_MAX  # beyond what is allowed, and within what a timedelta holds: refused with its bounds
    return timedelta(seconds=seconds)


def _predicate_out(word: Predicate) -> pb.Predicate:
    message = pb.Predicate(
        name=word.name,
        kind=_KINDS_OUT[word.kind],  # type: ignore[arg-type]
        cardinality=_CARDINALITIES_OUT[word.cardinality],  # type: ignore[arg-type]
        merge=_MERGES_OUT[word.merge],  # type: ignore[arg-type]
        aliases=word.aliases,
        sensitivity=_SENSITIVITIES_OUT[word.sensitivity],  # type: ignore[arg-type]
    )
    if word.tau is not None:
        message.tau.FromTimedelta(word.tau)
    elif not word.decays:
        message.never_decays = True
    return message


def _version_out(document: PolicyDocument) -> pb.PolicyVersion:
    return pb.PolicyVersion(
        version=document.version, actor=document.actor, reason=document.reason, at=time_out(document.at)
    )


def _experiment_out(experiment: Experiment, counts: Counts) -> pb.Experiment:
    return pb.Experiment(
        name=experiment.name,
        control=experiment.control,
        treatment=experiment.treatment,
        share=experiment.share,
        started_at=time_out(experiment.started_at),
        stopped_at=time_out(experiment.stopped_at),
        counts=[_counts_out(counts, side) for side in SIDES],
    )


def _counts_out(counts: Counts, side: Variant) -> pb.VariantCounts:
    return pb.VariantCounts(variant=_VARIANTS_OUT[side], counts=side_counts(counts, side))  # type: ignore[arg-type]


def _calibration_out(one: Calibrated) -> pb.Calibration:
    histogram = one.histogram
    return pb.Calibration(
        kind=_KINDS_OUT[histogram.kind],  # type: ignore[arg-type]
        predicate=histogram.predicate,
        intervals=histogram.total,
        dominant=_duration_out(histogram.dominant_seconds),
        suggested_tau=_duration_out(histogram.suggested_tau_seconds),
        tau=_duration_out(one.tau_seconds),
        enough=one.enough,
        counts=[
            pb.IntervalCount(begins_at=_duration_out(bucket_seconds(bucket)), count=count)
            for bucket, count in enumerate(histogram.counts)
            if count
        ],
    )


def _duration_out(seconds: float | None) -> Duration | None:
    return None if seconds is None else Duration(seconds=int(seconds), nanos=int(seconds % 1 * 1e9))
