"""How the register's two topics have to be set: a record that was acknowledged is never lost, and none expires."""

from __future__ import annotations

from collections.abc import Mapping

#: How long every former record is kept, so that a person can look at them: one week, in milliseconds.
_KEPT_MS = "604800000"
_FIXED: Mapping[str, str] = {
    "cleanup.policy": "compact",
    "max.message.bytes": "1048588",
    "min.compaction.lag.ms": _KEPT_MS,
    "retention.bytes": "-1",
    "retention.ms": "-1",
    "unclean.leader.election.enable": "false",
}
#: Of the topic of digests: of each path only the newest one counts, so former ones are compacted within hours.
_DIGESTS: Mapping[str, str] = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "retention.bytes": "-1",
    "retention.ms": "-1",
    "segment.ms": "3600000",
    "unclean.leader.election.enable": "false",
}
#: These may be larger: nothing is lost by it.
_AT_LEAST = frozenset({"max.message.bytes", "min.compaction.lag.ms", "min.insync.replicas"})
#: These may be smaller: former digests are only compacted sooner.
_AT_MOST = frozenset({"min.cleanable.dirty.ratio", "segment.ms"})


def settings(*, replicas: int, digests: bool = False) -> dict[str, str]:
    """Return what the register's topic is set to.

    :param replicas: with three, two have to have a record before it is acknowledged
    :param digests: of the second topic, which holds digests
    """
    return {**(_DIGESTS if digests else _FIXED), "min.insync.replicas": "2" if replicas >= 3 else "1"}


def unlike(
    found: Mapping[str, str | None], *, replicas: int, digests: bool = False
) -> dict[str, tuple[str | None, str]]:
    """Return the settings that are not as they have to be: what was found, and what is expected.

    :param found: the topic's effective configuration
    """
    wanted = settings(replicas=replicas, digests=digests)
    return {key: (found.get(key), value) for key, value in wanted.items() if not _is_good(key, found.get(key), value)}


def _is_good(key: str, found: str | None, wanted: str) -> bool:
    if key in _AT_LEAST:
        return found is not None and found.isdigit() and int(found) >= int(wanted)
    if key in _AT_MOST:
        return found is not None and float(found) <= float(wanted)
    return found == wanted
