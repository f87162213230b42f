"""What a person sees at the end."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lab.demo.failover_run import FailoverRun
from lab.demo.report import DemoOutcome, as_json, switch_times
from lab.demo.run_evidence import StepEvidence
from lab.invariants.model import InvariantReport

_OF_DISASTERS = (
    "predicted_loss",
    "real_loss",
    "stranded",
    "stranded_own",
    "rescued",
    "unfenced_writes",
    "unfenced_seconds",
)
_COLOURS = {"held": "green", "violated": "bold red", "unknown": "yellow", "not judged": "dim"}


def tell_step(console: Console, step: StepEvidence) -> None:
    """One line as soon as a step has ended."""
    mark = "[green]✓[/]" if step.good else "[red]✗[/]"
    console.print(f"{mark} {step.number:>2} {step.name} [dim]{step.seconds:.1f} s[/] {escape(_short(step))}")


def show(outcome: DemoOutcome, console: Console) -> None:
    """All tables, and the result last."""
    for run in outcome.runs:
        console.print(_steps(run))
    if outcome.runs[-1].evidence.groups():
        console.print(_groups(outcome.runs[-1]))
    console.print(_figures(outcome))
    console.print(_times(outcome))
    console.print(_invariants(outcome.verdict))
    if outcome.sabotage is not None:
        console.print(f"The saboteur {escape(outcome.sabotage)}.")
    console.print(f"Evidence: {outcome.runs[-1].evidence.folder}")
    console.print(f"[bold]{escape(closing(outcome))}[/]")


def closing(outcome: DemoOutcome) -> str:
    """The last line: every invariant that was violated and every objective that was not met, by name."""
    verdict = outcome.verdict
    said = [f"{each.invariant} is violated: {each.sentence}." for each in verdict.violated]
    said += [f"{each.invariant} is unknown: {each.sentence}." for each in verdict.findings if each.outcome == "unknown"]
    said += [f"Unknown: {each}." for each in verdict.unknown]
    said += [_stopped(run) for run in outcome.runs if not run.through]
    if outcome.sabotage is not None and not verdict.violated:
        said.append("Nothing was violated although the run was to be sabotaged: this demo proves nothing.")
    missed = [f"Objectives {_not_met(run)}." for run in outcome.runs if _not_met(run)]
    if said:
        return " ".join((*said, *missed))
    return " ".join((_held(verdict), *missed))


def _not_met(run: FailoverRun) -> str:
    """The objectives that a run missed or does not know; that violates no invariant, and is said all the same."""
    found = [each.sentence for each in run.evidence.objectives() if each.verdict != "met"]
    return f"not met by {run.run}: {'; '.join(found)}" if found else ""


def _held(verdict: InvariantReport) -> str:
    passed_over = [each.invariant for each in verdict.findings if each.outcome == "not judged"]
    if not passed_over:
        return "Every invariant held."
    verb = "was" if len(passed_over) == 1 else "were"
    return f"Every invariant that was judged held; {' and '.join(passed_over)} {verb} not judged."


def _stopped(run: FailoverRun) -> str:
    bad = [step for step in run.evidence.steps() if not step.good]
    no = [step for step in run.evidence.steps() if step.facts.get("answer", {}).get("approved") is False]
    bad = no or bad
    why = f"{bad[0].name} {'' if no else f'{bad[0].outcome}: '}{bad[0].detail}" if bad else f"it ended as {run.state}"
    where = run.target if run.moved else run.source
    return f"The run {run.run} did not go through ({why}); {where} is the active cluster."


def _short(step: StepEvidence) -> str:
    sentence = step.sentence
    return sentence if len(sentence) <= 160 else f"{sentence[:157]}..."


def _steps(run: FailoverRun) -> Table:
    table = Table("", "step", "seconds", "outcome", "what was proven", title=run.run, title_justify="left")
    for step in run.evidence.steps():
        colour = "green" if step.good else "red"
        table.add_row(
            str(step.number), step.name, f"{step.seconds:.2f}", f"[{colour}]{step.outcome}[/]", escape(step.sentence)
        )
    return table


def _groups(run: FailoverRun) -> Table:
    table = Table("group", "partitions", "translation", title="groups", title_justify="left")
    by_group: dict[str, Counter[str]] = {}
    for each in run.evidence.groups():
        by_group.setdefault(each.group, Counter())[each.kind] += 1
    for group, kinds in sorted(by_group.items()):
        table.add_row(group, str(kinds.total()), ", ".join(f"{number} {kind}" for kind, number in kinds.items()))
    return table


def _figures(outcome: DemoOutcome) -> Table:
    report, figures = as_json(outcome), outcome.verdict.figures
    table = Table("figure", "value", title="figures", title_justify="left")
    for name in (
        "approved_to_verified_seconds",
        "write_outage_seconds",
        "rto_seconds",
        "rpo_seconds",
        "acknowledged",
        "lost",
        "reordered",
        "redelivered",
        "mm2_redelivered",
        "uncommitted_at_freeze",
        *_OF_DISASTERS,
    ):
        if name not in report:
            continue
        value = report[name]
        shown = "[yellow]unknown[/]" if value is None else str(value)
        by_group = {"redelivered": figures.redelivered_by_group, "uncommitted_at_freeze": figures.uncommitted_by_group}
        parts = ", ".join(f"{group} {count}" for group, count in by_group.get(name, {}).items())
        table.add_row(name.replace("_", " "), f"{shown} ({parts})" if parts else shown)
    return table


def _times(outcome: DemoOutcome) -> Table:
    table = Table("verb", "switches", "write outage", "approval → verified", title="times", title_justify="left")
    unknown = "[yellow]unknown[/]"
    for verb, times in switch_times(outcome).items():
        shown = [str(each) if each else unknown for each in (times.write_outage, times.approved_to_verified)]
        table.add_row(verb.replace("_", " "), str(times.switches), *shown)
    return table


def _invariants(verdict: InvariantReport) -> Table:
    table = Table("invariant", "outcome", "what was seen", title="invariants", title_justify="left")
    for each in verdict.findings:
        colour = _COLOURS[each.outcome]
        seen = "\n".join([each.sentence, *(f"  {example}" for example in each.examples)])
        table.add_row(each.invariant, f"[{colour}]{each.outcome}[/]", escape(seen))
    return table
