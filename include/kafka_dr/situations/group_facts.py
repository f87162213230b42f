"""What is known of a group at one moment, as plain facts: read from kept results, or from the registers themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from kafka_dr.readiness.judge import ASKED
from kafka_dr.readiness.model import Answer, ReadyVerb
from kafka_dr.watch_results import OpenRun, RunningStep, WatchName, WatchOutcome

DrillState = Literal["", "running", "died", "overdue"]
FAILOVERS: tuple[ReadyVerb, ...] = ("planned_failover", "unplanned_failover")
#: A step takes longer than usual from this multiple of its usual time on, and by at least so many seconds.
_SLOW_TIMES, _SLOW_SECONDS = 3.0, 20.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What a watch says of a group.

    :param said: what was found, or why it is not known
    :param since: since when it says so, UTC; ``None`` if that is not known
    :param standbys: of several standbys those of which it says so; empty for a pair
    :param due: the watch had no reason to look yet, and looks by then; ``None`` if it should have looked
    """

    watch: WatchName
    outcome: WatchOutcome
    said: str
    since: datetime | None = None
    due: datetime | None = None
    standbys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """Everything that a judgement of a group is made from.

    :param at: the time of the judgement, UTC
    :param phase: of the register's record, as it was read last; empty if none was ever read
    :param active: the active cluster; empty if it is not known
    :param roles: of several standbys, the role of each; empty for a pair
    :param since: when the record was written, UTC
    :param adopted: ``False`` if every register answered, and none has a record
    :param late: since when the check of every minute has not looked; ``None`` if it looks
    :param mistake: registers that contradict each other, or a cluster that is another one; empty if there is none
    :param silent: the clusters that do not answer, and since when if that is known
    :param unheard: the clusters that did not answer although another one did, while this worker was too slow to call
        them silent, and since when if that is known
    :param answering: the clusters that answered, and since when if that is known
    :param down: why the topology's rule calls the active cluster down; empty if it does not
    :param half_moved: why no process continues a run that may hold the group; empty if one does
    :param moving: what a run of the group executes; a drill is none of its runs
    :param usual: how long its step took in earlier runs, in seconds; ``None`` if that is not known
    :param ended: when a run ended that no check has looked at since; ``None`` if there is none
    :param waiting: a run that waits for an answer
    :param refused: why the last failback since the record was refused, in one clause; empty if it was not
    :param needs_rebuild: whether that was because only a rebuild is possible
    :param unfenced: the clusters that lacked a part of their fence
    :param answers: whether each verb could start
    :param movable: of several standbys, those to which a planned failover could start
    :param immovable: those to which it could not
    :param why_not: the first finding that keeps a verb from starting, by the verb
    """

    group: str
    at: datetime
    phase: str = ""
    active: str = ""
    standby: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    run: str = ""
    verb: str = ""
    held: bool = False
    since: datetime | None = None
    adopted: bool = True
    late: datetime | None = None
    mistake: str = ""
    silent: Mapping[str, datetime | None] = field(default_factory=dict)
    unheard: Mapping[str, datetime | None] = field(default_factory=dict)
    answering: Mapping[str, datetime | None] = field(default_factory=dict)
    down: str = ""
    half_moved: str = ""
    moving: RunningStep | None = None
    usual: float | None = None
    ended: datetime | None = None
    waiting: OpenRun | None = None
    refused: str = ""
    needs_rebuild: bool = False
    unfenced: tuple[str, ...] = ()
    canary_lost: bool = False
    drill: DrillState = ""
    findings: tuple[Finding, ...] = ()
    answers: Mapping[ReadyVerb, Answer] = field(default_factory=dict)
    why_not: Mapping[ReadyVerb, str] = field(default_factory=dict)
    movable: tuple[str, ...] = ()
    immovable: tuple[str, ...] = ()

    @property
    def copies(self) -> tuple[str, ...]:
        """Of several standbys, those that hold the copy and are not silent."""
        heard = (name for name in self.roles if name not in self.silent and name not in self.unheard)
        return tuple(name for name in heard if self.roles[name] == "copy")

    @property
    def one_standby(self) -> str:
        """The standby of a pair; of several those that could be chosen: ``north or west``."""
        return " or ".join(self.copies or self.roles) or self.standby

    @property
    def pending(self) -> tuple[str, ...]:
        """Of several standbys, those to which nothing is copied yet while no run holds the group."""
        if self.phase not in ("stable", "unfenced", "diverged") or self.held:
            return ()
        return tuple(name for name, role in self.roles.items() if role == "pending")

    @property
    def diverged(self) -> tuple[str, ...]:
        """The standbys that a failback would make copies again."""
        named = tuple(name for name, role in self.roles.items() if role == "diverged")
        return named or ((self.standby,) if self.phase == "diverged" and not self.roles else ())

    @property
    def not_fenced(self) -> tuple[str, ...]:
        """The old clusters that are not proven to refuse writes."""
        named = tuple(name for name, role in self.roles.items() if role == "unfenced")
        return named or ((self.standby,) if self.phase == "unfenced" and not self.roles else ())

    @property
    def decides(self) -> str:
        """The cluster whose register decides about the run that holds the group."""
        taken = self.phase == "switching" and self.verb == "unplanned_failover"
        return self.standby if taken else self.active

    @property
    def seconds(self) -> float:
        """How long the step that runs has taken."""
        return (self.at - self.moving.began_at).total_seconds() if self.moving else 0.0

    @property
    def is_slow(self) -> bool:
        """Whether the step that runs takes longer than it usually does."""
        if self.usual is None:
            return False
        return self.seconds > max(_SLOW_TIMES * self.usual, self.usual + _SLOW_SECONDS)

    def failed(self, *watches: WatchName) -> Finding | None:
        """Return the first finding that needs a person, in the order of these watches; of all but readiness if none."""
        return self._first("failed", watches)

    @property
    def noted(self) -> Finding | None:
        """The first finding that needs a look and calls nobody."""
        return self._first("warning", ())

    @property
    def unknown(self) -> tuple[Finding, ...]:
        """What is not known although it should be. What is not due yet is not unknown."""
        found = (each for each in self.findings if each.outcome in ("unknown", "left_alone"))
        return tuple(each for each in found if each.due is None)

    @property
    def not_due(self) -> tuple[Finding, ...]:
        """What is not known yet, because nobody had a reason to look."""
        return tuple(each for each in self.findings if each.due is not None)

    @property
    def prevented(self) -> tuple[ReadyVerb, ...]:
        """The failovers that could not start now, or of which that is not known."""
        return tuple(each for each in FAILOVERS if self.answers.get(each) in ("not_ready", "unknown"))

    def _first(self, outcome: WatchOutcome, watches: tuple[WatchName, ...]) -> Finding | None:
        found = [each for each in self.findings if each.outcome == outcome]
        if not watches:
            return next((each for each in found if each.watch != ASKED), None)
        return next((each for name in watches for each in found if each.watch == name), None)
