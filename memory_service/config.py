"""Settings of a server, from the environment (prefix `MEMORY_SERVICE_`) or given in code.

A `.env` file is never read: what is not in the environment has the default shown here.
"""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from memory_service.domain import limits
from memory_service.domain.memory import Kind, MergePolicy
from memory_service.domain.parameters import Parameters
from memory_service.domain.vocabulary import UnknownPredicates, Vocabulary

_DATABASE_SCHEMES = ("postgresql://", "postgres://")
_REDIS_SCHEMES = ("redis://", "rediss://", "unix://")


class LogFormat(StrEnum):
    """How log lines look: for people, for machines, or by whether standard error is a terminal."""

    AUTO = "auto"
    TEXT = "text"
    JSON = "json"


class EmbedderName(StrEnum):
    """Which embedding model to use; see docs/evaluation.md for what each costs and finds."""

    E5_USE = "e5-use"
    E5 = "e5"
    USE = "use"
    MINILM = "minilm"
    HASH = "hash"
    OPENAI = "openai"


class Settings(BaseSettings):
    """Everything that can be set. Units are the last word of each name."""

    model_config = SettingsConfigDict(env_prefix="MEMORY_SERVICE_", extra="forbid", frozen=True)

    data_dir: Annotated[
        Path, Field(description="Folder of the embedded databases, the first key and converted models.")
    ] = Path("data")
    database_url: Annotated[
        SecretStr | None,
        Field(description="PostgreSQL with pgvector. Unset: an embedded one is started in the data folder."),
    ] = None
    migration_database_url: Annotated[
        SecretStr | None,
        Field(description="The same database as a role that may change its schema. Unset: database_url."),
    ] = None
    database_app_role: Annotated[
        str, Field(description="Role whose rights the service takes on; it owns no table.", max_length=63)
    ] = "memory_service_app"
    redis_url: Annotated[
        SecretStr | None,
        Field(description="Redis or Valkey. Unset: an embedded Valkey is started."),
    ] = None
    listen: Annotated[str, Field(description="Address of the gRPC API; port 0 takes a free one.")] = "127.0.0.1:50051"
    ops_listen: Annotated[
        str, Field(description="Address of /metrics, /livez and /readyz; port 0 takes a free one.")
    ] = "127.0.0.1:9464"
    tls_certificate: Annotated[Path | None, Field(description="PEM certificate chain; with tls_key, serves TLS.")] = (
        None
    )
    tls_key: Annotated[Path | None, Field(description="PEM private key of tls_certificate.")] = None
    auto_migrate: Annotated[
        bool | None, Field(description="Apply migrations at start. Unset: only on the embedded database.")
    ] = None
    embedder: Annotated[EmbedderName, Field(description="Embedding model.")] = EmbedderName.USE
    embedder_threads: Annotated[int, Field(description="Threads that embed.", ge=1, le=64)] = 1
    openai_base_url: Annotated[str, Field(description="Base of an OpenAI-compatible API, for embedder `openai`.")] = (
        ""
    )
    openai_api_key: Annotated[SecretStr | None, Field(description="Its key.")] = None
    openai_embedding_model: Annotated[str, Field(description="Its embedding model.")] = ""
    openai_embedding_dimension: Annotated[
        int, Field(description="Length of that model's vectors.", ge=0, le=8192)
    ] = 0
    unknown_predicates: Annotated[
        UnknownPredicates,
        Field(description="`refuse` predicates outside the vocabulary, or `map` them to general rules."),
    ] = UnknownPredicates.REFUSE
    merge_policies: Annotated[
        dict[str, dict[str, MergePolicy]],
        Field(
            description="What becomes of concurrent values where a tenant wants it otherwise, as JSON: "
            '`{"acme": {"location": "highest_confidence"}}`.'
        ),
    ] = {}
    session_idle_seconds: Annotated[
        float,
        Field(description="Turns and fields of a session nobody used for so long are released.", ge=1, le=86_400),
    ] = 1_800.0
    session_block_seconds: Annotated[
        float, Field(description="The state block of a session nobody used for so long is gone.", ge=1, le=2_592_000)
    ] = 86_400.0
    sessions_per_owner_max: Annotated[
        int, Field(description="Most sessions of one user that have not expired.", ge=1, le=1_000_000)
    ] = limits.SESSIONS_PER_OWNER_MAX_DEFAULT
    record_episodes: Annotated[
        bool, Field(description="Keep the turns of sessions in the episodic log, unless a session says otherwise.")
    ] = False
    record_episodes_of: Annotated[
        dict[str, bool],
        Field(description='The same for single tenants, as JSON: `{"acme": true}`.'),
    ] = {}
    memories_per_owner_max: Annotated[int, Field(description="Most memories of one user.", ge=1, le=10_000_000)] = (
        200_000
    )
    tau_hours: Annotated[
        dict[Kind, Annotated[float, Field(gt=0, le=876_000)]],
        Field(description='Decay constants by kind where they are to be others, as JSON: `{"preference": 1440}`.'),
    ] = {}
    access_gain: Annotated[float, Field(description="How much recalls slow the fading.", ge=0, le=10)] = 0.1
    adopted_gain: Annotated[
        float, Field(description="How much recalls that were of use slow the fading.", ge=0, le=10)
    ] = 0.5
    stretch_max: Annotated[float, Field(description="Most that use slows the fading.", ge=1, le=100)] = 4.0
    rejected_factor: Annotated[
        float, Field(description="What a recall of no use leaves of the strength.", gt=0, le=1)
    ] = 0.7
    archive_strength_min: Annotated[
        float, Field(description="Memories weaker than this are archived.", gt=0, lt=1)
    ] = 0.05
    archive_unused_days: Annotated[
        float, Field(description="Memories unused for longer are archived.", gt=0, le=36_500)
    ] = 180.0
    restated_confidence: Annotated[
        float, Field(description="Share of confidence left to what a newer statement restates; S8: 0.3.", gt=0, le=1)
    ] = 1.0
    observed_days: Annotated[
        float, Field(description="Guesses that nobody confirmed or recalled are archived.", gt=0, le=36_500)
    ] = 30.0
    weak_days: Annotated[
        float, Field(description="Memories of little confidence, never recalled, are archived.", gt=0, le=36_500)
    ] = 90.0
    weak_confidence: Annotated[float, Field(description="Confidence that is not little.", ge=0, le=1)] = 0.6
    activity_half_life_days: Annotated[
        float, Field(description="Half-life of a card's activity, and length of a period.", gt=0, le=36_500)
    ] = 30.0
    activity_min: Annotated[float, Field(description="Activity below which a card is idle.", gt=0, le=100)] = 20.0
    activity_periods: Annotated[
        int, Field(description="Idle periods after which a card is archived.", ge=0, le=1000)
    ] = 3
    promotion_sessions: Annotated[
        int, Field(description="Conversations in which a guess must be seen to become long-term.", ge=1, le=1000)
    ] = 3
    reactivation_discount: Annotated[
        float, Field(description="What is left of the confidence of a memory back from the archive.", gt=0, le=1)
    ] = 0.8
    replace_ratio: Annotated[
        float, Field(description="By how much a new value must exceed an old one's stubbornness.", gt=0, le=100)
    ] = 1.2
    stubborn_accesses: Annotated[
        int, Field(description="Accesses that make an old value as stubborn as it is certain.", ge=1, le=1000)
    ] = 3
    protected_accesses: Annotated[
        int, Field(description="Accesses beyond which only a correction replaces a value.", ge=0, le=1_000_000)
    ] = 5
    contested_days: Annotated[
        float, Field(description="Time after which a dispute is judged again.", gt=0, le=36_500)
    ] = 14.0
    contested_archive_days: Annotated[
        float, Field(description="Time after which an undecided dispute is archived.", gt=0, le=36_500)
    ] = 90.0
    cards_max: Annotated[
        int, Field(description="Most preferences, profile, constraints and procedures of one user; 0: any.", ge=0)
    ] = 300
    extracted_confidence_min: Annotated[
        float, Field(description="Extracted assertions given less confidence are refused; 0: none is.", ge=0, le=1)
    ] = 0.0
    consolidation_memories_min: Annotated[
        int, Field(description="Memories of a slot or topic that say the same and are merged into one.", ge=2, le=200)
    ] = 3
    cold_url: Annotated[
        SecretStr | None,
        Field(
            description="Where cold memories go: the URI of a folder or object store, shared by all servers. "
            "Unset: `cold` in the data folder."
        ),
    ] = None
    cold_after_days: Annotated[
        float, Field(description="Days that an archived memory stays hot once it is idle.", ge=0, le=36_500)
    ] = 30.0
    cold_read_bytes_max: Annotated[
        int, Field(description="Most bytes of cold storage that one deep recall reads.", ge=1 << 20)
    ] = 256 << 20
    llm_base_url: Annotated[
        str,
        Field(description="Base of an OpenAI-compatible chat API that words merged memories. Empty: rules alone do."),
    ] = ""
    llm_api_key: Annotated[SecretStr | None, Field(description="Its key.")] = None
    llm_model: Annotated[str, Field(description="Its model.")] = ""
    llm_seconds_max: Annotated[float, Field(description="Time for one call to it.", gt=0, le=600)] = 20.0
    llm_tries_max: Annotated[int, Field(description="Calls for one text in all.", ge=1, le=10)] = 3
    llm_tokens_per_day_max: Annotated[
        int, Field(description="Tokens a process may spend on it in a day; failed calls count in full.", ge=0)
    ] = 1_000_000
    l1_bytes_max: Annotated[int, Field(description="Memory for owner snapshots in this process.", ge=1 << 20)] = (
        512 << 20
    )
    staleness_seconds_max: Annotated[
        float, Field(description="How old a recall may be that asks for the lowest latency.", ge=0, le=60)
    ] = 1.0
    key_cache_seconds: Annotated[
        float, Field(description="How long a revoked key may still work on other replicas.", ge=0, le=60)
    ] = 2.0
    policy_refresh_seconds: Annotated[
        float,
        Field(
            description="How soon a tenant's change of vocabulary or parameters is in force everywhere.", gt=0, le=60
        ),
    ] = 1.0
    database_pool_max: Annotated[int, Field(description="Connections to PostgreSQL.", ge=2, le=200)] = 16
    database_acquire_seconds_max: Annotated[float, Field(description="Wait for a connection.", gt=0, le=60)] = 5.0
    statement_seconds_max: Annotated[float, Field(description="Time one SQL statement may take.", gt=0, le=600)] = (
        10.0
    )
    concurrent_rpcs_max: Annotated[int, Field(description="Requests worked on at once; more are refused.", ge=1)] = (
        512
    )
    drain_seconds_max: Annotated[
        float, Field(description="Time for open requests to end at shutdown.", ge=0, le=600)
    ] = 15.0
    watcher_seconds_max: Annotated[
        float, Field(description="Time a watcher or device may take to accept one message.", gt=0, le=600)
    ] = 30.0
    access_flush_seconds: Annotated[
        float, Field(description="How often use counts are written down.", gt=0, le=60)
    ] = 1.0
    worker: Annotated[
        bool, Field(description="Whether this process works on background jobs; off, others must (`worker`).")
    ] = True
    worker_jobs_max: Annotated[int, Field(description="Background jobs at once.", ge=2, le=64)] = 4
    worker_takeover_seconds: Annotated[
        float, Field(description="Silence after which a worker's jobs are handed to others.", ge=1, le=3600)
    ] = 30.0
    upkeep_tick_seconds: Annotated[
        float, Field(description="How often owners are looked at and what is due is enqueued.", gt=0, le=3600)
    ] = 5.0
    upkeep_owners_per_tick: Annotated[
        int, Field(description="Owners looked at each time, in turn.", ge=1, le=100_000)
    ] = 5_000
    log_level: Annotated[
        str, Field(description="debug, info, warning or error.", pattern="^(debug|info|warning|error)$")
    ] = "info"
    log_format: Annotated[LogFormat, Field(description="auto, text or json.")] = LogFormat.AUTO
    tenant: Annotated[str, Field(description="Tenant of the first key made in embedded mode.", max_length=256)] = (
        "default"
    )

    @field_validator("listen", "ops_listen")
    @classmethod
    def _address(cls, value: str) -> str:
        host, _, port = value.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65_535:
            raise ValueError("must have the form HOST:PORT, the port at most 65535")
        return value

    @field_validator("database_url", "migration_database_url", "redis_url")
    @classmethod
    def _url(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        # Said without the value, which may hold a password.
        schemes = _REDIS_SCHEMES if info.field_name == "redis_url" else _DATABASE_SCHEMES
        if value is not None and not value.get_secret_value().startswith(schemes):
            raise ValueError(f"must begin with {' or '.join(schemes)}")
        return value

    @field_validator("merge_policies")
    @classmethod
    def _policies(cls, value: dict[str, dict[str, MergePolicy]]) -> dict[str, dict[str, MergePolicy]]:
        for own in value.values():
            Vocabulary.of().with_policies(own)
        return value

    @model_validator(mode="after")
    def _blocks_outlive_turns(self) -> Self:
        if self.session_block_seconds < self.session_idle_seconds:
            raise ValueError("session_block_seconds must not be less than session_idle_seconds")
        return self

    @model_validator(mode="after")
    def _tls_is_whole(self) -> Self:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key go together: with one alone nothing would be encrypted")
        return self

    @model_validator(mode="after")
    def _llm_is_whole(self) -> Self:
        if self.llm_base_url and not self.llm_model:
            raise ValueError("llm_model must be named for the service at llm_base_url")
        return self

    @property
    def parameters(self) -> Parameters:
        """The parameters of the rules: those that are set here, and the defaults of the others."""
        names = {f.name for f in fields(Parameters)} & set(type(self).model_fields)
        return Parameters(memories_max=self.memories_per_owner_max, **{name: getattr(self, name) for name in names})

    @property
    def embedded_database(self) -> bool:
        """Whether an embedded PostgreSQL is to be started."""
        return self.database_url is None

    @property
    def embedded_redis(self) -> bool:
        """Whether an embedded Valkey is to be started."""
        return self.redis_url is None

    @property
    def migrates(self) -> bool:
        """Whether migrations are applied at start."""
        return self.embedded_database if self.auto_migrate is None else self.auto_migrate
