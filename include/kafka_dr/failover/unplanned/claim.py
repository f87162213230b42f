"""Take the group for an unplanned failover: the target's register decides.

If the source's register answers, the run sets it first, so that no other run can claim the group there. Of a group with
several standbys more than half of all registers have to hold the claim; then the process takes the run at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from kafka_dr.approvals import claim
from kafka_dr.approvals.journaled import Answer
from kafka_dr.checks.route_ahead import route_epoch
from kafka_dr.disaster.disaster_rule import judge
from kafka_dr.disaster.probes import ask_vantages, take_probes
from kafka_dr.errors import TryAgain
from kafka_dr.failover.unplanned import last_known
from kafka_dr.failover.unplanned.checks import decision_facts, unplanned_checks
from kafka_dr.outcomes import Check, Probe
from kafka_dr.register import Register, RegisterState, most_registers
from kafka_dr.register.transitions import claimed_unplanned, taken
from kafka_dr.runs import background
from kafka_dr.runs.inputs import INPUTS
from kafka_dr.runs.run import Run

#: How long the last look at the source takes: every second is a second of outage, and two looks came before it.
_PROBE_SECONDS = 1.5
#: How long the register of a cluster that answers may take, if it does not decide.
SOURCE_SECONDS = 5.0
#: How long the route may take to be read.
_ROUTE_SECONDS = 1.0


def _says(run: Run) -> tuple[str]:
    return (
        f"write to the register of {run.target} that this run is switching {run.group.name}, "
        "with an epoch that is the next multiple of 1,000",
    )


def _decided(run: Run) -> Mapping[str, Any]:
    run.probes = tuple(_last_look_at_source(run))
    return decision_facts(run, unplanned_checks(run, judge(run.source, run.probes, run.group.disaster)))


def _last_look_at_source(run: Run) -> list[Probe]:
    if run.source in run.silent and "unreachable" in run.group.disaster.down_when:
        return ask_vantages(run.group, run.clients, source=run.source, seconds=_PROBE_SECONDS)
    return take_probes(run.group, run.clients, source=run.source, target=run.target, seconds=_PROBE_SECONDS)


def _facts(run: Run, answers: Sequence[Answer]) -> Mapping[str, Mapping[str, Any]]:
    more = {"override": run.request.override, "taken_from": last_known.taken_from(run), **run.request.start_to_json()}
    return {INPUTS: run.read_inputs(), claim.GROUNDS: more}


def _begun(run: Run, signed: dict[str, Any]) -> RegisterState:
    """Return the record to write; if an earlier attempt died between the two registers, the same record again."""
    begun = run.journal.get(claim.GROUNDS, {})
    reserved = [int(each["claim"]["epoch"]) for each in run.history.values() if "epoch" in each.get("claim", {})]
    others = [epoch for epoch in reserved if epoch != begun.get("epoch")]
    others += [state.epoch for state in run.seen.values() if state is not None and state.run != run.request.run]
    if begun:
        signed["at"] = datetime.fromisoformat(begun["claimed_at"])
    signed |= {"source": run.source, "target": run.target}
    known = background.answers_within({run.group.name: partial(route_epoch, run)}, seconds=_ROUTE_SECONDS)
    others += [each for each in known.values() if isinstance(each, int)]
    return claimed_unplanned(run.record(), highest_epoch=max([run.epoch, *others]), **signed)


def _win(run: Run, before: RegisterState | None, new: RegisterState) -> Mapping[str, Any]:
    """Compare and set the source's register if it answers, then the others; the target's decides."""
    if last_known.taken_over(run).keys() & {"source_ends", "drained"}:
        run.write_fact("source_touched", {"by": last_known.taken_from(run)})
    missing = most_registers.win(new, run.record(), run.seen, asking(run, run.target), off=run.override)
    if new.is_unproven:
        run.register_state = new
        run.advance(taken(new, run=run.request.run, executor=run.clients.executor.name, at=run.clock.now()))
    said = missing.get(run.source, f"the register of {run.source} names this run, too")
    return {"source_register": said, **({"missing_registers": missing} if new.is_unproven else {})}


def asking(run: Run, target: str) -> most_registers.Ask:
    """Return what asks a register of a group; those that do not decide for a claim get a few seconds.

    :param target: of the claim
    """

    def ask(cluster: str, question: Callable[[Register], Any]) -> Any:
        if cluster == target:
            return question(run.clients.register(cluster))
        if (not _answered(run)) if cluster == run.source else (cluster in run.silent):
            raise TryAgain(f"{cluster} did not answer")

        def asked() -> Any:
            run.clients.require_declared(cluster)
            return question(run.clients.register(cluster))

        return background.ask(cluster, asked, seconds=SOURCE_SECONDS)

    return ask


def _answered(run: Run) -> bool:
    """Return whether the probes of this step have seen the source; a step that has checked nothing asks it."""
    return not run.checks or any(probe.name == "metadata" and probe.outcome == "ok" for probe in run.probes)


def _proves(run: Run) -> Sequence[Check]:
    """The deciding register names this run."""
    state = run.clients.register(run.target).read(run.group.name)
    held = state is not None and state.run == run.request.run
    said = f"{run.target}'s register names this run"
    if not held:
        said = (
            f"{run.target}'s register names {state.run if state else 'no run'}, expected {run.request.run}: another "
            "run has won"
        )
    return (Check.that("register_read_back", held, said),)


CLAIM = claim.ClaimStep(says=_says, decided=_decided, begun=_begun, facts=_facts, win=_win, proves=_proves)
