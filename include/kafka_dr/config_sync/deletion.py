"""Which changes of a topic's configuration make the standby delete records that it would keep as it is set now.

No plan makes such a change: one approval, or the topology, is not enough to delete application records. People who
agree on it set the value themselves.
"""

from __future__ import annotations

from kafka_dr.config_sync.policy import KeyClass, rank

CLEANUP = "cleanup.policy"
#: A smaller value of these deletes records sooner. Retention and compaction leave out the segment that is written to,
#: so what closes a segment sooner (``UnifiedLog.maybeRoll``) is among them.
_SOONER_IF_SMALLER = frozenset(
    {
        "retention.ms",
        "retention.bytes",
        "local.retention.ms",
        "local.retention.bytes",
        "delete.retention.ms",
        "min.compaction.lag.ms",
        "max.compaction.lag.ms",
        "min.cleanable.dirty.ratio",
        "segment.ms",
        "segment.bytes",
        "segment.index.bytes",
        "index.interval.bytes",
    }
)
#: A larger one of these does: the time that is taken off ``segment.ms``.
_SOONER_IF_LARGER = frozenset({"segment.jitter.ms"})
#: The value of these that may cost records: an election truncates logs; what is tiered away is deleted with its tier.
_COSTLY = {
    "unclean.leader.election.enable": "true",
    "remote.log.delete.on.disable": "true",
    "remote.storage.enable": "false",
}


def deletes(key: str, found: str | None, wanted: str) -> str:
    """Say why a change makes the standby delete records sooner than now; empty where it does not.

    :param found: the standby's effective value, its own or inherited
    """
    if key == CLEANUP:
        added = sorted(_policies(wanted) - _policies(found))
        return f"the standby would begin to {' and to '.join(added)} records" if added else ""
    if key in _COSTLY:
        return "the standby could lose records that it holds" if wanted == _COSTLY[key] != found else ""
    if key not in _SOONER_IF_SMALLER | _SOONER_IF_LARGER:
        return ""
    have, want = rank(key, found), rank(key, wanted)
    if have is None or want is None:
        return "it is not known whether the standby would delete records sooner than now"
    sooner = want > have if key in _SOONER_IF_LARGER else want < have
    return "the standby would delete records sooner than now" if sooner else ""


def by_hand(topic: str, key: str, wanted: str, kind: KeyClass) -> str:
    """Say how people accept a change that no plan makes, or keep the standby as it is.

    :param kind: what a difference in this key means
    """
    value = f"[{wanted}]" if "," in wanted else wanted
    command = f"kafka-configs --alter --entity-type topics --entity-name {topic} --add-config '{key}={value}'"
    keep = f"; or list {key} under config_sync.may_differ in the topology" if kind is KeyClass.MUST_MATCH else ""
    return f"No plan does that. If two people agree that these records may go, run on the standby: {command}{keep}"


def _policies(value: str | None) -> set[str]:
    return {each.strip() for each in (value or "").split(",")} - {""}
