"""The replication that was there before an adoption copies again: it gets its positions, no DENY is left, and it runs.

That its positions were handed over is journaled, and nothing else says so: whether it runs does not. Its owner may have
started it again at any time, and by its DENY it has failed since. A later try of the same run hands nothing over again,
because the existing replication may have copied records by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_dr.clusters import TopicPartition
from kafka_dr.codec import StoredDocument
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.fencing import plan
from kafka_dr.outcomes import Check
from kafka_dr.replication.existing.port import ExistingReplication, ExistingStatus
from kafka_dr.runs.group_context import PROOF_SECONDS
from kafka_dr.runs.register_guard import RegisterGuard
from kafka_dr.runs.run import Run
from kafka_dr.waiting import wait_until

#: The name of the fact: the existing replication has the positions of this project's flow, or takes none.
POSITIONS_GIVEN = "positions_given"


@dataclass(frozen=True, slots=True)
class HandedOver(StoredDocument):
    """What was handed over to the existing replication.

    :param positions: how many it was given
    :param uncopied: the partitions that it does not copy
    :param because: why it was given none; empty if it was given some
    """

    positions: int = 0
    uncopied: tuple[str, ...] = ()
    because: str = ""

    def __str__(self) -> str:
        if self.because:
            return f"none are handed over ({self.because}): if it runs, it copies again what was copied since"
        left = f"; it does not copy {', '.join(self.uncopied[:3])}" if self.uncopied else ""
        more = f" and {len(self.uncopied) - 3} more partitions" if len(self.uncopied) > 3 else ""
        return f"{counted(self.positions, 'position')} handed over{left}{more}"


def hand_over(
    run: Run, guard: RegisterGuard, existing: ExistingReplication, positions: Mapping[TopicPartition, int]
) -> HandedOver:
    """Let the existing replication continue after what this project's flow has copied, once in a run.

    :param guard: asked right before each change
    :param positions: next to read of that flow, which is stopped
    :raises TryAgain: it could not be stopped
    """
    facts = run.clients.register(run.source).facts(run.group.name, run.request.run)
    if (journaled := facts.get(POSITIONS_GIVEN)) is not None:
        return HandedOver.from_json(journaled)
    found = _given(run, guard, existing, positions)
    run.write_fact(POSITIONS_GIVEN, found.to_json())
    return found


def _given(
    run: Run, guard: RegisterGuard, existing: ExistingReplication, positions: Mapping[TopicPartition, int]
) -> HandedOver:
    status = existing.status()
    if status.is_gone:
        return HandedOver(because=f"{status}")
    if not (able := existing.abilities().seed).can:
        return HandedOver(because=f"it takes none: {able.reason}")
    if not status.at_rest:
        guard.require()
        existing.stop(run.group.timing.step_deadline_seconds)
    guard.require()
    uncopied = existing.seed(positions)
    return HandedOver(len(positions) - len(uncopied), tuple(map(str, uncopied)))


def let_run(run: Run, guard: RegisterGuard, existing: ExistingReplication, was: ExistingStatus) -> str:
    """Let the existing replication do what it did before it was stopped; say what it does.

    :param was: what its parts did then
    """
    if (status := existing.status()).is_gone:
        return f"{status}: whoever deleted it has to create it again"
    if not existing.abilities().stop.can:
        return "the DENY that stopped it is lifted; a process that ended because of it has to be started by its owner"
    if not (able := existing.abilities().resume).can:
        return f"it was stopped, and its owner has to start it again: {able.reason}"
    guard.require()
    return str(existing.resume(was, run.group.timing.step_deadline_seconds))


def runs_again(name: str, existing: ExistingReplication, was: ExistingStatus) -> Check:
    """Return whether the existing replication does what it did; of one that cannot be asked nothing is known.

    :param name: of the check
    :param was: what its parts did before it was stopped
    """
    try:
        status = existing.status()
        if status.is_gone:
            return _gone(name, status, [part.name for part in status.parts])
        if not existing.abilities().state.can:
            return Check(name, "excused", f"{existing.described} cannot be asked; look whether it copies")
    except KafkaDrError as error:
        return Check(name, "unknown", f"the existing replication could not be asked: {error}. Run this again")
    ran = [part.name for part in was.parts if part.state in ("running", "unassigned", "restarting")]
    if still := [each for each in ran if status.state_of(each) not in ("running", "absent")]:
        return Check(name, "failed", f"{status}: {', '.join(still)} ran before, expected running")
    if unsure := [each for each in was.unknown if status.state_of(each) not in ("running", "absent")]:
        said = f"{status}: nobody knew what {', '.join(unsure)} did before. If it ran, start it, then run this again"
        return Check(name, "unknown", said)
    if gone := [each for each in ran if status.state_of(each) == "absent"]:
        return _gone(name, status, gone)
    return Check(name, "ok", f"{status}")


def lift_all(run: Run, cluster: str, guard: RegisterGuard) -> int:
    """Lift every DENY that this project added to a cluster for this group; others stay.

    What an earlier try has lifted is lifted again if it is in force: a request that was held up may have added it.
    """
    added = run.clients.register(cluster).added_acls(run.group.name, cluster)
    existing = plan.existing_denies(run.group, cluster)
    ours = added.current | added.remembered(run.epoch)
    return len(run.acl_changes(cluster, guard).lift(existing, ours - existing))


def denies_lifted(run: Run) -> Check:
    """Return whether none of the DENYs is in force that this project had added on any cluster.

    A lift empties the list of what is added, whether or not it worked. So what it was to lift is compared, too.
    """
    left = wait_until(lambda: _in_force(run), lambda found: not found, clock=run.clock, seconds=PROOF_SECONDS)
    said = f"{len(left)} DENYs are left: {'; '.join(left[:3])}" if left else "none of this project's DENYs is left"
    return Check.that("denies_lifted", not left, said)


def _in_force(run: Run) -> list[str]:
    found = []
    for cluster in (run.source, run.target, *run.further_standbys):
        added = run.clients.register(cluster).added_acls(run.group.name, cluster)
        ours = added.current | added.remembered(run.epoch)
        found += [f"{acl} on {cluster}" for acl in sorted(ours & run.rules_in_force(cluster))]
    return found


def _gone(name: str, status: ExistingStatus, gone: list[str]) -> Check:
    said = f"{status}: somebody has deleted {', '.join(gone)}, so nothing copies what it copied. Create it again"
    return Check(name, "excused", said)
