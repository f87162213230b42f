"""Failovers at a company's size and at the demo's, without Airflow: planned there and back, then with a dead source.

Each size gets a lab of its own. The steps run in this process, as ``bench switch`` and the command line run them. Of
several planned failovers the medians are compared; the longest ones, too, for those who want to know the worst.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from rich.console import Console

from kafka_dr.approvals.approval import record_answer
from kafka_dr.approvals.journaled import Answer
from kafka_dr.approvals.who_may_answer import needs_second
from kafka_dr.register import Verb
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.watched_flow import watch_flow
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.request import VERBS, RunRequest, StepName, first_step
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.runner import run_step
from kafka_dr.verbs.switch import switch
from kafka_dr.watch.canary_check import watch_canary
from kafka_dr.watch.reconcile_flows import reconcile_flows
from lab.api import Lab
from lab.bench import fence
from lab.bench.company import Size, create, wait_copied
from lab.bench.fence import FenceOperations
from lab.bench.offsets import lab_clients
from lab.bench.requests import RequestCounter, StepCounts
from lab.bench.switch import MeasuredSwitch, adopted, let_work
from lab.clusters import PROTECTION_GROUP
from lab.credentials import ADMIN
from lab.demo.switch_times import Spread, spread
from lab.errors import LabError
from lab.invariants.check import check_invariants
from lab.invariants.model import ActivePeriod, InvariantReport, Switch
from lab.invariants.observe import observe
from lab.traffic.control import Traffic

_APPROVERS = {StepName.APPROVAL: "alice", StepName.SECOND_APPROVAL: "bob"}
_WARM_UP_SECONDS, _COPY_SECONDS, _BACK_SECONDS = 8.0, 900.0, 120.0
_SIZES = ("demo", "company")
#: The most that each may be. "Again" is of planned failovers: processed again, or in the log twice.
_GOALS = {
    "planned_outage_ratio": 3.0,
    "longest_planned_outage_ratio": 3.0,
    "unplanned_outage_ratio": 3.0,
    "planned_lost": 0,
    "planned_again": 0,
    "peak_memory_gb": 1.5,
}


def configure(benches: Any, *, options: Sequence[argparse.ArgumentParser]) -> None:
    """Add this benchmark to the others.

    :param options: the options that say where the lab is
    """
    parser = benches.add_parser(
        "failover", parents=list(options), help="failovers of a large group next to those of the demo's group"
    )
    parser.add_argument("--topics", type=int, default=1_000, metavar="N", help="next to those of the applications")
    parser.add_argument("--partitions", type=int, default=3_000, metavar="N", help="of all these topics together")
    parser.add_argument("--groups", type=int, default=300, metavar="N", help="consumer groups without members")
    parser.add_argument("--committed", type=int, default=30, metavar="N", help="partitions that each group reads")
    parser.add_argument("--principals", type=int, default=60, metavar="N", help="declared for the protection group")
    parser.add_argument("--brokers", type=int, default=3, metavar="N", help="in each cluster")
    parser.add_argument("--moves", type=int, default=4, metavar="N", help="planned failovers of each size")
    parser.add_argument("--report", type=Path, required=True, metavar="FILE", help="where the figures go, as JSON")
    fence.configure(parser)
    parser.set_defaults(run=run)


@dataclass(frozen=True, slots=True)
class Measured:
    """One failover that went through.

    :param requests: by step and kind
    """

    verb: Verb
    switch: MeasuredSwitch
    requests: Mapping[str, Mapping[str, int]]


def run(options: argparse.Namespace, console: Console) -> int:
    """Measure both sizes, the demo's first, and write the report.

    :returns: 0 if every goal was reached, and every invariant of the planned failovers held; else 1
    """
    if options.moves < 1:
        raise LabError(f"--moves is {options.moves}, expected 1 or more")
    large = Size(options.topics, options.partitions, options.groups, options.committed, options.principals)
    home = options.home.expanduser().absolute()
    denied = FenceOperations(options.fence_operations)
    found = {
        name: _measure(
            Lab(home / name, port_base=options.port_base, brokers=options.brokers), size, options.moves, denied, console
        )
        for name, size in zip(_SIZES, (Size(), large), strict=True)
    }
    report = as_json(found, brokers=options.brokers, fence_operations=denied.denied)
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(report, indent=1) + "\n")
    _show(report, console)
    return 0 if report["held"] and report["reached"] else 1


def _measure(lab: Lab, size: Size, moves: int, denied: FenceOperations, console: Console) -> dict[str, Any]:
    console.print(f"{size.topics} topics, {size.partitions} partitions, {size.groups} groups: the lab starts")
    lab.up(airflow=False)
    traffic = Traffic(lab)
    bench = _Bench(lab, traffic, size, denied)
    try:
        began = bench.begin()
        planned = [bench.planned() for _ in range(moves)]
        traffic.stop(drain_seconds=1.0)
        of_planned = _judged(lab, traffic, began, planned)
        traffic.start()
        unplanned = bench.unplanned()
        traffic.stop(drain_seconds=1.0)
        bench.restart(unplanned.switch.source)
        of_all = _judged(lab, traffic, began, [*planned, unplanned])
    finally:
        traffic.stop()
        lab.down(delete=True)
    return {
        "size": size.to_json(),
        "planned": [_one(each, seen) for each, seen in zip(planned, of_planned.switches, strict=True)],
        "unplanned": _one(unplanned, of_all.switches[-1]),
        "planned_records": _records(of_planned),
        "unplanned_records": _records(of_all),
        "invariants": {each.invariant: each.outcome for each in of_planned.findings},
        "unknown": list(of_planned.unknown),
        "held": of_planned.held,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


class _Bench:
    """Moves the lab's protection group of one size."""

    def __init__(self, lab: Lab, traffic: Traffic, size: Size, denied: FenceOperations) -> None:
        self._lab = lab
        self._traffic = traffic
        self._size = size
        self._denied = denied

    def _clients(self) -> Clients:
        return lab_clients(self._lab, lambda declared: self._denied.declared(self._size.declared(declared)))

    def begin(self) -> float:
        """Create what belongs to the size, adopt the group, wait until all is copied, and start the applications."""
        with self._clients() as clients:
            group = clients.topology.group(PROTECTION_GROUP)
            source, target = group.initial_active, self._lab.target_of(group.initial_active)
            create(self._lab, self._size, active=source)
            adopted(clients, seconds=_COPY_SECONDS)
            # Connect itself reads its whole topic again for each question, and is busy copying.
            flow = watch_flow(
                Flow(PROTECTION_GROUP, source, target),
                target=clients.cluster(target, "audit"),
                declared=clients.topology.cluster(target),
            )
            wait_copied(
                flow.positions,
                self._size,
                seconds=_COPY_SECONDS,
                look_after=lambda: reconcile_flows(PROTECTION_GROUP, clients),
            )
            self._denied.settle(clients)
        began = time.time()
        self._traffic.start()
        return began

    def planned(self) -> Measured:
        """Move the group to its standby."""
        time.sleep(_WARM_UP_SECONDS)
        with self._clients() as clients:
            done = self._moved(clients, _request(clients, "planned_failover"))
        let_work(self._traffic, done.switch)
        return done

    def unplanned(self) -> Measured:
        """Kill the active cluster and its Connect, and move the group away from it."""
        time.sleep(_WARM_UP_SECONDS)
        with self._clients() as clients:
            # What it saw last is all that is known of a dead cluster.
            watch_canary(PROTECTION_GROUP, clients)
            request = _request(clients, "unplanned_failover")
        for name in self._processes_of(str(request.source)):
            self._lab.kill(name)
        with self._clients() as clients:
            done = self._moved(clients, request)
        let_work(self._traffic, done.switch)
        return done

    def restart(self, cluster: str) -> None:
        """Let a killed cluster's brokers run again, so that its logs can be read.

        :raises LabError: it does not answer in time
        """
        for name in self._processes_of(cluster):
            self._lab.restart(name)
        deadline = time.monotonic() + _BACK_SECONDS
        while not self._reads(cluster):
            if time.monotonic() > deadline:
                raise LabError(f"{cluster} does not answer {_BACK_SECONDS:.0f} s after its restart")
            time.sleep(1.0)

    def _reads(self, cluster: str) -> bool:
        try:
            observe(self._traffic.logs, {cluster: self._lab.client_settings(cluster, ADMIN)})
        except LabError:
            return False
        return True

    def _processes_of(self, cluster: str) -> list[str]:
        return [name for name in self._lab.supervisor.names() if name.startswith(f"{cluster}-")]

    def _moved(self, clients: Clients, request: RunRequest) -> Measured:
        run_step(first_step(request.verb), request, clients)
        approved_at = _approved(request, clients)
        counts = StepCounts(RequestCounter())
        clients.observe(counts.counter)
        steps = [*switch(request, clients, counts)]
        counts.begins(StepName.VERIFY)
        steps.append(run_step(StepName.VERIFY, request, clients))
        counts.ended(steps[-1])
        names = [step.name for step in VERBS[request.verb].steps]
        for name in names[names.index(StepName.VERIFY) + 1 :]:
            run_step(name, request, clients)
        moved = MeasuredSwitch(str(request.source), str(request.target), approved_at, tuple(steps))
        return Measured(request.verb, moved, counts.by_step)


def _request(clients: Clients, verb: Verb) -> RunRequest:
    state = GroupContext(PROTECTION_GROUP, clients).read_register_state()
    if state is None:
        raise LabError(f"no register has a record of {PROTECTION_GROUP}")
    run_id = f"bench-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    request = partial(RunRequest, PROTECTION_GROUP, run_id, source=state.active, target=state.standby, verb=verb)
    if verb == "unplanned_failover":
        return request(reason="a benchmark", acknowledged=True)
    return request(reason="a benchmark")


def _approved(request: RunRequest, clients: Clients) -> datetime:
    """Give every approval that the verb needs, and return when the last one was given."""
    approved_at = datetime.now(UTC)
    for step, person in _APPROVERS.items():
        if step is StepName.APPROVAL or needs_second(request, clients):
            question = ask_approval(request, clients, step)
            approved_at = datetime.now(UTC)
            record_answer(request, clients, Answer(True, person, approved_at, question.digest), step)
    return approved_at


def _judged(lab: Lab, traffic: Traffic, began: float, done: Sequence[Measured]) -> InvariantReport:
    settings = {cluster.name: lab.client_settings(cluster.name, ADMIN) for cluster in lab.clusters}
    periods = [ActivePeriod(done[0].switch.source, began)]
    periods += [ActivePeriod(each.switch.target, each.switch.approved_at.timestamp()) for each in done]
    return check_invariants(observe(traffic.logs, settings), periods)


def _one(done: Measured, seen: Switch) -> dict[str, Any]:
    outage = seen.write_outage_seconds
    return {
        "verb": done.verb,
        "from": done.switch.source,
        "to": done.switch.target,
        "write_outage_seconds": None if outage is None else round(outage, 3),
        "unknown": list(seen.unknown),
        "approved_to_verified_seconds": round(done.switch.approved_to_verified_seconds, 3),
        "steps": {step.step: round(step.seconds, 3) for step in done.switch.steps},
        "requests": done.requests,
    }


def _records(report: InvariantReport) -> dict[str, int]:
    figures = report.figures
    names = ("acknowledged", "lost", "reordered", "duplicated", "skipped", "redelivered", "uncommitted_at_freeze")
    return {name: getattr(figures, name) for name in names}


def as_json(
    found: Mapping[str, Mapping[str, Any]], *, brokers: int, fence_operations: str = "listed"
) -> dict[str, Any]:
    """Return the report: both sizes, and how many times as long the large one takes.

    :param found: what was measured, ``demo`` and ``company``
    """
    ratios = {
        f"{kind}_{what}": _ratio(*(_spread(found[size][kind], name) for size in _SIZES), of=attrgetter("median"))
        for kind in ("planned", "unplanned")
        for what, name in (("outage", "write_outage_seconds"), ("verified", "approved_to_verified_seconds"))
    }
    ratios["longest_planned_outage"] = _ratio(
        *(_spread(found[size]["planned"], "write_outage_seconds") for size in _SIZES), of=attrgetter("longest")
    )
    records = [each["planned_records"] for each in found.values()]
    judged = {
        "planned_outage_ratio": ratios["planned_outage"],
        "longest_planned_outage_ratio": ratios["longest_planned_outage"],
        "unplanned_outage_ratio": ratios["unplanned_outage"],
        "planned_lost": sum(each["lost"] for each in records),
        "planned_again": sum(each["redelivered"] + each["duplicated"] for each in records),
        "peak_memory_gb": round(max(each["peak_memory_mb"] for each in found.values()) / 1024, 2),
    }
    return {
        **found,
        "ratios": ratios,
        "goals": {name: {"measured": judged[name], "at_most": goal} for name, goal in _GOALS.items()},
        "reached": all(_is_reached(judged[name], goal) for name, goal in _GOALS.items()),
        "held": all(each["held"] for each in found.values()),
        "brokers": brokers,
        "fence_operations": fence_operations,
        "machine": {"processors": os.cpu_count()},
    }


def _is_reached(measured: float | None, goal: float) -> bool:
    """Return whether a goal was reached; what is unknown was not."""
    return measured is not None and measured <= goal


def _ratio(small: Spread | None, large: Spread | None, *, of: Callable[[Spread], float]) -> float | None:
    return round(of(large) / of(small), 2) if small is not None and large is not None and of(small) else None


def _spread(moves: Mapping[str, Any] | Sequence[Mapping[str, Any]], name: str) -> Spread | None:
    """Return the times of one failover or of some; ``None`` if one is unknown."""
    return spread([each[name] for each in ([moves] if isinstance(moves, Mapping) else moves)])


def _show(report: Mapping[str, Any], console: Console) -> None:
    for name in ("demo", "company"):
        found = report[name]
        for each in (*found["planned"], found["unplanned"]):
            steps = ", ".join(f"{step} {seconds:g}" for step, seconds in each["steps"].items())
            console.print(
                f"{name}: {each['verb']} {each['from']} → {each['to']}: write outage {each['write_outage_seconds']} s, "
                f"approval → verified {each['approved_to_verified_seconds']} s ({steps})"
            )
        console.print(f"{name}: planned {found['planned_records']}, peak memory {found['peak_memory_mb']} MB")
    console.print(f"the company's in multiples of the demo's: {report['ratios']}")
    for name, goal in report["goals"].items():
        measured = goal["measured"]
        mark = "[green]✓[/]" if _is_reached(measured, goal["at_most"]) else "[red]✗[/]"
        console.print(
            f"{mark} {name}: {'unknown' if measured is None else measured} (goal: at most {goal['at_most']:g})"
        )
    console.print(
        "[green]✓[/] every invariant held" if report["held"] else "[red]✗[/] not every invariant held: see the report"
    )
