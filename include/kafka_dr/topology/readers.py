"""Who reads a protection group's topics: how consumer groups are moved, and who is not moved."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime, Field

from kafka_dr.topology.fields import Principal, ResourceName, Seconds, Section, StartStrategy
from kafka_dr.topology.names import covers

#: Which positions begin at a chosen time: all of them, or only those that cannot be translated.
BeginPositions = Literal["unknown", "all"]


class GroupsPolicy(Section):
    """What to do with consumer groups that cannot simply be moved."""

    live_members: Literal["refuse", "wait"] = Field(
        default="refuse", description="when a group already has live members on the target: refuse or wait"
    )
    unknown_offsets: Literal["refuse", "earliest", "timestamp", "at_time"] = Field(
        default="refuse",
        description="when a position cannot be translated: refuse, earliest to read all again, timestamp to begin "
        "at the time of the first unread record, less timestamp_margin_seconds, or at_time to begin at start_time",
    )
    other_topics: Literal["refuse", "leave_out"] = Field(
        default="refuse",
        description="when a consumer group also reads topics that are not the protection group's: refuse, or leave_out "
        "to move it without its positions there",
    )
    start: StartStrategy = Field(
        default="exact",
        description="where groups resume: exact, mm2_checkpoint, timestamp, at_time (start_time), earliest, or latest; "
        "at_time and latest may skip records",
    )
    start_time: AwareDatetime | None = Field(
        default=None, description="the time, with its zone, at whose first record at_time begins"
    )
    start_of: dict[ResourceName, StartStrategy] = Field(
        default_factory=dict, description="the same for single consumer groups, by their whole name"
    )
    timestamp_margin_seconds: Seconds = Field(
        default=60, description="how long before the first unread record a group begins that starts by timestamp"
    )
    external_offsets: tuple[ResourceName, ...] = Field(
        default=(), description="consumers that keep their positions outside Kafka: the map is exported for them"
    )
    not_moved: tuple[ResourceName, ...] = Field(
        default=(), description="share groups and Kafka Streams applications that are known to need more than offsets"
    )
    streams_moved: tuple[ResourceName, ...] = Field(
        default=(),
        description="Kafka Streams applications that move with their state: their internal topics are this group's, "
        "and their owners delete state.dir before they start on the other cluster",
    )

    reads_both_names: tuple[ResourceName, ...] = Field(
        default=(),
        description="with flow.naming default: consumer groups that subscribe to topics and to their copies' names, "
        "where neither members nor positions show it",
    )

    def beginning(self, at: datetime, positions: BeginPositions) -> GroupsPolicy:
        """Return the same policy with the start that a requester chose for all consumer groups."""
        every = {"start": "at_time", "start_of": {}} if positions == "all" else {}
        return self.model_copy(update={"start_time": at, "unknown_offsets": "at_time", **every})

    def start_for(self, group: str) -> StartStrategy:
        """Return where a consumer group resumes."""
        return self.start_of.get(group, self.start)


class ReadersSpec(Section):
    """Who reads the group's topics, and neither moves with it nor is stopped by its fence."""

    undeclared: Literal["warn", "refuse"] = Field(
        default="warn",
        description="what somebody who may read, or does, and is declared nowhere makes of a failover: warn, or refuse",
    )
    principals: tuple[Principal, ...] = Field(
        default=(), description="principals that read these topics and stay where they are, such as User:lake-loader"
    )
    consumer_groups: tuple[ResourceName, ...] = Field(
        default=(), description="consumer groups that read these topics and are not moved, by their whole name"
    )
    consumer_group_prefixes: tuple[ResourceName, ...] = Field(
        default=(), description="such consumer groups by the beginning of their name"
    )

    def knows_group(self, name: str) -> bool:
        """Return whether a consumer group is known to read here."""
        return covers(name, literals=self.consumer_groups, prefixes=self.consumer_group_prefixes)
