"""The watches: which DAG looks, how often, and what question each of them answers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

#: How closely a group is watched. ``health`` looks at every group each minute, whatever its pace: it fences.
Pace = Literal["quick", "normal", "idle"]

WatchName = Literal[
    "health", "readiness", "canary", "flows", "lag", "checksum", "offsets", "config_sync", "offset_syncs",
    "observation", "stretch", "conflicts",
]  # fmt: skip

#: The least time for which a result counts: a watch of every minute may be late by one start of a worker.
_AT_LEAST = timedelta(minutes=3)


@dataclass(frozen=True, slots=True)
class Watch:
    """A DAG that looks at every protection group, observed flow, stretch cluster or block of members, on a schedule.

    :param every: the time between two looks at a group with the pace ``normal``
    :param question: what it answers, for people
    :param quick: the same for ``quick``; ``None``: as for ``normal``
    :param idle: the same for ``idle``; ``None``: as for ``normal``
    :param begins: how long after each full interval it looks. The watches do not look at the same time, so that an hour
        does not begin with all of them, two Spark applications included, next to somebody's failover
    """

    name: WatchName
    dag_id: str
    every: timedelta
    question: str
    quick: timedelta | None = None
    idle: timedelta | None = None
    begins: timedelta = timedelta(0)

    def paced(self, pace: Pace) -> timedelta:
        """Return the time between two looks at a group."""
        return {"quick": self.quick, "normal": self.every, "idle": self.idle}[pace] or self.every

    def is_due(self, pace: Pace, looked_at: datetime | None, now: datetime) -> bool:
        """Return whether a group is looked at now: once in each interval, counted from ``begins`` after midnight UTC.

        :param looked_at: when the last look ended; ``None`` if there was none
        """
        every, begins = self.paced(pace).total_seconds(), self.begins.total_seconds()
        return looked_at is None or (looked_at.timestamp() - begins) // every != (now.timestamp() - begins) // every

    def cron(self, paces: Collection[Pace]) -> str:
        """Return the schedule of the DAG: that of the group which is watched most closely.

        :param paces: of all groups; empty if they are not known
        """
        minutes = _in_minutes(min(map(self.paced, paces or ("normal",))))
        first = _in_minutes(self.begins) % minutes
        hours = minutes // 60
        if hours:
            return f"{first} * * * *" if hours == 1 else f"{first} */{hours} * * *"
        return "* * * * *" if minutes == 1 else f"{f'{first}-59' if first else '*'}/{minutes} * * * *"


def believed_for(every: timedelta) -> timedelta:
    """Return for how long a result is believed: three looks.

    :param every: the time between two of them
    """
    return max(3 * every, _AT_LEAST)


def _minutes(number: int) -> timedelta:
    return timedelta(minutes=number)


def _in_minutes(time: timedelta) -> int:
    return int(time.total_seconds()) // 60


#: Of protection groups, in the order in which a person wants to read them.
WATCHES: dict[WatchName, Watch] = {
    watch.name: watch
    for watch in (
        Watch("health", "dr_health", _minutes(1), "Is each cluster in the role that the register says?"),
        Watch(
            "readiness", "dr_readiness", _minutes(10), "Could we fail over now?", idle=_minutes(60), begins=_minutes(6)
        ),
        Watch("canary", "dr_canary", _minutes(1), "Do records arrive, and how fast?", idle=_minutes(5)),
        Watch("flows", "dr_flows", _minutes(5), "Does the replication run?", _minutes(1), _minutes(15), _minutes(1)),
        Watch("lag", "dr_lag_audit", _minutes(5), "How far is the copy, and does the lag grow?", idle=_minutes(10)),
        Watch(
            "checksum",
            "dr_checksum_audit",
            _minutes(15),
            "Is the copy equal, record by record?",
            idle=_minutes(30),
            begins=_minutes(3),
        ),
        Watch(
            "offsets",
            "dr_offsets",
            _minutes(30),
            "Where would each consumer group resume?",
            idle=_minutes(120),
            begins=_minutes(9),
        ),
        Watch(
            "config_sync",
            "dr_config_sync",
            _minutes(10),
            "Is the standby configured to take over?",
            quick=_minutes(5),
            idle=_minutes(60),
            begins=_minutes(4),
        ),
        Watch(
            "offset_syncs",
            "dr_offset_syncs",
            _minutes(5),
            "Is every offset sync archived?",
            idle=_minutes(15),
            begins=_minutes(2),
        ),
    )
}
#: Of observed flows: replication that somebody else runs.
OBSERVATION = Watch(
    "observation", "dr_observe", _minutes(360), "What would a failover by this replication cost?", begins=_minutes(12)
)
#: Of stretch clusters.
STRETCH = Watch("stretch", "dr_stretch", _minutes(60), "What would the loss of a site do?", begins=_minutes(14))
#: Of blocks of active-active use.
CONFLICTS = Watch(
    "conflicts", "dr_conflict_audit", _minutes(60), "Did members write the same keys unseen?", begins=_minutes(11)
)
#: Of anything.
ALL_WATCHES: dict[WatchName, Watch] = {**WATCHES, **{each.name: each for each in (OBSERVATION, STRETCH, CONFLICTS)}}
#: Those that compare a flow as a whole, and name it in their result.
AUDITS: frozenset[WatchName] = frozenset({"lag", "checksum"})
#: Those that are not about what a group replicates: health reads the register, and readiness is judged by it.
OF_THE_GROUP: frozenset[WatchName] = frozenset({"health", "readiness", "observation", "stretch", "conflicts"})
