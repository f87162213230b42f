"""Whether the DENYs of a take over will stay where they are put: seen before the audit, at the latest by preflight.

If something removed them, the existing replication could write to the copy again, and everybody would believe that it
is denied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kafka_dr import parallel
from kafka_dr.adoption.fenceable import lasting_on, seen_to_last
from kafka_dr.adoption.registers import create_registers
from kafka_dr.adoption.take_over.checks import OF_THE_AUDIT
from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.errors import KafkaDrError
from kafka_dr.outcomes import Check
from kafka_dr.runs.run import Run


def with_lasting_seen(context: TakeOverContext, checks: Sequence[Check]) -> tuple[Check, ...]:
    """Return the checks of a take over after it was seen whether DENYs last, if nothing but the audit is in the way.

    An audit may take hours, so what would make it vain is found before it. That needs the registers, which are created.
    A dry run changes nothing: what it would see is excused.

    :param checks: of the same moment
    """
    run = context.run
    clusters = {lasting_on(cluster): cluster for cluster in (run.source, run.target)}
    stops = [check for check in checks if not check.passes and check.name not in OF_THE_AUDIT]
    unseen = [clusters[check.name] for check in stops if check.name in clusters and check.outcome == "unknown"]
    if not unseen or len(unseen) < len(stops):
        return tuple(checks)
    if run.request.dry_run:
        return tuple(_excused(each, clusters[each.name]) if each in stops else each for each in checks)
    create_registers(run)
    found = parallel.ask_all(lambda cluster: _seen(run, cluster, context.declared.principal), unseen)
    seen = {check.name: check for check in found.values()}
    return tuple(seen.get(check.name, check) for check in checks)


def _seen(run: Run, cluster: str, existing: str) -> Check:
    # Elsewhere nothing of the existing replication is denied, and perhaps nobody there knows its principal.
    also = (existing,) if cluster == run.target and not run.group.existing_is_own else ()
    try:
        return seen_to_last(run, cluster, run.register_state, also=also)
    except KafkaDrError as error:
        return Check(lasting_on(cluster), "unknown", str(error))


def _excused(check: Check, cluster: str) -> Check:
    said = f"a dry run adds no DENY, so nobody sees whether one outlasts a comparison of all rules on {cluster}"
    return replace(check, outcome="excused", detail=said)
