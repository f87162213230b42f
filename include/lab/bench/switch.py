"""A planned switch under load without Airflow: what the steps themselves cost, in one process.

This is the floor for the demo, which runs the same steps as tasks of Airflow. The applications' own logs say how long
they could not write, as they do in the demo.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from kafka_dr.adoption.adopt import adopt
from kafka_dr.approvals.approval import record_answer
from kafka_dr.approvals.journaled import Answer
from kafka_dr.register import RegisterState
from kafka_dr.register.state import UNPLANNED_EPOCHS
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.runner import run_step
from kafka_dr.verbs.switch import switch
from kafka_dr.watch.reconcile_flows import reconcile_flows
from lab.api import Lab
from lab.bench import fence
from lab.bench.fence import FenceOperations
from lab.bench.offsets import lab_clients
from lab.clusters import PROTECTION_GROUP
from lab.credentials import ADMIN
from lab.demo.switch_times import Spread, SwitchTimes, spread
from lab.errors import LabError
from lab.invariants.check import check_invariants
from lab.invariants.model import ActivePeriod, InvariantReport
from lab.invariants.observe import observe
from lab.traffic.control import Traffic

_APPROVER = "alice"
_WARM_UP_SECONDS, _SETTLE_SECONDS = 8.0, 3.0
_FLOW_SECONDS, _WORK_AGAIN_SECONDS = 120.0, 45.0


def configure(benches: Any, *, options: Sequence[argparse.ArgumentParser]) -> None:
    """Add this benchmark to the others.

    :param options: the options that say where the lab is
    """
    parser = benches.add_parser("switch", parents=list(options), help="planned failovers under load without Airflow")
    parser.add_argument("--switches", type=int, default=3, metavar="N", help="there and back again, N in all")
    parser.add_argument("--demo", type=Path, metavar="FILE", help="a demo's report, for the ratio of the medians")
    parser.add_argument("--report", type=Path, required=True, metavar="FILE", help="where the figures go, as JSON")
    fence.configure(parser)
    parser.set_defaults(run=run)


@dataclass(frozen=True, slots=True)
class MeasuredSwitch:
    """One switch that went through.

    :param approved_at: when its answer was recorded
    :param steps: from the claim to the verification
    """

    source: str
    target: str
    approved_at: datetime
    steps: tuple[StepRecord, ...]

    @property
    def approved_to_verified_seconds(self) -> float:
        """From the recorded answer to the end of the last step."""
        return (self.steps[-1].finished_at - self.approved_at).total_seconds()

    @property
    def fence_to_route_seconds(self) -> float | None:
        """From the first DENY to the new route: this project's part of an outage.

        The rest is the applications' own: they learn of the route, connect again, and write to each partition in turn.
        ``None`` if one of the two steps is not there.
        """
        by_name = {step.step: step for step in self.steps}
        if not {StepName.FENCE_SOURCE, StepName.FLIP_ROUTE} <= by_name.keys():
            return None
        fenced, routed = by_name[StepName.FENCE_SOURCE], by_name[StepName.FLIP_ROUTE]
        return (routed.finished_at - fenced.started_at).total_seconds()


def run(options: argparse.Namespace, console: Console) -> int:
    """Bring a lab up, measure, write the report, and leave the lab as it was: up, stopped with its state, or not there.

    :returns: 0 if every invariant held, else 1
    :raises LabError: the lab holds what a disaster left behind, which this benchmark cannot judge, or the report of
        the demo cannot be read
    """
    demo = _times_of(options.demo) if options.demo else None
    lab = Lab(options.home, port_base=options.port_base)
    was_up, was_there = lab.status().in_use, lab.home.settings.exists()
    lab.up(airflow=False)
    traffic = Traffic(lab)
    try:
        denied = FenceOperations(options.fence_operations)
        began, switches = _switches(lab, traffic, options.switches, denied, console)
        traffic.stop(drain_seconds=1.0)
        verdict = _judged(lab, traffic, began, switches)
    finally:
        traffic.stop()
        if not was_up:
            lab.down(delete=not was_there)
    report = as_json(switches, verdict, demo)
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(report, indent=1) + "\n")
    _show(report, console)
    return 0 if verdict.held else 1


def _times_of(demo: Path) -> SwitchTimes:
    try:
        return SwitchTimes.planned_of(json.loads(demo.read_text()), called=str(demo))
    except (OSError, ValueError) as error:
        raise LabError(f"--demo {demo} cannot be read: {error}") from error


def _switches(
    lab: Lab, traffic: Traffic, count: int, denied: FenceOperations, console: Console
) -> tuple[float, tuple[MeasuredSwitch, ...]]:
    with lab_clients(lab, denied.declared) as clients:
        refuse_after_disaster(lab, GroupContext(PROTECTION_GROUP, clients).read_register_state())
        adopted(clients)
        denied.settle(clients)
    began = time.time()
    traffic.start()
    done: list[MeasuredSwitch] = []
    for number in range(count):
        time.sleep(_WARM_UP_SECONDS)
        with lab_clients(lab, denied.declared) as clients:
            done.append(_switch(clients, f"bench-switch-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"))
        let_work(traffic, done[-1])
        console.print(f"switch {number + 1} of {count}: {done[-1].source} → {done[-1].target}")
    return began, tuple(done)


def refuse_after_disaster(lab: Lab, state: RegisterState | None) -> None:
    """Refuse a lab that has had an unplanned failover: what that lost looks like a loss of this benchmark.

    :param state: the group's record; ``None`` if it was never adopted
    :raises LabError: the lab has had one
    """
    if state is not None and state.epoch >= UNPLANNED_EPOCHS:
        raise LabError(
            f"the register of {PROTECTION_GROUP} in {lab.home.root} is at epoch {state.epoch}, so it has had "
            "an unplanned failover, and the records that were lost then would count as lost by this benchmark: name "
            "another --home, or remove this lab first (down --delete)"
        )


def adopted(clients: Clients, *, seconds: float = _FLOW_SECONDS) -> None:
    """Adopt the group and let its flow run.

    :param seconds: how long the flow may take until each partition that waits has been copied from
    :raises LabError: the flow does not run in time
    """
    adopt(PROTECTION_GROUP, clients, f"bench-adopt-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    deadline = time.monotonic() + seconds
    while (found := reconcile_flows(PROTECTION_GROUP, clients)).outcome != "ok":
        if time.monotonic() > deadline:
            raise LabError(f"the flow does not run after {seconds:.0f} s: {found.summary}")
        time.sleep(0.5)


def _switch(clients: Clients, run_id: str) -> MeasuredSwitch:
    """Move the group to its standby, all in this process, as the command line does."""
    state = GroupContext(PROTECTION_GROUP, clients).read_register_state()
    if state is None:
        raise LabError(f"no register has a record of {PROTECTION_GROUP}")
    request = RunRequest(PROTECTION_GROUP, run_id, source=state.active, target=state.standby, reason="a benchmark")
    run_step(StepName.PREFLIGHT, request, clients)
    question = ask_approval(request, clients)
    approved_at = datetime.now(UTC)
    record_answer(request, clients, Answer(True, _APPROVER, approved_at, question.digest))
    steps = (*switch(request, clients, Unwatched()), run_step(StepName.VERIFY, request, clients))
    run_step(StepName.START_REVERSE_FLOW, request, clients)
    run_step(StepName.REPORT, request, clients)
    return MeasuredSwitch(state.active, state.standby, approved_at, steps)


class Unwatched:
    """Nobody follows the steps of a benchmark."""

    def begins(self, step: StepName) -> None:
        """Nothing."""

    def ended(self, record: StepRecord) -> None:
        """Nothing."""

    def says(self, sentence: str) -> None:
        """Nothing."""


def let_work(traffic: Traffic, done: MeasuredSwitch) -> None:
    """Wait until every application works again, and a moment longer."""
    since, deadline = done.steps[-1].finished_at.timestamp(), time.monotonic() + _WORK_AGAIN_SECONDS
    while traffic.idle(since=since) and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(_SETTLE_SECONDS)


def _judged(lab: Lab, traffic: Traffic, began: float, switches: Sequence[MeasuredSwitch]) -> InvariantReport:
    settings = {cluster.name: lab.client_settings(cluster.name, ADMIN) for cluster in lab.clusters}
    periods = [ActivePeriod(switches[0].source, began)]
    periods += [ActivePeriod(each.target, each.approved_at.timestamp()) for each in switches]
    return check_invariants(observe(traffic.logs, settings), periods)


def as_json(switches: Sequence[MeasuredSwitch], verdict: InvariantReport, demo: SwitchTimes | None) -> dict[str, Any]:
    """Return the figures; times are medians over all switches, and the ratios are those of medians.

    :param demo: the times of a demo on the same machine
    """
    outages = [each.write_outage_seconds for each in verdict.switches]
    verified = [each.approved_to_verified_seconds for each in switches]
    outage, to_verified = spread(outages), spread(verified)
    fenced = spread([each.fence_to_route_seconds for each in switches])
    names = [step.step for step in switches[0].steps]
    seconds = {
        name: round(
            statistics.median([step.seconds for each in switches for step in each.steps if step.step == name]), 3
        )
        for name in names
    }
    return {
        "switches": len(switches),
        "write_outage_seconds": outage and outage.median,
        "write_outages": [each if each is None else round(each, 3) for each in outages],
        "fence_to_route_seconds": fenced and fenced.median,
        "approved_to_verified_seconds": to_verified and to_verified.median,
        "approved_to_verified": [round(each, 3) for each in verified],
        "steps": seconds,
        "demo": demo and demo.to_json(),
        "ratio": _ratio(demo.write_outage if demo else None, outage),
        "ratio_approved_to_verified": _ratio(demo.approved_to_verified if demo else None, to_verified),
        "invariants": {each.invariant: each.outcome for each in verdict.findings},
        "violated": [
            {"invariant": each.invariant, "sentence": each.sentence, "examples": list(each.examples)}
            for each in verdict.violated
        ],
        "unknown": list(verdict.unknown),
        "held": verdict.held,
        "machine": {"processors": os.cpu_count()},
    }


def _ratio(demo: Spread | None, here: Spread | None) -> float | None:
    """Return how many times as long the demo's median is; ``None`` where one of the two is unknown."""
    return round(demo.median / here.median, 2) if demo and here and here.median else None


def _show_ratios(report: dict[str, Any], console: Console) -> None:
    demo = report["demo"]
    for what, name, ratio in (
        ("write outage", "write_outage_seconds", report["ratio"]),
        ("approval → verified", "approved_to_verified_seconds", report["ratio_approved_to_verified"]),
    ):
        if ratio is None:
            console.print(f"[yellow]unknown[/] {what}: one of the two medians is unknown, so there is no ratio")
            continue
        console.print(
            f"{what}: the median of {demo['switches']} switches of the demo ({demo[name]['median']:g} s) is {ratio:g} "
            f"times the median of {report['switches']} here ({report[name]:g} s)"
        )


def _show(report: dict[str, Any], console: Console) -> None:
    for name, seconds in report["steps"].items():
        console.print(f"{name:16} {seconds:6.3f} s")
    console.print(
        f"write outage {report['write_outage_seconds']} s (each: {report['write_outages']}), of which from the first "
        f"DENY to the route {report['fence_to_route_seconds']} s and the rest of the applications; approval → verified "
        f"{report['approved_to_verified_seconds']} s (each: {report['approved_to_verified']})"
    )
    if report["demo"] is not None:
        _show_ratios(report, console)
    for each in report["violated"]:
        lines = "\n".join([each["sentence"], *(f"  {example}" for example in each["examples"])])
        console.print(f"[red]{each['invariant']} violated[/] {escape(lines)}")
    for sentence in report["unknown"]:
        console.print(f"[yellow]unknown[/] {escape(sentence)}")
    console.print("[green]✓[/] every invariant held" if report["held"] else "[red]✗[/] not every invariant held")
