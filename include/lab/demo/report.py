"""What the demo found, as JSON for programs; the tables on the screen say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lab.demo.failover_run import FailoverRun
from lab.demo.run_evidence import RunEvidence
from lab.demo.switch_times import SwitchTimes, times_by_verb
from lab.invariants.model import InvariantReport, Losses, Switch


@dataclass(frozen=True, slots=True)
class DemoOutcome:
    """Everything that a demo has to say.

    :param ready_seconds: from the start of the lab until everything answered
    :param runs: the failovers, in their order, and the failback between them
    :param verdict: of the invariants, over all of them
    :param sabotage: what was done to the last run, if anything
    """

    ready_seconds: float | None
    runs: tuple[FailoverRun, ...]
    verdict: InvariantReport
    sabotage: str | None = None

    @property
    def good(self) -> bool:
        """Whether every run succeeded, and every invariant was checked and held; never after a sabotage."""
        return bool(self.runs) and all(run.through for run in self.runs) and self.verdict.held and self.sabotage is None


def as_json(outcome: DemoOutcome) -> dict[str, Any]:
    """Times are the longest over all switches; steps, groups and evidence are those of the last run.

    ``times`` has the median, the shortest and the longest, of each verb by itself. Each switch has its own steps and
    evidence as well, and so has the failback between two of them.
    """
    figures, last = outcome.verdict.figures, outcome.runs[-1]
    moves = [run for run in outcome.runs if run.moves]
    back = next((run for run in outcome.runs if not run.moves), None)
    return {
        "ready_seconds": outcome.ready_seconds,
        "approved_to_verified_seconds": longest([run.approved_to_verified_seconds for run in moves]),
        "write_outage_seconds": longest([switch.write_outage_seconds for switch in outcome.verdict.switches]),
        "times": {verb: times.to_json() for verb, times in switch_times(outcome).items()},
        "acknowledged": figures.acknowledged,
        "lost": figures.lost,
        "reordered": figures.reordered,
        "redelivered": figures.redelivered,
        "mm2_redelivered": mirrormaker([run.evidence for run in outcome.runs]),
        "uncommitted_at_freeze": figures.uncommitted_at_freeze,
        "rpo_seconds": round(figures.rpo_seconds, 3),
        "rto_seconds": longest([switch.restored_seconds for switch in outcome.verdict.switches]),
        "steps": _steps(last),
        "groups": [
            {
                "group": each.group,
                "topic": each.topic,
                "partition": each.partition,
                "source_offset": each.source_offset,
                "target_offset": each.target_offset,
                "class": each.kind,
            }
            for each in last.evidence.groups()
        ],
        "evidence": str(last.evidence.folder),
        "invariants": [
            {"name": each.invariant, "outcome": each.outcome, "sentence": each.sentence}
            for each in outcome.verdict.findings
        ],
        **_losses(outcome.verdict.figures.losses),
        "unknown": list(outcome.verdict.unknown),
        "objectives_not_met": [
            {"run": run.run, **asdict(each)}
            for run in moves
            for each in run.evidence.objectives()
            if each.verdict != "met"
        ],
        "switches": [_switch(run, outcome.verdict.switches) for run in moves],
        **({"failback": _failback(back)} if back else {}),
    }


def switch_times(outcome: DemoOutcome) -> dict[str, SwitchTimes]:
    """Return how long the switches took, by verb."""
    moves = [run for run in outcome.runs if run.moves]
    lived = [_lived(run, outcome.verdict.switches) for run in moves]
    return times_by_verb(
        [
            (run.verb, switch.write_outage_seconds if switch else None, run.approved_to_verified_seconds)
            for run, switch in zip(moves, lived, strict=True)
        ]
    )


def _lived(run: FailoverRun, switches: Sequence[Switch]) -> Switch | None:
    """Return how the applications lived through a run; ``None`` if it changed nothing for them."""
    return next((each for each in switches if run.approved_at and each.since == run.approved_at.timestamp()), None)


def _losses(losses: Losses | None) -> dict[str, Any]:
    """What a disaster took, and what became of it; nothing where there was none."""
    if losses is None:
        return {}
    return {
        "predicted_loss": losses.predicted,
        "real_loss": losses.real,
        "stranded": losses.stranded,
        "stranded_own": losses.own,
        "rescued": losses.rescued,
        "unfenced_writes": losses.window_records,
        "unfenced_seconds": losses.window_seconds,
    }


def longest(seconds: Sequence[float | None]) -> float | None:
    """The longest of some times; unknown as soon as one is unknown, or there is none."""
    known = [each for each in seconds if each is not None]
    return round(max(known), 3) if known and len(known) == len(seconds) else None


def mirrormaker(runs: Sequence[RunEvidence]) -> int | None:
    """What MirrorMaker's own checkpoints would have delivered again in all runs, as each measured it for itself.

    :returns: ``None`` as soon as one run did not get so far, or does not know
    """
    steps = [run.step("report") for run in runs]
    counted = [step.facts.get("mm2_redelivered_at_most") if step else None for step in steps]
    known = [int(each) for each in counted if each is not None]
    return sum(known) if len(known) == len(counted) else None


def _steps(run: FailoverRun) -> list[dict[str, Any]]:
    return [{"name": step.name, "seconds": step.seconds, "outcome": step.outcome} for step in run.evidence.steps()]


def _failback(run: FailoverRun) -> dict[str, Any]:
    """What made the old cluster a copy again, in its own figures."""
    step = run.evidence.step("report")
    facts = step.facts if step is not None else {}
    named = ("mode", "stranded", "rescued", "quarantine", "seconds_to_caught_up")
    return {
        "run": run.run,
        "source": run.source,
        "target": run.target,
        "state": run.state,
        "approved_by": list(run.approved_by),
        **{name: facts.get(name) for name in named},
        "steps": _steps(run),
        "evidence": str(run.evidence.folder),
    }


def _switch(run: FailoverRun, switches: Sequence[Switch]) -> dict[str, Any]:
    lived = _lived(run, switches)
    return {
        "run": run.run,
        "verb": run.verb,
        "source": run.source,
        "target": run.target,
        "state": run.state,
        "approved_to_verified_seconds": longest([run.approved_to_verified_seconds]),
        "write_outage_seconds": longest([lived.write_outage_seconds]) if lived else None,
        "rto_seconds": longest([lived.restored_seconds]) if lived else None,
        "objectives": [asdict(each) for each in run.evidence.objectives()],
        "steps": _steps(run),
        "evidence": str(run.evidence.folder),
    }
