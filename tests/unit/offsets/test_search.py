"""I3 over random logs whose truth the generator knows: no translated offset is ever past an unread record."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.positions import OffsetPair, SeedPoint
from support.search_logs import (
    LogPair,
    compacted,
    logs,
    some,
    translate,
)


@given(st.booleans(), st.data())
@settings(max_examples=150, deadline=None)
def test_records_that_look_alike_never_make_a_group_late(foreign: bool, data: st.DataObject) -> None:
    found = data.draw(logs(unique=False, foreign=foreign))
    position = data.draw(st.integers(0, found.bounds.source.end))
    answer = translate(found, position, some(data, found.anchors()))
    # A foreign record that equals an expired copy in every byte, time included, replaces it: the two cannot be
    # distinguished, so an unread record between their offsets is passed over.
    if foreign and found.foreign() & {entry.content for entry in found.source if not found.held(entry.offset)}:
        return
    assert answer.target_offset is None or not found.unseen(position, answer.target_offset, gone_too=not foreign)


@given(logs(unique=True, lossy=True, doubled=True), st.data())
@settings(max_examples=150, deadline=None)
def test_wrong_anchors_losses_and_doubled_records_never_make_a_group_late(found: LogPair, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, found.bounds.source.end))
    # A pair is believed as it is only where its record expired on the source: what can be read is read.
    on_source = st.integers(found.bounds.source.start + 1, found.bounds.source.end + 3)
    on_target = st.integers(0, found.bounds.target.end + 3)
    wrong = st.one_of(st.builds(OffsetPair, on_source, on_target), st.builds(SeedPoint, on_source, on_target))
    anchors = some(data, found.anchors()) + data.draw(st.lists(wrong, max_size=6))
    answer = translate(found, position, anchors)
    assert answer.target_offset is None or not found.late(position, answer.target_offset)


@given(logs(unique=True, lossy=True), st.data())
@settings(max_examples=100, deadline=None)
def test_an_exact_answer_delivers_nothing_again_and_a_bounded_one_no_more_than_it_says(
    found: LogPair, data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, found.bounds.source.end))
    answer = translate(found, position, some(data, found.anchors()))
    if answer.target_offset is None:
        assert (answer.kind, found.bounds.target.start > 0) == ("unknown", True)
        return
    assert answer.redelivered_at_most is not None
    assert len(found.again(position, answer.target_offset)) <= answer.redelivered_at_most
    assert answer.kind == "bounded" or answer.redelivered_at_most == 0


@given(st.one_of(logs(unique=True, lossy=True, doubled=True), logs(unique=False, lossy=True)), st.data())
@settings(max_examples=300, deadline=None)
def test_the_records_around_an_offset_never_contradict_what_the_search_found(
    found: LogPair, data: st.DataObject
) -> None:
    """Otherwise a failover would be refused without a reason: a late offset refuses it.

    Undecidable, and so refused, is an unread record that equals in every byte one on the target whose original the
    source does not hold, as it has expired or never was there: nobody can say whether that is its copy. The same holds
    for a record whose own copy the target does not hold: the other one may be taken for it.
    """
    position = data.draw(st.integers(0, found.bounds.source.end))
    asked = {entry.content for entry in found.source if entry.offset >= position or not found.held(entry.offset)}
    if not found.foreign() & asked:
        assert translate(found, position, some(data, found.anchors())).proof != "late"


@given(logs(unique=True, foreign=False, expiring=False), st.data())
@settings(max_examples=80, deadline=None)
def test_a_faithful_copy_is_always_translated_exactly(found: LogPair, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, found.bounds.source.end))
    stride = data.draw(st.integers(1, 30))
    answer = translate(found, position, some(data, found.anchors()), stride=stride)
    assert (answer.kind, answer.proof) == ("exact", "right"), answer


@given(logs(unique=True), st.data())
@settings(max_examples=80, deadline=None)
def test_the_nearest_anchor_makes_up_for_foreign_records_below_it(found: LogPair, data: st.DataObject) -> None:
    held = [entry for entry in found.source if found.held(entry.offset)]
    if not held:
        return
    last = data.draw(st.sampled_from(held))
    answer = translate(found, last.offset + 1, found.anchors())
    assert answer.target_offset == found.held(last.offset)[0] + 1
    following = [e.content for e in found.target if e.offset >= answer.target_offset]
    foreign = next((n for n, content in enumerate(following) if b"foreign" not in content), len(following))
    assert (answer.kind == "exact") == (foreign == 0), answer


@given(logs(unique=True, foreign=False, expiring=False), st.data())
@settings(max_examples=300, deadline=None)
def test_compaction_on_either_cluster_never_makes_a_group_late(found: LogPair, data: st.DataObject) -> None:
    """The cleaner of each cluster works by itself: it may keep superseded records, and keeps the newest ones."""
    found = compacted(found, data)
    position = data.draw(st.integers(0, found.bounds.source.end))
    answer = translate(found, position, some(data, found.anchors()))
    assert answer.target_offset is not None, answer
    there = {entry.offset for entry in found.target}
    copies = {offset: copy[0] for offset, copy in found.copies.items() if copy[0] in there}
    unread = [copy for offset, copy in copies.items() if offset >= position]
    assert all(copy >= answer.target_offset for copy in unread)
    again = [copy for offset, copy in copies.items() if offset < position and copy >= answer.target_offset]
    assert answer.redelivered_at_most is not None
    assert len(again) <= answer.redelivered_at_most


@given(logs(unique=True), st.integers(1, 500))
def test_a_position_past_the_end_is_unknown(found: LogPair, beyond: int) -> None:
    answer = translate(found, found.bounds.source.end + beyond, found.anchors())
    assert (answer.kind, answer.target_offset) == ("unknown", None)


@given(logs(unique=True, foreign=False), st.data())
@settings(max_examples=200, deadline=None)
def test_where_both_logs_hold_the_last_record_read_no_anchor_is_needed(found: LogPair, data: st.DataObject) -> None:
    held = [entry for entry in found.source if found.held(entry.offset)]
    if not held:
        return
    last = data.draw(st.sampled_from(held))
    above = [anchor for anchor in found.anchors() if anchor.source > last.offset]
    answer = translate(found, last.offset + 1, some(data, above), stride=data.draw(st.integers(1, 40)))
    assert (answer.kind, answer.proof) == ("exact", "right"), answer
    assert not found.late(last.offset + 1, answer.target_offset or 0)
    assert not found.again(last.offset + 1, answer.target_offset or 0)
