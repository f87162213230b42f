"""What a run needs in addition to the clusters: logins, certificates, vantages, Airflow elsewhere, recent practice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from kafka_dr import parallel
from kafka_dr.causes import cause
from kafka_dr.checks import record_limits
from kafka_dr.counted import counted
from kafka_dr.disaster.probes import probe_vantages
from kafka_dr.drill.life import is_dead, said_of
from kafka_dr.drill.result import DrillResults
from kafka_dr.drill.windows import overdue
from kafka_dr.durations import age_of
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.past_outages import newest_failovers
from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.outcomes import Check
from kafka_dr.readiness_checks import rights, verified_rpo
from kafka_dr.readiness_checks.certificates import certificates_last, principals_declared
from kafka_dr.readiness_checks.passwords import passwords_last
from kafka_dr.runs.clients import ROLES
from kafka_dr.runs.run import Run

#: A transaction this much older than its own timeout is not aborted by its coordinator (KIP-664).
_HANGING = timedelta(minutes=5)
_SHOWN = 3
#: So many results of drills are read.
_DRILLS = 10


def logins_work(run: Run) -> Check:
    """Return whether each role can log in on both clusters. A password that changed is found before it is needed."""
    return _logins(run, (run.source, run.target))


def logins_work_on_target(run: Run) -> Check:
    """Return whether each role can log in on the target."""
    return _logins(run, (run.target,))


def _logins(run: Run, clusters: tuple[str, ...]) -> Check:
    asked = [(cluster, role) for cluster in clusters for role in ROLES]
    answers = parallel.ask_each(lambda each: run.clients.cluster(*each).topics.identity(), asked)
    failed = {f"{role} on {name}": said for (name, role), said in answers.items() if isinstance(said, KafkaDrError)}
    if not failed:
        where = " and ".join(f"on {name}" for name in clusters)
        return Check("logins_work", "ok", f"every role can log in {where}")
    name, error = next(iter(failed.items()))
    return Check("logins_work", "unknown", f"{', '.join(failed)} cannot log in. {name}: {error}")


def no_hanging_transactions(run: Run) -> Check:
    """Return whether no transaction on the source is older than its own timeout: such a one would hold up the drain."""
    now = run.clock.now()
    hanging = [
        each
        for each in run.operator(run.source).transactions.open()
        if each.began_at is not None
        and now - each.began_at > timedelta(seconds=each.timeout_seconds or 0) + _HANGING
        and any(run.group.owns_topic(p.topic) for p in each.partitions)
    ]
    if not hanging:
        return Check("hanging_transactions", "ok", f"no transaction on {run.source} is older than its timeout")
    shown = ", ".join(f"{each.transactional_id} since {each.began_at:%Y-%m-%d %H:%M} UTC" for each in hanging[:_SHOWN])
    detail = (
        f"on {run.source} "
        f"{counted(len(hanging), 'transaction is older than its', 'transactions are older than their')} timeout: "
        f"{shown}. Readers of committed "
        "records wait for them: abort them with kafka-transactions.sh"
    )
    return Check("hanging_transactions", "warning", detail)


def vantages_answer(run: Run) -> Check:
    """Return whether enough vantages give a usable answer: with fewer an unplanned failover needs an override."""
    name, needed = "vantages_answer", run.group.disaster.vantages_needed
    probes = probe_vantages(run.group, run.clients, source=run.source)
    alive = [probe for probe in probes if probe.outcome != "unknown"]
    silent = [f"{probe.name}: {probe.detail}" for probe in probes if probe.outcome == "unknown"]
    said = f"{1 + len(alive)} of {1 + len(probes)} vantages answer, this program among them; {needed} are needed"
    if 1 + len(alive) >= needed and not silent:
        return Check(name, "ok", said)
    why = f": {'; '.join(silent[:_SHOWN])}" if silent else ""
    less = ", so an unplanned failover needs an override" if 1 + len(alive) < needed else ""
    return Check(name, "warning", f"{said}{less}{why}")


def airflow_is_elsewhere(run: Run) -> Check:
    """Return whether Airflow survives the loss of the source, as the topology declares where it runs."""
    name, where = "airflow_is_elsewhere", run.clients.topology.airflow_runs_in
    if where is None:
        detail = (
            "the topology does not say where Airflow runs: set airflow_runs_in to a cluster, whose datacenter it "
            "shares, or to elsewhere"
        )
        return Check(name, "unknown", detail)
    if where == run.source:
        detail = (
            f"Airflow runs in the datacenter of {run.source} and may be lost with it. Then python -m kafka_dr runs the "
            "failover from another datacenter: keep its connections file there"
        )
        return Check(name, "warning", detail)
    return Check(name, "ok", f"Airflow runs {'elsewhere' if where == 'elsewhere' else f'in the datacenter of {where}'}")


def tried_lately(run: Run) -> Check:
    """Return whether the group was moved, or drilled, lately: a runbook that nobody uses is not known to work."""
    name, limit = "tried_lately", run.group.objectives.tried_every_days
    newest, group = newest_failovers(run.history), run.group.name
    wanted = f"expected at least every {limit:g} days (objectives.tried_every_days)" if limit is not None else ""
    tries = [
        (
            datetime.fromisoformat(run.history[each]["opened"]["at"]).astimezone(UTC),
            f"run {each} moved {run.group.name}",
        )
        for each in newest[:1]
    ]
    tries += _passed_drills(run)
    if not tries:
        said = f"{group} has never been moved, and no drill of it passed, so nothing was measured"
        return Check(name, "warning", f"{said}; {wanted}: try a drill" if wanted else said)
    at, what = max(tries)
    age = run.clock.now() - at
    said = f"{what} {age_of(age)}"
    if limit is not None and age > timedelta(days=limit):
        return Check(name, "warning", f"{said}, {wanted}: try a drill, or a planned failover")
    return Check(name, "ok", said)


def _passed_drills(run: Run) -> list[tuple[datetime, str]]:
    """Return when drills of the group passed, and what to say of them; what cannot be read is no try."""
    if run.group.drill is None:
        return []
    try:
        found = DrillResults(run.clients.evidence_root, run.group.name).newest(_DRILLS)
    except (DocumentDamaged, OSError):
        return []
    return [(each.ended_at, f"the {each.kind} drill {each.id} passed") for each in found if each.passed]


def drilled_lately(run: Run) -> Check:
    """Return whether a drill passed as lately as the topology wants, and the newest one passed."""
    name, spec = "drilled_lately", run.group.drill
    if spec is None:
        return Check(name, "ok", f"the topology declares no drills of {run.group.name}")
    try:
        found = DrillResults(run.clients.evidence_root, run.group.name).newest(_DRILLS)
    except (DocumentDamaged, OSError) as error:
        return Check(name, "warning", f"the results of drills cannot be read: {cause(error)}")
    dead = [each for each in found[:1] if is_dead(run.clients.evidence_root, each, run.clock.now())]
    if dead:
        return Check(name, "warning", said_of(dead[0], died=True))
    results = [each for each in found if each.stage == "ended"]
    if overdue(spec, results, run.clock.now()):
        seen = f"the last was {results[0].id}" if results else "there was none"
        detail = f"no drill of {run.group.name} passed for {spec.every_days} days (drill.every_days); {seen}"
        return Check(name, "warning", f"{detail}: trigger dr_drill, and look why none passed")
    if not results:
        return Check(name, "ok", f"{run.group.name} was never drilled, and the topology wants no drills at intervals")
    newest = results[0]
    return Check(name, "ok" if newest.passed else "warning", newest.summary)


def route_readable(run: Run) -> Check:
    """Return whether the route can be read; a failover rewrites it."""
    route = run.clients.router(run.group).read()
    if route is None:
        return Check("route_readable", "failed", f"{run.group.name} has no route: run dr_adopt")
    return Check("route_readable", "ok", f"the route of {run.group.name} names {route.active}")


#: For every verb that moves the group; by name.
QUESTIONS: Mapping[str, Callable[[Run], Check]] = {
    "logins_work": logins_work,
    rights.NAME: rights.rights_granted,
    "certificates_last": certificates_last,
    "certificates_as_declared": principals_declared,
    "passwords_last": passwords_last,
    "hanging_transactions": no_hanging_transactions,
    "tried_lately": tried_lately,
    "drilled_lately": drilled_lately,
}
#: For a failover away from a cluster that is down: nothing here asks that cluster.
WITHOUT_SOURCE: Mapping[str, Callable[[Run], Check]] = {
    "logins_work": logins_work_on_target,
    rights.NAME: rights.rights_granted_on_target,
    verified_rpo.NAME: verified_rpo.rpo_verified,
    "certificates_last": certificates_last,
    "passwords_last": passwords_last,
    "vantages_answer": vantages_answer,
    "airflow_is_elsewhere": airflow_is_elsewhere,
    "route_readable": route_readable,
    # Its copies have the limits of their originals, and the way back is a flow as well.
    record_limits.NAME: lambda run: record_limits.records_fit(run, run.target),
    "tried_lately": tried_lately,
    "drilled_lately": drilled_lately,
}
