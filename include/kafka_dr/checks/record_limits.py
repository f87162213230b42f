"""Whether the topics of a group may hold records that are too large for a flow: the first one stops it."""

from __future__ import annotations

from collections.abc import Collection

from kafka_dr.clusters import NotFound
from kafka_dr.outcomes import Check
from kafka_dr.replication.copy_settings import CopySettings, read_limits
from kafka_dr.runs.group_context import GroupContext

NAME = "records_fit"


def records_fit(context: GroupContext, cluster: str, topics: Collection[str] | None = None) -> Check:
    """Return whether a flow can copy every record that the topics of a cluster allow.

    :param topics: the group's topics there, where the caller knows them
    """
    names = context.topic_names(cluster) if topics is None else topics
    try:
        found = CopySettings.of(read_limits(context.operator(cluster), names))
    except NotFound:
        return Check(NAME, "unknown", f"a topic of {context.declared.name} was deleted on {cluster} in this moment")
    said = (
        f"the flow copies records up to {found.most_record_bytes:,} bytes before compression; max.message.bytes on "
        f"{cluster} is at most {found.largest:,}"
    )
    return Check(NAME, "warning" if found.sentence else "ok", found.sentence or said)
