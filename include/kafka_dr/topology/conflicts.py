"""What a block declares of conflicts: which record counts, and which member owns, and has made, which records."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kafka_dr.topology.fields import Name, Section

Strategy = Literal["last_write_wins", "source_priority", "merge", "custom", "keep_both"]
HeaderName = Annotated[str, Field(min_length=1)]


class HashSlots(Section):
    """Members by a hash of the key."""

    function: Literal["murmur2", "crc32"] = Field(
        default="murmur2",
        description="the hash of the key: murmur2 as Kafka's Java producers compute it, without its sign; or CRC-32",
    )
    slots: Annotated[tuple[Name, ...], Field(min_length=1)] = Field(
        description="the owner by the remainder of hash and number of slots, that of 0 first"
    )


class OwnershipSpec(Section):
    """Which member may write a record: of the rules, in this order, the first one that names a member counts."""

    by_header: HeaderName | None = Field(default=None, description="the header whose value names the owner")
    by_key_prefix: dict[str, Name] = Field(
        default_factory=dict, description="the owner by the beginning of the key; the longest that matches counts"
    )
    by_partition: tuple[Name, ...] = Field(default=(), description="the owner by partition, that of 0 first")
    by_hash: HashSlots | None = Field(default=None, description="the owner by a hash of the key")


class ProvenanceSpec(Section):
    """What in each record says which member took it first."""

    origin: HeaderName = Field(default="origin-dc", description="the header whose value names that member")
    field: str | None = Field(
        default=None,
        pattern=r"^[^.\s]+(\.[^.\s]+)*$",
        description="instead of that header: the field of JSON values that names it, a.b for one inside another",
    )
    required: tuple[HeaderName, ...] = Field(
        default=("origin-timestamp", "origin-producer"), description="further headers that each record has"
    )
    names: dict[str, Name] = Field(
        default_factory=dict, description="members by what records call them, where that is not their name"
    )
    replicator_headers: tuple[HeaderName, ...] = Field(
        default=(), description="headers that only a replicator writes, so no record of a member's own log has them"
    )


class ConflictsSpec(Section):
    """How records of one key are compared that several members took."""

    skew_ms: Annotated[int, Field(ge=0, le=3_600_000, strict=True)] = Field(
        description="how far any two clocks may differ that give times: those of producers, brokers and of this project"
    )
    strategy: Strategy = Field(default="last_write_wins", description="which value of a key counts")
    priority: tuple[Name, ...] = Field(
        default=(), description="of source_priority: the member that counts most first; others follow as declared"
    )
    custom: Annotated[str, Field(pattern=r"^\w+(\.\w+)*:\w+$")] | None = Field(
        default=None, description="of custom: the Python function that decides, as MODULE:NAME"
    )
    keys: Literal["hashed", "plain"] = Field(
        default="hashed", description="how reports name keys: by a digest, or as they are"
    )
    ownership: OwnershipSpec | None = Field(
        default=None, description="which member may write which records; left out, each may write all"
    )
    provenance: ProvenanceSpec | None = Field(
        default=None, description="what records say of their origin; left out, it is not looked at"
    )

    @property
    def needs_values(self) -> bool:
        """Whether values are compared, and so kept from audit to audit."""
        return self.strategy in ("merge", "custom")

    @property
    def kept_form(self) -> str:
        """What is kept of keys and values: an audit cannot continue from another form."""
        return f"{self.keys}, with values" if self.needs_values else self.keys
