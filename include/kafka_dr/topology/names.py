"""Which Kafka names a protection group may hold, and how literal names and prefixes meet.

ACLs know no regular expressions, so a group names what it owns literally or by prefix; topics that it names by a
pattern are looked up on the clusters, and then named literally: see :mod:`kafka_dr.topology.patterns`.
"""

from __future__ import annotations

from collections.abc import Iterable

#: Topics that begin so belong to Kafka, to MirrorMaker or to this project, whatever a prefix says.
INTERNAL_TOPIC_PREFIXES = ("_kafka_dr.", "__", ".", "mm2")
INTERNAL_TOPIC_SUFFIX = ".checkpoints.internal"
#: MirrorMaker renames a topic with this ending even under identity naming, so that it can never be a copy.
RENAMED_TOPIC_SUFFIX = "heartbeats"
_CANARY_SUFFIX = ".dr-canary"
#: Groups and transactional ids that begin so are this project's own.
OWN_GROUP_PREFIXES = ("__", "dr-")
OWN_TRANSACTIONAL_ID_PREFIXES = ("kafka-dr-",)
#: Protection groups that drills make for themselves, in memory alone, begin so; so does everything that they create.
DRILL_PREFIX = "kafka-dr-drill-"


def is_internal_topic(name: str) -> bool:
    """Return whether a topic can belong to no protection group."""
    return name.startswith(INTERNAL_TOPIC_PREFIXES) or name.endswith(INTERNAL_TOPIC_SUFFIX)


def canary_topic_of(group: str) -> str:
    """Return the canary topic of a protection group, by its name."""
    return f"{group}{_CANARY_SUFFIX}"


def is_canary_topic(name: str) -> bool:
    """Return whether a topic is the canary topic of some protection group."""
    return name.endswith(_CANARY_SUFFIX)


def covers(name: str, *, literals: Iterable[str], prefixes: Iterable[str]) -> bool:
    """Return whether a name is among the literals or begins with one of the prefixes."""
    return name in literals or name.startswith(tuple(prefixes))


def reaches(name: str, reserved: Iterable[str], *, prefix: bool) -> str | None:
    """Return the reserved prefix that a name or prefix would reach into, or None.

    :param name: a literal name, or a prefix
    :param reserved: prefixes that belong to others
    :param prefix: whether the name is a prefix, which also meets every reserved one that is longer than itself
    """
    for other in reserved:
        if name.startswith(other) or (prefix and other.startswith(name)):
            return other
    return None
