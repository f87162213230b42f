"""One task looks at all protection groups that are due; each red group gets a short task that shows it."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, NotRequired, TypedDict

from airflow.sdk import Asset, BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from kafka_dr.counted import counted
from kafka_dr.quoting import inline, line
from kafka_dr.watch_results import WATCHES, WatchName
from kafka_dr_airflow.links import AuditLink
from kafka_dr_airflow.operators.kept_results import keep_round, paces_of, results_of
from kafka_dr_airflow.operators.parameters import FirstTask
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.operators.readiness_again import outdated_groups
from kafka_dr_airflow.operators.run_types import is_scheduled, run_type
from kafka_dr_airflow.run_note import leave_note, next_step
from kafka_dr_airflow.topology_file import read_topology

if TYPE_CHECKING:
    from kafka_dr.rounds.round import Round
    from kafka_dr.runs.at_rest import WatchResult
    from kafka_dr.topology.model import Topology

#: Updated when a look of health has ended and readiness was judged again: what changed is sent then.
HEALTH_LOOKED = Asset(name="kafka-dr health looked", uri="kafka-dr://health/looked")
#: Updated when a look of health finds that a run has ended, or that all is well again, since the clusters were asked,
#: and when a drill was removed: they are asked again then.
RUN_ENDED = Asset(name="kafka-dr run ended", uri="kafka-dr://run/ended")
#: A cluster that returned accepts writes until such a task has run, so only the steps of a failover go first. The next
#: run starts when all tasks of this one have ended, so a round may take no longer than most of a minute.
SOON: dict[str, Any] = {"priority_weight": 500, "weight_rule": "absolute"}
#: Of a task for one group that acts within the same minute.
WITHIN_THE_MINUTE: dict[str, Any] = {
    **SOON,
    "map_index_template": "{{ task.protection_group }}",
    "retries": 0,
    "execution_timeout": timedelta(seconds=55),
}
#: Of a task for each red group. It only shows what is known: everything that looks or acts goes first.
PER_RED_GROUP: dict[str, Any] = {
    "map_index_template": "{{ task.protection_group }}",
    "retries": 0,
    "execution_timeout": timedelta(minutes=1),
    "priority_weight": 1,
    "weight_rule": "absolute",
}
#: How many red groups get a task of their own. A cluster that is down makes all its groups red at once, and a failover
#: needs the worker.
RED_LINES = 10
#: How many names a note has.
_NAMED = 20


class RedGroup(TypedDict):
    """What the tasks after a round get to know of a group.

    :param red: whether it has a line of its own
    :param proposes: whether a failover of it is to be proposed, or a proposal to be withdrawn
    :param asks: whether somebody has to be asked about it
    :param report: where the report of the look is, below the evidence root
    """

    protection_group: str
    outcome: str
    sentences: list[str]
    red: bool
    proposes: bool
    asks: bool
    report: NotRequired[str]


class RoundOperator(FirstTask):
    """Looks at every group that is due, in a few child processes at the same time, and keeps what was found of each.

    It is green if it had a result for every group, whatever the results are: *unknown* is one. It returns the groups
    that need a task of their own.
    """

    ui_color = "#dfeedd"
    #: Under which name the results are kept.
    watch: ClassVar[WatchName]
    #: Where the look at one group is, as ``module:function``.
    look: ClassVar[str]

    def __init__(self, **kwargs: Any) -> None:
        defaults = {"task_id": "look", "retries": 0, "execution_timeout": timedelta(seconds=self.seconds + 5)}
        super().__init__(**{**defaults, **kwargs})

    @property
    @abstractmethod
    def seconds(self) -> float:
        """How long a round may take."""

    def at_its_limit(self) -> str:
        """Say what is known of groups whose round was ended, and what to do."""
        return (
            "its groups are unknown; the next run looks again. If that happens again, look at the load of this worker"
        )

    @fails_plainly
    def execute(self, context: Any) -> list[RedGroup]:
        """Look, show and keep what was found, and return the groups that need a task of their own."""
        with plain_errors():
            topology = read_topology(os.environ)
        groups = self.due(topology, context)
        if not groups:
            raise AirflowSkipException("no group is due")
        return shown_rows(self.log, context, self.looked_and_kept(topology, groups, context))

    def looked_and_kept(
        self, topology: Topology, groups: Collection[str], context: Any, *, seconds: float | None = None
    ) -> Mapping[str, WatchResult]:
        """Look at groups, and keep what was found of each.

        :param seconds: how long that may take, if not as long as a round
        """
        wanted = self.round_of(topology, groups, context, look=self.look, seconds=seconds or self.seconds)
        found = self.looked_at(wanted, groups, heard=self._show)
        keep_round(self.log, context, topology, watch=self.watch, found=found.values())
        return found

    def due(self, topology: Topology, context: Any) -> list[str]:
        """Return the groups whose pace asks for a look now; every group if the run was not started by the schedule."""
        return due_groups(self.log, topology, self.watch, context)

    def settings(self, context: Any) -> dict[str, Any]:
        """Return what the look needs to know of the run."""
        return {}

    def round_of(
        self,
        topology: Topology,
        groups: Collection[str],
        context: Any,
        *,
        look: str,
        seconds: float,
        settings: dict[str, Any] | None = None,
    ) -> Round:
        """Return what a round at groups needs, the connections among it.

        :param look: where the look at one group is
        :param seconds: how long it may take
        :param settings: what the look needs to know, if not what it always does
        """
        from kafka_dr.rounds.access_data import AccessData
        from kafka_dr.rounds.round import Round, RoundLimits
        from kafka_dr_airflow.hooks.connections import from_airflow
        from kafka_dr_airflow.people.asking import people_of
        from kafka_dr_airflow.topology_file import evidence_root

        with plain_errors():
            return Round(
                look,
                topology,
                AccessData.read(topology, groups, from_airflow),
                evidence_root(topology.evidence),
                context["run_id"],
                RoundLimits(seconds - 2, seconds),
                self.settings(context) if settings is None else settings,
                people_of,
            )

    def looked_at(
        self, wanted: Round, groups: Collection[str], *, heard: Callable[[WatchResult], None] = lambda _: None
    ) -> Mapping[str, WatchResult]:
        """Return a result for each group.

        :param heard: called with each result as soon as it is known
        """
        from kafka_dr.clock import SystemClock
        from kafka_dr.rounds.round import look_at_groups

        with plain_errors():
            return look_at_groups(wanted, groups, clock=SystemClock(), heard=heard)

    def _show(self, found: WatchResult) -> None:
        for sentence in (*found.facts.get("_plan", ()), *found.sentences):
            self.log.info("%s: %s: %s", line(found.group), found.outcome, line(sentence))
        if report := found.facts.get("report"):
            self.log.info("%s: its report: /kafka-dr/%s", line(found.group), str(report).removesuffix("/report.json"))


class CanaryRound(RoundOperator):
    """Sends canary records through the flows of the groups and judges how they arrive."""

    watch, look = "canary", "kafka_dr.rounds.looks:canary"
    seconds = 50.0


class FlowsRound(RoundOperator):
    """Compares the flows with what the register requires, corrects them, and checks that they make progress."""

    watch, look = "flows", "kafka_dr.rounds.looks:flows"
    seconds = 240.0


class OffsetSyncsRound(RoundOperator):
    """Archives the offset syncs between the clusters of the groups; once a day it removes what has expired."""

    watch, look = "offset_syncs", "kafka_dr.rounds.looks:offset_syncs"
    seconds = 240.0


class OffsetsRound(RoundOperator):
    """Shows where each consumer group would resume if the switch were now, and writes a report for each group."""

    watch, look = "offsets", "kafka_dr.rounds.looks:offsets"
    seconds = 600.0


class ReadinessRound(RoundOperator):
    """Asks every verb whether it could be used now: its checks without their waits, and what no other watch asks."""

    watch, look = "readiness", "kafka_dr.rounds.looks:readiness"
    seconds = 240.0

    def settings(self, context: Any) -> dict[str, Any]:
        """Return how Airflow is set here, where the steps of every verb run."""
        from kafka_dr.rounds.looks import EXECUTOR
        from kafka_dr_airflow.airflow_settings import judged_with_api

        return {EXECUTOR: [(check.name, check.outcome, check.detail) for check in judged_with_api()]}

    def due(self, topology: Topology, context: Any) -> list[str]:
        """Return the groups that a run or a drill has outdated, if the end of one is why this run was started."""
        if run_type(context["dag_run"]) == "asset_triggered":
            return outdated_groups(topology)
        return super().due(topology, context)


class RedGroupOperator(BaseOperator):
    """Shows what a round found of a red group, and is red. It asks no cluster.

    :param row: what the round said of the group
    """

    ui_color = "#f4dbe4"
    operator_extra_links = (AuditLink(),)

    def __init__(self, *, row: RedGroup, **kwargs: Any) -> None:
        super().__init__(**{**PER_RED_GROUP, **kwargs})
        self.row = row
        self.protection_group = row["protection_group"]
        self.report_path = row.get("report", "")

    @fails_plainly
    def execute(self, context: Any) -> None:
        """Show it, and fail."""
        if not self.row["red"]:
            raise AirflowSkipException(f"{self.protection_group} is not red, or has no line of its own: see look")
        for sentence in self.row["sentences"]:
            self.log.info("%s", line(sentence))
        raise AirflowException(line(f"{self.protection_group} is {self.row['outcome']}: {_joined(self.row)}"))


def due_groups(logger: Any, topology: Topology, watch: WatchName, context: Any) -> list[str]:
    """Return the groups and observed flows that a watch looks at now; all if the schedule did not start the run.

    :param logger: of the task
    """
    paces, now = paces_of(topology, watch), datetime.now(UTC)
    if not is_scheduled(context["dag_run"]):
        return sorted(paces)
    known = results_of(logger, topology, watch)
    looked = {name: known[name].looked_at if name in known else None for name in paces}
    return sorted(name for name, pace in paces.items() if WATCHES[watch].is_due(pace, looked[name], now))


def shown_rows(logger: Any, context: Any, found: Mapping[str, WatchResult]) -> list[RedGroup]:
    """Say which groups are red, in the log and in the note of the run, and return those that need a task.

    :param logger: of the task
    :param found: what was found of each group
    """
    red = [name for name in sorted(found) if found[name].outcome in ("failed", "unknown")]
    logger.info("%s", _summary(found, red))
    if red:
        leave_note(logger, context, _note(found, red), then=next_step(logger, red))
    return rows(found.values(), red=red)


def rows(found: Iterable[WatchResult], *, red: Collection[str], lines: int = RED_LINES) -> list[RedGroup]:
    """Return the groups that need a task: the red ones, and those with a proposal or a question.

    :param red: the red groups, in the order in which they are shown
    :param lines: how many of them have a line of their own; one more line names the others
    """
    from kafka_dr.rounds.looks import ASKS, PROPOSES

    shown = set(list(red)[:lines])
    made = [
        RedGroup(
            protection_group=each.group,
            outcome=each.outcome,
            sentences=list(each.sentences),
            red=each.group in shown,
            proposes=bool(each.facts.get(PROPOSES)),
            asks=bool(each.facts.get(ASKS)),
            report=str(each.facts.get("report") or ""),
        )
        for each in sorted(found, key=lambda each: each.group)
    ]
    kept = [row for row in made if row["red"] or row["proposes"] or row["asks"]]
    if others := [name for name in red if name not in shown]:
        said = f"{len(others)} more groups are red, and the log of look says why: {', '.join(others)}"
        kept.append(
            RedGroup(
                protection_group=f"{len(others)} more",
                outcome="failed",
                sentences=[said],
                red=True,
                proposes=False,
                asks=False,
            )
        )
    return kept


def _joined(row: RedGroup) -> str:
    return "; ".join(row["sentences"])


def _summary(found: Mapping[str, Any], red: Collection[str]) -> str:
    if not red:
        return f"{counted(len(found), 'group')}, none is red"
    return f"{counted(len(found), 'group')}, {len(red)} red: {', '.join(red)}"


def _note(found: Mapping[str, WatchResult], red: Collection[str]) -> str:
    names = list(red)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    half = [f"HALF MOVED: {inline(said)}. " for each in found.values() if (said := each.facts.get("half_moved"))]
    return f"{''.join(half)}{len(names)} of {len(found)} groups red: {', '.join(map(inline, names[:_NAMED]))}{more}"
