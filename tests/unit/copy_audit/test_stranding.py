"""Which records were never copied: the rule alone, on sequences of made-up content."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copy_audit.fingerprints import Fingerprints
from copy_audit.stranding import Stranding, StrandingInput, strand, without_held

#: Offsets of a log whose records have holes between them, as transaction markers leave.
_HOLES = 3


def log(contents: str, *, first: int = 0, every: int = 1, keys: str | None = None) -> Fingerprints:
    """Return a log with one record for each letter; a capital letter in ``keys`` is a tombstone."""
    offsets = np.arange(len(contents), dtype=np.int64) * every + first
    hashes = np.array([ord(letter) for letter in contents], np.int64)
    keyed = None
    if keys is not None:
        keyed = np.array([ord(letter.lower()) << 1 | letter.isupper() for letter in keys], np.int64)
    return Fingerprints(offsets, np.zeros(len(contents), np.int64), hashes, keyed)


def stranded(
    old: Fingerprints,
    new: Fingerprints,
    *,
    compacted: bool = False,
    since: Fingerprints | None = None,
    copied_until: int = 0,
    expired: int = 0,
    copies_expired: bool = False,
) -> Stranding:
    begins = int(old.offsets[0]) if len(old) else 0
    sides = StrandingInput(0, old, new, since or log(""), begins, copied_until, expired, copies_expired)
    return strand(sides, compacted=compacted)


def test_every_record_after_the_last_copied_one_is_stranded() -> None:
    found = stranded(log("abcdef", first=10), log("abcd"))
    assert found == Stranding(copied_until=14, records=2, ranges=((14, 16),), missing=0)


def test_nothing_is_stranded_if_everything_was_copied() -> None:
    assert stranded(log("abc"), log("abc")) == Stranding(3, 0, (), 0)


def test_everything_is_stranded_if_nothing_was_copied() -> None:
    assert stranded(log("abc", first=5), log("")) == Stranding(5, 3, ((5, 8),), 0)


def test_of_equal_records_at_the_boundary_as_many_are_stranded_as_were_not_copied() -> None:
    assert stranded(log("xaaa"), log("xa")) == Stranding(2, 2, ((2, 4),), 0)


def test_holes_between_records_do_not_split_a_stretch() -> None:
    found = stranded(log("abcde", every=_HOLES), log("ab", every=2))
    assert (found.copied_until, found.records, found.ranges) == (4, 3, ((6, 13),))


def test_a_record_that_was_passed_over_is_stranded_as_well() -> None:
    assert stranded(log("abcd"), log("acd")) == Stranding(4, 1, ((1, 2),), 0)


def test_copied_records_that_the_old_cluster_lost_are_counted_and_not_stranded() -> None:
    assert stranded(log("ab"), log("abcd")) == Stranding(2, 0, (), 2)


def test_what_expired_on_the_old_cluster_is_not_missing() -> None:
    assert stranded(log("cd", first=2), log("abcd"), expired=2).missing == 0
    assert stranded(log("", first=2), log("abcd"), expired=2).missing == 0
    assert stranded(log("cd", first=2), log("abcde"), expired=2).missing == 1


def test_what_expired_before_it_was_listed_is_unknown_unless_a_later_record_was_copied() -> None:
    assert stranded(log("ef", first=4), log("ab"), expired=3).expired == 3
    assert stranded(log("ef", first=4), log("abcd"), expired=3, copied_until=4).expired == 0
    assert stranded(log("ef", first=4), log("ab"), expired=3, copied_until=2).expired == 2
    assert stranded(log("ef", first=4), log("abcde"), expired=3).expired == 0


def test_a_copy_that_expired_is_no_reason_to_call_its_original_stranded() -> None:
    old = log("abcdef")
    assert stranded(old, log("cd", first=2), copies_expired=True) == Stranding(4, 2, ((4, 6),), 0)
    # No copy is left: what the flow itself said decides, and without a word of it nothing is given up.
    assert stranded(old, log(""), copies_expired=True, copied_until=4).ranges == ((4, 6),)
    assert stranded(old, log(""), copies_expired=True).ranges == ((0, 6),)
    assert stranded(old, log("cd", first=2)).ranges == ((0, 2), (4, 6))


def test_a_copy_that_compaction_took_is_no_reason_to_call_its_original_stranded() -> None:
    old, new = log("abcd", keys="kklm"), log("bd", keys="km")
    # "a" was replaced by "b" already on the old cluster; "c" by a record that was written to the active cluster since.
    assert stranded(old, new, compacted=True, since=log("z", keys="l")).records == 0
    assert stranded(old, new, compacted=True).ranges == ((2, 3),)


def test_after_what_the_flow_copied_a_newer_record_of_the_key_excuses_nothing() -> None:
    old, new = log("abc", keys="klm"), log("a", keys="k")
    assert stranded(old, new, compacted=True, since=log("z", keys="l")).ranges == ((1, 3),)
    # The flow says that it had copied "b": the newer record replaced its copy.
    assert stranded(old, new, compacted=True, since=log("z", keys="l"), copied_until=2).ranges == ((2, 3),)


def test_a_tombstone_that_was_copied_and_is_gone_is_not_stranded() -> None:
    old, new = log("abc", keys="kLm"), log("ac", keys="km")
    assert stranded(old, new, compacted=True).records == 0


@pytest.mark.parametrize("every", [1, _HOLES])
@given(contents=st.text("abc", max_size=40), crossing=st.integers(0, 40))
def test_a_copy_of_any_beginning_leaves_exactly_the_rest(contents: str, crossing: int, every: int) -> None:
    old, new = log(contents, first=100, every=every), log(contents[:crossing])
    found = stranded(old, new)
    assert (found.records, found.missing) == (max(0, len(contents) - crossing), 0)
    if found.records:
        rest = old.offsets[crossing:]
        assert found.ranges == ((int(rest[0]), int(rest[-1]) + 1),)


@pytest.mark.parametrize(
    ("third", "left"),
    [
        ("", ((12, 16),)),
        ("abcd", ((14, 16),)),
        ("abcdef", ()),
        ("xbcd", ((14, 16),)),
        ("abcf", ((13, 15),)),
    ],
)
def test_what_another_standby_holds_is_not_stranded_whatever_else_it_holds(
    third: str, left: tuple[tuple[int, int], ...]
) -> None:
    old = log("abcdef", first=10)
    found = stranded(old, log("ab"))
    given = StrandingInput(0, old, log(third), log(""), begins=10)
    rest = without_held(found, given, compacted=False)
    assert rest == Stranding(found.copied_until, sum(end - start for start, end in left), left, 0)


@given(st.text("abc", max_size=8), st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_what_is_left_out_is_on_the_other_standby(held: str, active: str, third: str) -> None:
    old = log(held)
    found = stranded(old, log(active))
    rest = without_held(found, StrandingInput(0, old, log(third), log(""), begins=0), compacted=False)
    inside = [set(range(start, end)) for start, end in found.ranges]
    kept = set().union(*(set(range(start, end)) for start, end in rest.ranges))
    all_of_them = set().union(*inside)
    assert kept <= all_of_them
    assert rest.records == len(kept)
    given_up = [held[offset] for offset in sorted(all_of_them - kept)]
    for letter in set(given_up):
        assert given_up.count(letter) <= third.count(letter)
