"""The last step of every verb: measure, and seal the evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_dr.outcomes import Check
from kafka_dr.runs.request import STAY
from kafka_dr.runs.run import Run

Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReportStep:
    """The report of a verb. The runner seals the evidence after it.

    :param says: what it measures, as it begins a sentence
    :param measured: from the journal and the logs: the figures that are journaled, and what the report shows with them
    :param proves: what has to hold in the end, but for the figures themselves
    """

    says: str
    measured: Callable[[Run], tuple[Figures, Figures]]
    proves: Callable[[Run], Sequence[Check]] = lambda _: ()

    def intent(self, _: Run) -> Sequence[str]:
        """Say what acting means."""
        return (f"{self.says}, and seal the evidence",)

    def act(self, run: Run) -> Figures:
        """Measure, and journal the figures where the group is active."""
        figures, shown = self.measured(run)
        run.write_fact("measured", figures, needed_on=[_active(run)])
        return {**figures, **shown}

    def prove(self, run: Run) -> Sequence[Check]:
        """The figures are in the journal, and what has to hold in the end does."""
        active = _active(run)
        kept = run.clients.register(active).facts(run.group.name, run.request.run).get("measured")
        said = f"the figures are in the journal of {active}"
        if not kept:
            said = f"the journal of {active} has no fact measured of run {run.request.run}: run the step again"
        return (Check.that("measurements_kept", bool(kept), said), *self.proves(run))


def _active(run: Run) -> str:
    return run.source if run.request.verb in STAY else run.target
