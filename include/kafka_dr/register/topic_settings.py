"""How the register's topic has to be set: a record that was acknowledged is never lost, and none expires."""

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
#: These may be larger: nothing is lost by it.
_AT_LEAST = frozenset({"max.message.bytes", "min.compaction.lag.ms", "min.insync.replicas"})


def settings(*, replicas: int) -> dict[str, str]:
    """Return what the register's topic is set to.

    :param replicas: with three, two have to have a record before it is acknowledged
    """
    return {**_FIXED, "min.insync.replicas": "2" if replicas >= 3 else "1"}


def unlike(found: Mapping[str, str | None], *, replicas: int) -> dict[str, tuple[str | None, str]]:
    """Return the settings that are not as they have to be: what was found, and what is expected.

    :param found: the topic's effective configuration
    """
    wanted = settings(replicas=replicas)
    return {key: (found.get(key), value) for key, value in wanted.items() if not _is_good(key, found.get(key), value)}


def _is_good(key: str, found: str | None, wanted: str) -> bool:
    if key in _AT_LEAST:
        return found is not None and found.isdigit() and int(found) >= int(wanted)
    return found == wanted
