import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memory_service.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Cardinality(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CARDINALITY_UNSPECIFIED: _ClassVar[Cardinality]
    CARDINALITY_ONE: _ClassVar[Cardinality]
    CARDINALITY_MANY: _ClassVar[Cardinality]

class MergePolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MERGE_POLICY_UNSPECIFIED: _ClassVar[MergePolicy]
    MERGE_POLICY_UNION: _ClassVar[MergePolicy]
    MERGE_POLICY_INTERSECTION: _ClassVar[MergePolicy]
    MERGE_POLICY_HIGHEST_CONFIDENCE: _ClassVar[MergePolicy]
    MERGE_POLICY_CONFIRM: _ClassVar[MergePolicy]

class Sensitivity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SENSITIVITY_UNSPECIFIED: _ClassVar[Sensitivity]
    SENSITIVITY_NORMAL: _ClassVar[Sensitivity]
    SENSITIVITY_SENSITIVE: _ClassVar[Sensitivity]

class UnknownPredicates(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNKNOWN_PREDICATES_UNSPECIFIED: _ClassVar[UnknownPredicates]
    UNKNOWN_PREDICATES_REFUSE: _ClassVar[UnknownPredicates]
    UNKNOWN_PREDICATES_MAP: _ClassVar[UnknownPredicates]

class Variant(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VARIANT_UNSPECIFIED: _ClassVar[Variant]
    VARIANT_CONTROL: _ClassVar[Variant]
    VARIANT_TREATMENT: _ClassVar[Variant]
CARDINALITY_UNSPECIFIED: Cardinality
CARDINALITY_ONE: Cardinality
CARDINALITY_MANY: Cardinality
MERGE_POLICY_UNSPECIFIED: MergePolicy
MERGE_POLICY_UNION: MergePolicy
MERGE_POLICY_INTERSECTION: MergePolicy
MERGE_POLICY_HIGHEST_CONFIDENCE: MergePolicy
MERGE_POLICY_CONFIRM: MergePolicy
SENSITIVITY_UNSPECIFIED: Sensitivity
SENSITIVITY_NORMAL: Sensitivity
SENSITIVITY_SENSITIVE: Sensitivity
UNKNOWN_PREDICATES_UNSPECIFIED: UnknownPredicates
UNKNOWN_PREDICATES_REFUSE: UnknownPredicates
UNKNOWN_PREDICATES_MAP: UnknownPredicates
VARIANT_UNSPECIFIED: Variant
VARIANT_CONTROL: Variant
VARIANT_TREATMENT: Variant

class Predicate(_message.Message):
    __slots__ = ("name", "kind", "cardinality", "merge", "tau", "never_decays", "aliases", "sensitivity")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CARDINALITY_FIELD_NUMBER: _ClassVar[int]
    MERGE_FIELD_NUMBER: _ClassVar[int]
    TAU_FIELD_NUMBER: _ClassVar[int]
    NEVER_DECAYS_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: _types_pb2.Kind
    cardinality: Cardinality
    merge: MergePolicy
    tau: _duration_pb2.Duration
    never_decays: bool
    aliases: _containers.RepeatedScalarFieldContainer[str]
    sensitivity: Sensitivity
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[_Union[_types_pb2.Kind, str]] = ..., cardinality: _Optional[_Union[Cardinality, str]] = ..., merge: _Optional[_Union[MergePolicy, str]] = ..., tau: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., never_decays: _Optional[bool] = ..., aliases: _Optional[_Iterable[str]] = ..., sensitivity: _Optional[_Union[Sensitivity, str]] = ...) -> None: ...

class PolicyVersion(_message.Message):
    __slots__ = ("version", "actor", "reason", "at")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    version: int
    actor: str
    reason: str
    at: _timestamp_pb2.Timestamp
    def __init__(self, version: _Optional[int] = ..., actor: _Optional[str] = ..., reason: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListPredicatesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListPredicatesResponse(_message.Message):
    __slots__ = ("predicates", "unknown", "version")
    PREDICATES_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    predicates: _containers.RepeatedCompositeFieldContainer[Predicate]
    unknown: UnknownPredicates
    version: int
    def __init__(self, predicates: _Optional[_Iterable[_Union[Predicate, _Mapping]]] = ..., unknown: _Optional[_Union[UnknownPredicates, str]] = ..., version: _Optional[int] = ...) -> None: ...

class PutPredicateRequest(_message.Message):
    __slots__ = ("predicate", "expected_version", "reason")
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    predicate: Predicate
    expected_version: int
    reason: str
    def __init__(self, predicate: _Optional[_Union[Predicate, _Mapping]] = ..., expected_version: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class PutPredicateResponse(_message.Message):
    __slots__ = ("version", "predicate")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    version: int
    predicate: Predicate
    def __init__(self, version: _Optional[int] = ..., predicate: _Optional[_Union[Predicate, _Mapping]] = ...) -> None: ...

class RemovePredicateRequest(_message.Message):
    __slots__ = ("name", "replacement", "expected_version", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REPLACEMENT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    replacement: str
    expected_version: int
    reason: str
    def __init__(self, name: _Optional[str] = ..., replacement: _Optional[str] = ..., expected_version: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class RemovePredicateResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    def __init__(self, version: _Optional[int] = ...) -> None: ...

class SetUnknownPredicatesRequest(_message.Message):
    __slots__ = ("unknown", "expected_version", "reason")
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    unknown: UnknownPredicates
    expected_version: int
    reason: str
    def __init__(self, unknown: _Optional[_Union[UnknownPredicates, str]] = ..., expected_version: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class SetUnknownPredicatesResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    def __init__(self, version: _Optional[int] = ...) -> None: ...

class GetVocabularyHistoryRequest(_message.Message):
    __slots__ = ("limit", "before_version")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    BEFORE_VERSION_FIELD_NUMBER: _ClassVar[int]
    limit: int
    before_version: int
    def __init__(self, limit: _Optional[int] = ..., before_version: _Optional[int] = ...) -> None: ...

class GetVocabularyHistoryResponse(_message.Message):
    __slots__ = ("versions",)
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    versions: _containers.RepeatedCompositeFieldContainer[PolicyVersion]
    def __init__(self, versions: _Optional[_Iterable[_Union[PolicyVersion, _Mapping]]] = ...) -> None: ...

class RollbackVocabularyRequest(_message.Message):
    __slots__ = ("version", "expected_version", "reason")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    version: int
    expected_version: int
    reason: str
    def __init__(self, version: _Optional[int] = ..., expected_version: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class RollbackVocabularyResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    def __init__(self, version: _Optional[int] = ...) -> None: ...

class Parameter(_message.Message):
    __slots__ = ("name", "value", "default_value", "minimum", "maximum", "whole", "purpose", "requirement")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_VALUE_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    REQUIREMENT_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    default_value: float
    minimum: float
    maximum: float
    whole: bool
    purpose: str
    requirement: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ..., default_value: _Optional[float] = ..., minimum: _Optional[float] = ..., maximum: _Optional[float] = ..., whole: _Optional[bool] = ..., purpose: _Optional[str] = ..., requirement: _Optional[str] = ...) -> None: ...

class ParameterSet(_message.Message):
    __slots__ = ("name", "version")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class ListParametersRequest(_message.Message):
    __slots__ = ("set",)
    SET_FIELD_NUMBER: _ClassVar[int]
    set: str
    def __init__(self, set: _Optional[str] = ...) -> None: ...

class ListParametersResponse(_message.Message):
    __slots__ = ("parameters", "version", "sets")
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SETS_FIELD_NUMBER: _ClassVar[int]
    parameters: _containers.RepeatedCompositeFieldContainer[Parameter]
    version: int
    sets: _containers.RepeatedCompositeFieldContainer[ParameterSet]
    def __init__(self, parameters: _Optional[_Iterable[_Union[Parameter, _Mapping]]] = ..., version: _Optional[int] = ..., sets: _Optional[_Iterable[_Union[ParameterSet, _Mapping]]] = ...) -> None: ...

class SetParametersRequest(_message.Message):
    __slots__ = ("set", "values", "reset", "expected_version", "reason")
    class ValuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    SET_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    set: str
    values: _containers.ScalarMap[str, float]
    reset: _containers.RepeatedScalarFieldContainer[str]
    expected_version: int
    reason: str
    def __init__(self, set: _Optional[str] = ..., values: _Optional[_Mapping[str, float]] = ..., reset: _Optional[_Iterable[str]] = ..., expected_version: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class SetParametersResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    def __init__(self, version: _Optional[int] = ...) -> None: ...

class GetParameterHistoryRequest(_message.Message):
    __slots__ = ("set", "limit", "before_version")
    SET_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    BEFORE_VERSION_FIELD_NUMBER: _ClassVar[int]
    set: str
    limit: int
    before_version: int
    def __init__(self, set: _Optional[str] = ..., limit: _Optional[int] = ..., before_version: _Optional[int] = ...) -> None: ...

class GetParameterHistoryResponse(_message.Message):
    __slots__ = ("versions",)
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    versions: _containers.RepeatedCompositeFieldContainer[ParameterVersion]
    def __init__(self, versions: _Optional[_Iterable[_Union[ParameterVersion, _Mapping]]] = ...) -> None: ...

class ParameterVersion(_message.Message):
    __slots__ = ("version", "values")
    class ValuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    version: PolicyVersion
    values: _containers.ScalarMap[str, float]
    def __init__(self, version: _Optional[_Union[PolicyVersion, _Mapping]] = ..., values: _Optional[_Mapping[str, float]] = ...) -> None: ...

class RollbackParametersRequest(_message.Message):
    __slots__ = ("set", "version", "expected_version", "reason")
    SET_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    set: str
    version: int
    expected_version: int
    reason: str
    def __init__(self, set: _Optional[str] = ..., version: _Optional[int] = ..., expected_version: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class RollbackParametersResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    def __init__(self, version: _Optional[int] = ...) -> None: ...

class Experiment(_message.Message):
    __slots__ = ("name", "control", "treatment", "share", "started_at", "stopped_at", "counts")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONTROL_FIELD_NUMBER: _ClassVar[int]
    TREATMENT_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    STOPPED_AT_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    control: str
    treatment: str
    share: float
    started_at: _timestamp_pb2.Timestamp
    stopped_at: _timestamp_pb2.Timestamp
    counts: _containers.RepeatedCompositeFieldContainer[VariantCounts]
    def __init__(self, name: _Optional[str] = ..., control: _Optional[str] = ..., treatment: _Optional[str] = ..., share: _Optional[float] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., stopped_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., counts: _Optional[_Iterable[_Union[VariantCounts, _Mapping]]] = ...) -> None: ...

class VariantCounts(_message.Message):
    __slots__ = ("variant", "counts")
    class CountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    VARIANT_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    variant: Variant
    counts: _containers.ScalarMap[str, int]
    def __init__(self, variant: _Optional[_Union[Variant, str]] = ..., counts: _Optional[_Mapping[str, int]] = ...) -> None: ...

class StartExperimentRequest(_message.Message):
    __slots__ = ("name", "treatment", "control", "share", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TREATMENT_FIELD_NUMBER: _ClassVar[int]
    CONTROL_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    treatment: str
    control: str
    share: float
    reason: str
    def __init__(self, name: _Optional[str] = ..., treatment: _Optional[str] = ..., control: _Optional[str] = ..., share: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

class StartExperimentResponse(_message.Message):
    __slots__ = ("experiment",)
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    experiment: Experiment
    def __init__(self, experiment: _Optional[_Union[Experiment, _Mapping]] = ...) -> None: ...

class StopExperimentRequest(_message.Message):
    __slots__ = ("name", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class StopExperimentResponse(_message.Message):
    __slots__ = ("experiment",)
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    experiment: Experiment
    def __init__(self, experiment: _Optional[_Union[Experiment, _Mapping]] = ...) -> None: ...

class ListExperimentsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListExperimentsResponse(_message.Message):
    __slots__ = ("experiments",)
    EXPERIMENTS_FIELD_NUMBER: _ClassVar[int]
    experiments: _containers.RepeatedCompositeFieldContainer[Experiment]
    def __init__(self, experiments: _Optional[_Iterable[_Union[Experiment, _Mapping]]] = ...) -> None: ...

class GetCalibrationRequest(_message.Message):
    __slots__ = ("user",)
    USER_FIELD_NUMBER: _ClassVar[int]
    user: str
    def __init__(self, user: _Optional[str] = ...) -> None: ...

class GetCalibrationResponse(_message.Message):
    __slots__ = ("calibrations",)
    CALIBRATIONS_FIELD_NUMBER: _ClassVar[int]
    calibrations: _containers.RepeatedCompositeFieldContainer[Calibration]
    def __init__(self, calibrations: _Optional[_Iterable[_Union[Calibration, _Mapping]]] = ...) -> None: ...

class Calibration(_message.Message):
    __slots__ = ("kind", "predicate", "intervals", "dominant", "suggested_tau", "tau", "enough", "counts")
    KIND_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    INTERVALS_FIELD_NUMBER: _ClassVar[int]
    DOMINANT_FIELD_NUMBER: _ClassVar[int]
    SUGGESTED_TAU_FIELD_NUMBER: _ClassVar[int]
    TAU_FIELD_NUMBER: _ClassVar[int]
    ENOUGH_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    kind: _types_pb2.Kind
    predicate: str
    intervals: int
    dominant: _duration_pb2.Duration
    suggested_tau: _duration_pb2.Duration
    tau: _duration_pb2.Duration
    enough: bool
    counts: _containers.RepeatedCompositeFieldContainer[IntervalCount]
    def __init__(self, kind: _Optional[_Union[_types_pb2.Kind, str]] = ..., predicate: _Optional[str] = ..., intervals: _Optional[int] = ..., dominant: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., suggested_tau: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., tau: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., enough: _Optional[bool] = ..., counts: _Optional[_Iterable[_Union[IntervalCount, _Mapping]]] = ...) -> None: ...

class IntervalCount(_message.Message):
    __slots__ = ("begins_at", "count")
    BEGINS_AT_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    begins_at: _duration_pb2.Duration
    count: int
    def __init__(self, begins_at: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., count: _Optional[int] = ...) -> None: ...
