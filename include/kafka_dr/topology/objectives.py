"""What a protection group has to achieve."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kafka_dr.topology.fields import Seconds, Section


class Objectives(Section):
    """What the protection group has to achieve."""

    rpo_seconds: Seconds = Field(description="how much of the newest data a disaster may take, in seconds")
    rto_seconds: Seconds = Field(description="how long it may take until traffic is verified, in seconds; see rto_from")
    rto_from: Literal["fault", "approval"] = Field(
        default="fault",
        description="what rto_seconds counts from. fault: the last moment when the service was seen to work; approval: "
        "the last approval, so without the time that detection and people take",
    )
    write_outage_seconds: Seconds = Field(
        description="how long writes may be refused in a planned failover, in seconds"
    )
    tried_every_days: Annotated[int, Field(ge=1, le=3650, strict=True)] | None = Field(
        default=None, description="after how many days without a failover, or a drill that passed, readiness warns"
    )
