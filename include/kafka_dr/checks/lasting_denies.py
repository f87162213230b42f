"""Whether DENYs of this project stay where they are put: whatever else applies access rules may remove them.

A DENY on the active cluster denies the replicator, many on the standby deny the applications. So there is always one
whose stay can be seen: ``dr_health`` looks each minute, and the register keeps what it saw. Before an adoption there is
none: the adoption adds a harmless one and waits.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from kafka_dr import parallel
from kafka_dr.clusters import Acl
from kafka_dr.durations import duration
from kafka_dr.fencing import plan
from kafka_dr.fencing.change import AclChanges
from kafka_dr.outcomes import Check
from kafka_dr.register.added_acls import AddedAcls, Lasting
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.topology.access_rules import AccessRulesSpec
from kafka_dr.waiting import PAUSE_SECONDS, wait_until

NAME = "denies_last"
#: DENYs that are removed twice within this time are removed by a program, not by a slip.
TWICE_WITHIN = timedelta(hours=1)
#: For how long it counts that a DENY outlasted a comparison of all rules.
COUNTS_FOR = timedelta(days=1)
#: How old that may be before it is noted again.
_NOTED_EVERY = timedelta(hours=6)


def denies_last(context: GroupContext, clusters: Collection[str]) -> Check:
    """Return whether DENYs of this project last on these clusters, as the registers know it."""

    def known(cluster: str) -> Check:
        lasting = context.clients.register(cluster).added_acls(context.group.name, cluster).lasting
        return judge(cluster, context.clients.topology.cluster(cluster).access_rules, lasting, context.clock.now())

    found = parallel.ask_all(known, clusters).values()
    bad = [check for check in found if check.outcome != "ok"]
    if not bad:
        return Check(NAME, "ok", "; ".join(check.detail for check in found))
    outcome = "failed" if any(check.outcome == "failed" for check in bad) else "unknown"
    return Check(NAME, outcome, "; ".join(check.detail for check in bad))  # type: ignore[arg-type]


def judge(cluster: str, spec: AccessRulesSpec, lasting: Lasting, now: datetime) -> Check:
    """Judge what the register knows of one cluster."""
    if said := removed_twice(cluster, spec, lasting, now):
        return Check(NAME, "failed", said)
    every = spec.reconciles_every_seconds
    if every is None:
        return Check(NAME, "ok", f"nobody is known to remove DENYs of this project on {cluster}")
    if lasting.outlived is None or now - lasting.outlived > COUNTS_FOR:
        seen = f"was last seen {lasting.outlived:%Y-%m-%d %H:%M} UTC" if lasting.outlived else "was never seen"
        return Check(
            NAME,
            "unknown",
            f"it {seen} that a DENY of this project outlasts a comparison of all rules on {cluster}, where they are "
            f"kept in {spec.where}: let dr_health run for {duration(every)} and longer",
        )
    return Check(NAME, "ok", f"a DENY outlasted a comparison on {cluster} at {lasting.outlived:%Y-%m-%d %H:%M} UTC")


def removed_twice(cluster: str, spec: AccessRulesSpec, lasting: Lasting, now: datetime) -> str:
    """Say that somebody removes DENYs of this project again and again; empty if nobody is known to."""
    late = [at for at in lasting.removed if now - at <= TWICE_WITHIN]
    if len(late) < 2:
        return ""
    times = ", ".join(f"{at:%H:%M:%S}" for at in late)
    said = f"somebody removes DENYs of this project on {cluster}, seen at {times} UTC, so no fence would stay there"
    if spec.is_direct:
        return (
            f"{said}: its ACLs are kept elsewhere, in Git or in Kubernetes. Declare access_rules of {cluster} in the "
            "topology, which says where"
        )
    return f"{said}: see whether what applies the rules of {cluster} reads {spec.where}"


def has_outlived(added: AddedAcls, spec: AccessRulesSpec, now: datetime) -> bool:
    """Return whether it is time to note that what was added has outlasted a comparison of all rules.

    :param added: what the register knows of a cluster that has all of it, also where rules are kept
    """
    since, every, noted = added.lasting.since, spec.reconciles_every_seconds, added.lasting.outlived
    if every is None or since is None or not added.current:
        return False
    return now - since >= timedelta(seconds=every) and (noted is None or now - noted > _NOTED_EVERY)


def note_outlived(context: GroupContext, cluster: str) -> None:
    """Note in the register that DENYs on a cluster have outlasted a comparison, if they have and that is news.

    To be called when all of them were found to be in force and written.
    """
    spec = context.clients.topology.cluster(cluster).access_rules
    if spec.reconciles_every_seconds is None:
        return
    kept, now = context.kept_acls(cluster), context.clock.now()
    if has_outlived(kept.known(), spec, now):
        kept.change(lambda found: found.found_outlived(now) if has_outlived(found, spec, now) else found)


def witness_lasts(context: GroupContext, cluster: str, changes: AclChanges, *, also: Collection[str] = ()) -> Check:
    """Add a DENY that stops nobody, and see whether it outlasts a comparison of all rules; then lift it.

    It takes as long as a change and a comparison may take.

    :param also: principals that get such a DENY, next to the probe
    :raises KafkaDrError: it could not be added
    """
    spec, witness = context.clients.topology.cluster(cluster).access_rules, plan.witness(context.group, also)
    every = spec.reconciles_every_seconds or 0.0
    changes.add(witness)
    gone = wait_until(
        lambda: _missing(context, cluster, witness),
        bool,
        clock=context.clock,
        seconds=every,
        pause_seconds=max(PAUSE_SECONDS, every / 100),
    )
    if not gone:
        note_outlived(context, cluster)
    changes.lift(witness)
    if gone:
        return Check(
            NAME,
            "failed",
            f"a DENY of this project that was on {cluster} {gone}: its rules are kept in {spec.where}, but something "
            f"else applies rules there that do not hold it. Let what applies the rules of {cluster} read {spec.where}",
        )
    return Check(
        NAME, "ok", f"a DENY of this project stayed on {cluster} for {duration(every)}, past a comparison of all rules"
    )


def _missing(context: GroupContext, cluster: str, witness: frozenset[Acl]) -> str:
    rules = context.access_rules(cluster)
    if not witness <= rules.list():
        return "was removed from its brokers"
    return "was removed from where rules are kept" if rules.leaving(witness) else ""
