"""Change a cluster's ACLs so that only ACLs added by this project are ever lifted.

ACLs are recorded in a register *before* they are added. If a run is killed between the two, the
register lists an ACL that does not exist, and lifting it does no harm. In the other order, a fence could remain that no
run may lift.

A process can be held up between the question whether it may make a change and the request that makes it, while another
run or a roll back acts. So the question is asked again after each change. If the answer is no by then, the change is
corrected: the cluster gets what the newest record requires of it. While another run moves the group, that is not known,
and closed is safe: what was added stays and is recorded, what was lifted is added again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from kafka_dr.access_rules import AccessRules
from kafka_dr.clock import Clock
from kafka_dr.clusters import Acl
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError, NeedsPerson, Refused, TryAgain
from kafka_dr.fencing.closure import found_in, held, lacking, whole
from kafka_dr.register.added_acls import AddedAcls
from kafka_dr.register.kept_acls import KeptAcls
from kafka_dr.register.state import RegisterState

#: A change must follow the register read that permits it within this time, in seconds.
FRESH_SECONDS = 1.0
_TRIES = 5

#: Reads the register, and raises :class:`~kafka_dr.errors.Refused` unless the caller may still make changes. Returns
#: the record that permits it; ``None`` where a caller needs none.
Permission = Callable[[], RegisterState | None]
#: Reads the register, and returns the DENYs of the group that the cluster must have; ``None`` while a run moves it.
Required = Callable[[], frozenset[Acl] | None]


def permitted_at(permission: Callable[[], object], clock: Clock) -> float | None:
    """Ask whether a change may be made, a few times, until an answer takes no longer than it may be old.

    :returns: when that was asked, by the clock: from then on the answer gets old. ``None`` if each one took longer
    :raises KafkaDrError: the change is not permitted, or the register cannot be read
    """
    for _ in range(_TRIES):
        asked = clock.monotonic()
        permission()
        if clock.monotonic() - asked <= FRESH_SECONDS:
            return asked
    return None


def is_permitted_now(permission: Callable[[], object], clock: Clock) -> bool:
    """Return whether a change may be made, by an answer that is new enough; see :func:`permitted_at`."""
    return permitted_at(permission, clock) is not None


class AclChanges:
    """Adds and lifts the ACLs of one protection group on one cluster.

    :param rules: where the cluster's ACLs are kept
    :param kept: where is recorded what was added to it
    :param permission: called right before and right after each change
    :param required: what a change is corrected by if it was held up
    """

    def __init__(
        self,
        group: str,
        rules: AccessRules,
        kept: KeptAcls,
        *,
        permission: Permission,
        required: Required,
        clock: Clock,
    ) -> None:
        self._group = group
        self._rules = rules
        self.kept = kept
        self._permission = permission
        self._required = required
        self._clock = clock

    def add(self, *stages: Collection[Acl]) -> frozenset[Acl]:
        """Add the missing ACLs, each stage after the one before it was answered, and return those that were added.

        :raises Refused: the register does not permit it, or did not any more when the ACLs were sent; then the change
            was corrected
        """
        present = self._standing(_union(stages))
        return self._add([lacking(stage, present) for stage in stages], present)

    def _add(self, stages: Sequence[frozenset[Acl]], present: frozenset[Acl]) -> frozenset[Acl]:
        missing = self._in_order(stages)
        added = _union(missing)
        if not added:
            return added
        # A run that may not add ACLs must not record them: a DENY of another owner could become one that is lifted.
        epoch = self._permitted()
        recorded = self.kept.known()
        # One that was lifted in this epoch, and that a request held up has added again, is this project's.
        ours = added | (present & recorded.remembered(epoch))
        at = None if self._rules.is_direct else self._clock.now()
        if recorded.adding(ours, epoch=epoch, at=at) != recorded:
            self._record(lambda found, epoch: found.adding(ours, epoch=epoch, at=at))
        self._send(self._rules.add, missing, lifting=False)
        return added

    def close(self, listed: Collection[Acl]) -> frozenset[Acl]:
        """Replace these by one DENY of every operation on each resource, and return those that were replaced.

        It is added first. Only what this project added is replaced, and only where what covers it is this project's,
        too, and in force. Brokers apply changes in the order in which they were made, so no moment is without a DENY.

        :raises Refused: see :meth:`add`
        """
        covering = whole(listed)
        present = covering & self._rules.list()
        self._add([covering - present], present)
        ours = self.kept.read().current
        covered = held(frozenset(listed) & ours, covering & ours & self._rules.list())
        if covered:
            self._send(self._rules.remove, [covered], lifting=True)
            self._record(lambda found, epoch: found.lifting(covered, epoch=epoch))
        return covered

    def missing(self, *stages: Collection[Acl]) -> frozenset[Acl]:
        """Return what :meth:`add` would add."""
        wanted = _union(stages)
        return lacking(wanted, self._standing(wanted))

    def lift(self, *stages: Collection[Acl]) -> frozenset[Acl]:
        """Remove those of the ACLs that this project added, stage by stage, and return them; other ACLs stay.

        What covers one of them is removed with it: with either, nobody is let in.

        :raises Refused: see :meth:`add`
        """
        recorded = self.kept.read()
        known = recorded.current | recorded.lifted
        stages = tuple(found_in(known, stage) for stage in stages)
        ours, again = recorded.current, recorded.lifted & _union(stages)
        if again := again and again & recorded.remembered(self._permitted()):
            # Sending thousands of them for nothing would keep the controller from its work.
            ours |= self._there(again)
        removed = self._in_order([frozenset(stage) & ours for stage in stages])
        lifted = _union(removed)
        if lifted:
            self._send(self._rules.remove, removed, lifting=True)
            self._record(lambda found, epoch: found.lifting(lifted, epoch=epoch))
        return lifted

    def foreign(self, unwanted: Collection[Acl]) -> frozenset[Acl]:
        """Return those of the ACLs, of either kind, that are on the cluster but were not added by this project."""
        added = self.kept.read()
        others = found_in(self._rules.list(), unwanted) - added.current
        return others - added.remembered(self._permitted()) if others & added.lifted else others

    def _standing(self, wanted: frozenset[Acl]) -> frozenset[Acl]:
        """Return those of the ACLs, of either kind, that are in force and stay so.

        Of this project's, those are meant that are also written.
        """
        present = found_in(self._rules.list(), wanted)
        leaving = self._rules.leaving(present)
        if not leaving:
            return present
        return present - (leaving & self.kept.known().current)

    def _there(self, acls: frozenset[Acl]) -> frozenset[Acl]:
        """Return those of the ACLs that are in force, or will be."""
        return (acls & self._rules.list()) | self._rules.coming(acls)

    def _in_order(self, stages: Sequence[frozenset[Acl]]) -> Sequence[frozenset[Acl]]:
        """Return what is sent, one after the other."""
        return stages if self._rules.is_direct else [_union(stages)]

    def _record(self, change: Callable[[AddedAcls, int], AddedAcls]) -> None:
        """Change the record of added ACLs; a caller that was held up must not remove from it what others added."""
        self.kept.change(lambda found: change(found, self._permitted()))

    def _permitted(self) -> int:
        """Return the epoch of the record that permits a change now.

        :raises TryAgain: the register answers too slowly
        """
        seen: list[RegisterState | None] = []
        if not is_permitted_now(lambda: seen.append(self._permission()), self._clock):
            raise TryAgain(
                f"{self._rules.cluster}: no read of the register before an ACL change took less than "
                f"{duration(FRESH_SECONDS)}, in {_TRIES} tries: the change was not made, run the step again"
            )
        return seen[-1].epoch if seen[-1] else 0

    def _send(self, change: Callable[..., None], stages: Sequence[frozenset[Acl]], *, lifting: bool) -> None:
        """Make a change in stages; if it was not permitted any more when it was sent, correct it."""
        sent: set[Acl] = set()
        began = self._clock.monotonic()
        try:
            for stage in filter(None, stages):

                def before_each(stage: frozenset[Acl] = stage) -> int:
                    epoch = self._permitted()
                    sent.update(stage)
                    return epoch

                change(stage, before_each=before_each)
            self._permission()
            if not self._rules.is_direct:
                took = self._clock.monotonic() - began
                self._record(lambda found, _: found.found_slow(took))
        except Refused as refusal:
            self._correct(frozenset(sent), refusal, lifting=lifting)
            raise
        except KafkaDrError:
            # The request may arrive all the same.
            try:
                self._permission()
            except Refused as refusal:
                self._correct(frozenset(sent), refusal, lifting=lifting)
            raise

    def _correct(self, sent: frozenset[Acl], refusal: Refused, *, lifting: bool) -> None:
        """Give the cluster what the newest record requires, as far as this caller has changed it.

        After each correction the register is read again: the correction can be held up, too.

        :raises NeedsPerson: that did not succeed
        """
        if not sent:
            return
        try:
            for _ in range(_TRIES):
                required = self._required()
                wanted = self._wanted(sent, required, lifting=lifting)
                owned = partial(_owned, kept=wanted, gone=sent - wanted)
                self.kept.change(owned)
                self._rules.add(lacking(wanted, self._standing(wanted)))
                self._rules.remove(self._there(sent - wanted))
                if self._required() == required:
                    return
        except KafkaDrError as error:
            raise NeedsPerson(
                f"{self._rules.cluster}: {len(sent)} ACLs were changed too late ({refusal}), and that could not be "
                f"corrected: {error}. Compare the ACLs of {self._rules.cluster} with the register: see dr_health"
            ) from error
        raise TryAgain(
            f"{self._rules.cluster}: {len(sent)} ACLs were changed too late ({refusal}), and the register of "
            f"{self._group} keeps changing: see what dr_health says about the ACLs of {self._rules.cluster}"
        )

    def _wanted(self, sent: frozenset[Acl], required: frozenset[Acl] | None, *, lifting: bool) -> frozenset[Acl]:
        if required is not None:
            # One that covers what is required stays: what it covers may have been lifted since.
            return found_in(sent, required)
        return sent if lifting else self._there(sent)


def _union(stages: Collection[Collection[Acl]]) -> frozenset[Acl]:
    return frozenset[Acl]().union(*stages)


def _owned(found: AddedAcls, *, kept: frozenset[Acl], gone: frozenset[Acl]) -> AddedAcls:
    """Return the record with every ACL that a late change has added or lifted: none of them belongs to others."""
    current = found.current | kept
    return replace(found, current=current - gone, lifted=(found.lifted | gone) - (current - gone))
