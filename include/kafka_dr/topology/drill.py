"""How the failovers of a protection group are practised: by which principal, who approves, how often, and when."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kafka_dr.topology.fields import ConnectionId, Count, Name, Principal, Seconds, Section

#: The failovers that can be practised.
DrillKind = Literal["planned", "unplanned"]
#: Days of the week and hours, in UTC: ``Mon-Fri 09:00-16:00``. The end is after the beginning, on the same day.
_DAY = "(Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_HOUR = "([01][0-9]|2[0-3]):[0-5][0-9]"
DrillWindow = Annotated[str, Field(pattern=rf"^{_DAY}(-{_DAY})? {_HOUR}-({_HOUR}|24:00)$")]


class DrillSpec(Section):
    """The principal of a drill, who approves its steps, and when it may run by itself."""

    principal: Principal = Field(
        description="the principal that a drill writes and reads as; a drill gives it its rights and takes them back"
    )
    connections: dict[Name, ConnectionId] = Field(
        description="the connection id of that principal, by the name of each cluster of the group"
    )
    approval: Literal["person", "automatic"] = Field(
        default="person",
        description="who approves the steps of a drill: person, the approver who triggers it, or automatic, nobody",
    )
    every_days: Annotated[int, Field(ge=1, le=3650, strict=True)] | None = Field(
        default=None, description="after how many days the next drill begins by itself, in a window; never if left out"
    )
    kinds: Annotated[tuple[DrillKind, ...], Field(min_length=1)] = Field(
        default=("planned",), description="which failovers such drills practise: planned, unplanned; taken in turns"
    )
    windows: tuple[DrillWindow, ...] = Field(
        default=(), description="when drills may begin, in UTC, such as Mon-Fri 09:00-16:00; at any time if left out"
    )
    topics: Annotated[int, Field(ge=1, le=100, strict=True)] = Field(
        default=2, description="how many topics a drill makes, at most 100"
    )
    partitions: Annotated[int, Field(ge=1, le=100, strict=True)] = Field(
        default=3, description="how many partitions each of them has, at most 100"
    )
    records_per_second: Count = Field(default=50, description="how many records a drill writes each second")
    load_seconds: Seconds = Field(
        default=30,
        description="how long it writes before a failover; a loss is measured up to this age",
    )
