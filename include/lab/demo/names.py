"""Copies with other names: a group moves to the target's own topics, and what a lost cluster alone held arrives late.

The topology of the lab says ``naming: default``, which is MirrorMaker's own policy; the applications subscribe to both
names. A planned failover, the loss of the active cluster, its return and the way back follow one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from lab.demo.airflow_rest import AirflowApi
from lab.demo.disaster import measured_before
from lab.demo.failover_run import FailoverRun
from lab.demo.run_evidence import RunEvidence
from lab.demo.standbys import MovedThenLost
from lab.demo.switch_times import PLANNED
from lab.invariants.continued import Handover, check_continued
from lab.invariants.late import check_late
from lab.invariants.model import InvariantResult, Observation


class NamesRehearsal(MovedThenLost):
    """Runs the demonstration of copies with other names in one lab."""

    _why = "to its own topics, so that it has read and written under both names"

    def _after_a_move(self, operator: AirflowApi, run: FailoverRun) -> None:
        """After a disaster there is no standby to wait for."""
        if run.verb == PLANNED:
            super()._after_a_move(operator, run)

    def _welcome(self, run: FailoverRun) -> None:
        """Nothing is copied to the lost cluster before a failback."""
        super()._welcome(run)
        self._wait_until_stopped(run.target, run.source)
        self._did(f"{run.target} is not copied to {run.source} before a failback")

    def _keeping(self, observation: Observation, runs: Sequence[FailoverRun]) -> tuple[InvariantResult, ...]:
        """Check as of other disasters, and late records and consumer groups in detail."""
        late = () if self._left is None else (check_late(observation, self._left),)
        return (*super()._keeping(observation, runs), *late, check_continued(observation, handovers(runs)))


def handovers(runs: Sequence[FailoverRun]) -> list[Handover]:
    """Return the moves among some runs, with what each one said that groups read again."""
    moves = [(run, run.approved_at.timestamp()) for run in runs if run.moved and run.approved_at]
    ends = [since for _, since in moves[1:]]
    return [
        Handover(run.source, run.target, since, until, None if run.verb == PLANNED else said_again(run.evidence))
        for (run, since), until in zip(moves, [*ends, inf], strict=True)
    ]


def said_again(evidence: RunEvidence) -> dict[str, int | None]:
    """Return how many records each group reads again at most, as the approvers were shown; ``None``: not known."""
    return {row["group"]: row["redelivered_at_most"] for row in measured_before(evidence).get("groups", ())}
