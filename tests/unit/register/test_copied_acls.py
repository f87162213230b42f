"""Two registers know what was added to a cluster: its own one, and another one, which may be ahead or remain alone."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.register.added_acls import AddedAcls, Lasting

ACLS = [
    Acl(ResourceType.TOPIC, f"t{n}", PatternType.LITERAL, "User:app", AclOperation.WRITE, AclPermission.DENY)
    for n in range(4)
]
FIRST, SECOND = ACLS[:2]
some = st.frozensets(st.sampled_from(ACLS))


def test_what_only_the_copy_has_taken_counts_as_added() -> None:
    own = AddedAcls().after(lambda found: found.adding({FIRST}, epoch=1))
    copy = own.adding({SECOND}, epoch=2).as_copy(own)
    assert copy.ahead == {SECOND}
    assert own.with_copy(copy).current == {FIRST, SECOND}


def test_what_was_lifted_since_is_not_added_again_by_a_copy_that_did_not_learn_of_it() -> None:
    own = AddedAcls().after(lambda found: found.adding({FIRST, SECOND}, epoch=1))
    copy = own
    own = own.after(lambda found: found.lifting({SECOND}, epoch=2))
    assert own.with_copy(copy).current == {FIRST}


def test_what_was_lifted_and_added_to_the_copy_again_later_counts_as_added() -> None:
    own = AddedAcls().after(lambda found: found.adding({FIRST, SECOND}, epoch=1))
    copy = own
    own = own.after(lambda found: found.lifting({FIRST, SECOND}, epoch=2))
    copy = copy.adding({SECOND}, epoch=3).as_copy(copy)
    whole = own.with_copy(copy)
    assert (whole.current, whole.lifted) == (frozenset({SECOND}), frozenset({FIRST}))
    lifted = whole.after(lambda found: found.lifting({SECOND}, epoch=4))
    assert lifted.with_copy(copy).current == frozenset()


def test_a_record_that_was_lost_is_taken_from_its_copy_also_after_a_new_one_was_begun() -> None:
    at = datetime(2026, 11, 27, tzinfo=UTC)
    own = AddedAcls().after(lambda found: found.adding({FIRST}, epoch=1, at=at))
    own = own.after(lambda found: found.adding({SECOND}, epoch=1))
    assert AddedAcls().with_copy(own) == own
    begun_again = AddedAcls().after(lambda found: found.adding({ACLS[2]}, epoch=3))
    whole = begun_again.with_copy(own)
    assert whole.current == {FIRST, SECOND, ACLS[2]}
    assert whole.lasting == Lasting(since=at)
    assert whole.with_copy(own).current == whole.current
    assert whole.after(lambda found: found.lifting({FIRST}, epoch=4)).with_copy(own).current == {SECOND, ACLS[2]}


@given(some, some, some)
def test_nothing_that_was_added_is_forgotten_and_a_settled_copy_changes_nothing(
    before: frozenset[Acl], added: frozenset[Acl], lifted: frozenset[Acl]
) -> None:
    own = AddedAcls().after(lambda found: found.adding(before, epoch=1))
    copy = own.adding(added, epoch=2).as_copy(own)
    copy = copy.lifting(lifted, epoch=2).as_copy(copy)
    whole = own.with_copy(copy)
    assert before | (added - lifted) <= whole.current <= before | added
    assert copy.ahead <= copy.current
    assert whole.with_copy(whole) == whole


@given(some, some, some, st.integers(0, 9))
def test_a_copy_reads_back_as_it_was(
    current: frozenset[Acl], lifted: frozenset[Acl], ahead: frozenset[Acl], revision: int
) -> None:
    copy = AddedAcls(current, lifted, 3 if lifted else 0, ahead=ahead & current, revision=revision)
    read = AddedAcls.of_value(copy.value())
    assert (read, read.revision) == (copy, revision)
