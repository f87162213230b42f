"""The kinds of values that a topology is made of, and what all its sections have in common."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(gt=0, strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, strict=True)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]
ConnectionId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:\\/()#-]+$")]
TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")]
#: What a pattern may hold is in :mod:`kafka_dr.topology.patterns`. MirrorMaker puts commas between several.
TopicPattern = Annotated[str, Field(pattern=r"^[^\s,]{1,500}$")]
#: Kafka allows any text; a lone * is the wildcard of ACLs and blanks at the ends are slips of the pen.
ResourceName = Annotated[str, Field(pattern=r"^[^\s*](.*[^\s])?$")]
Principal = Annotated[str, Field(pattern=r"^User:[^\s*](.*[^\s])?$")]
BootstrapServers = Annotated[str, Field(pattern=r"^[^\s,:]+:\d{1,5}(,[^\s,:]+:\d{1,5})*$")]
StartStrategy = Literal["exact", "mm2_checkpoint", "timestamp", "at_time", "earliest", "latest"]
ConfigKey = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]*$")]
HttpAddress = Annotated[str, Field(pattern=r"^https?://[^\s/]+(/\S*)?$")]
#: An Ed25519 public key: the base64 of its DER form (RFC 8410), which is the one line in its PEM file.
PublicKey = Annotated[str, Field(pattern=r"^MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=$")]
#: It becomes part of a reference, ``${file:PATH:key}``.
WorkersPath = Annotated[str, Field(pattern=r"^/[^:{}\s]*[^/:{}\s]$")]
AbsolutePath = Annotated[str, Field(pattern=r"^/.*[^/]$")]


class Section(BaseModel):
    """A part of the topology: never changed after reading, and without room for unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")
