"""Where the proof of every run is kept, and for how long."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from kafka_dr.topology.fields import ConnectionId, Section

_Days = Annotated[int, Field(ge=1, le=36_500, strict=True)]


class RetentionSpec(Section):
    """For how long is kept what names people, or holds their data. Without a number it stays."""

    payloads_days: _Days | None = Field(
        default=None,
        description="after how many days the content of kept stranded records is erased, once the failback has ended",
    )
    runs_days: _Days | None = Field(
        default=None, description="after how many days the evidence of a sealed run is removed; its seals stay"
    )

    @property
    def rules(self) -> dict[str, timedelta]:
        """The rules that are declared: how long, by the name of the key."""
        declared = {"payloads_days": self.payloads_days, "runs_days": self.runs_days}
        return {name: timedelta(days=days) for name, days in declared.items() if days is not None}


class EvidenceSpec(Section):
    """Where the proof of every run is kept."""

    root: Annotated[str, Field(pattern=r"^(/|[a-z][a-z0-9+.-]*://)\S+$")] = Field(
        description="a URI or an absolute path, outside every datacenter that the evidence is to outlive"
    )
    signing_connection: ConnectionId | None = Field(
        default=None, description="the connection id of the key that signs every sealed run; not signed without it"
    )
    encryption_connection: ConnectionId | None = Field(
        default=None,
        description="the connection id of the key that encrypts kept stranded records; not encrypted without it",
    )
    retention: RetentionSpec = Field(
        default_factory=RetentionSpec, description="for how long runs and kept stranded records are kept"
    )
    access_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        default=10.0,
        description="how long one access may take before it is left alone; a file has 1 s more for every 4 MiB",
    )
