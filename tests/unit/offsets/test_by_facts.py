"""I3 for offsets that facts alone translate, over random logs with a known truth; and each rule by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.audit.offset_runs import OffsetRun, joined
from kafka_dr.offsets.maps import VerifiedRuns, composed_runs, inverse
from kafka_dr.offsets.syncs.history import ArchivedSync, CheckpointRule, composed, history
from kafka_dr.offsets.translate.answers import starts_of_empty
from kafka_dr.offsets.translate.choice import with_checkpoint
from kafka_dr.offsets.translate.facts import PartitionFacts, never_committed, translate_by_facts
from kafka_dr.offsets.translate.pipeline import translate_offsets
from kafka_dr.positions import OffsetRange, TopicPartition


@dataclass
class Copying:
    """A log, what a flow made of it, and what is true about both.

    :param copies: of each source record: the offsets of all its copies
    """

    source: list[int] = field(default_factory=list)
    end: int = 0
    target_end: int = 0
    copies: dict[int, list[int]] = field(default_factory=dict)
    syncs: list[ArchivedSync] = field(default_factory=list)

    def copy(self, offset: int, *, synced: bool) -> None:
        self.copies.setdefault(offset, []).append(self.target_end)
        if synced:
            self.syncs.append(ArchivedSync(len(self.syncs), offset, self.target_end, 0))
        self.target_end += 1

    def facts(self, **more: object) -> PartitionFacts:
        fields: dict[str, object] = {"syncs": history(self.syncs), **more}
        return PartitionFacts(OffsetRange(0, self.end), OffsetRange(0, self.target_end), **fields)  # type: ignore[arg-type]

    def runs(self) -> VerifiedRuns:
        """Return the map that a true audit makes: of every record its first copy, as far as these rise."""
        found: list[OffsetRun] = []
        for offset in self.source:
            for copy in self.copies.get(offset, [])[:1]:
                if not found or copy > found[-1].target:
                    found.append(OffsetRun(offset, copy, 1))
        return composed_runs({1: joined(found)})

    def late(self, position: int, answer: int) -> list[int]:
        """Return the unread records that have copies, all of them below the answer."""
        unread = (offset for offset in self.source if offset >= position)
        return [offset for offset in unread if self.copies.get(offset) and max(self.copies[offset]) < answer]

    def again(self, position: int, answer: int) -> int:
        """Count how many times a record below the position would be delivered again."""
        return sum(
            copy >= answer for offset in self.source if offset < position for copy in self.copies.get(offset, ())
        )


@st.composite
def copyings(draw: st.DrawFn, *, faulty: bool) -> Copying:
    made = Copying()
    for _ in range(draw(st.integers(0, 20))):
        made.end += draw(st.sampled_from([0, 0, 0, 1, 4]))
        made.source.append(made.end)
        made.end += 1
    made.end += draw(st.integers(0, 2))
    number, fresh = 0, True
    while number < len(made.source):
        made.target_end += draw(st.sampled_from([0, 0, 0, 1, 2]))
        event = draw(st.sampled_from(["copy"] * 12 + (["lose", "foreign", "restart"] if faulty else [])))
        if event == "foreign":
            made.target_end += 1
        elif event == "restart":
            # Not exactly once: it resumes at the offset that it has stored, and its first record is always synced.
            number, fresh = draw(st.integers(0, number)), True
            made.copy(made.source[number], synced=True)
            number += 1
        elif event == "lose" and made.source[number] not in made.copies:
            number += 1
        else:
            # Syncs are throttled, and may be missing anywhere.
            made.copy(made.source[number], synced=fresh or draw(st.integers(0, 4)) == 0)
            number, fresh = number + 1, False
        if len(made.syncs) > 40:
            break
    made.target_end += draw(st.integers(0, 2))
    return made


@given(copyings(faulty=True), st.data())
@settings(max_examples=150, deadline=None)
def test_syncs_alone_never_make_a_group_late_and_bound_what_comes_again(made: Copying, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, made.end))
    found = translate_by_facts(position, made.facts())
    if found.target_offset is None:
        return
    assert found.kind == "bounded"
    assert not made.late(position, found.target_offset)
    assert found.redelivered_at_most is not None
    assert made.again(position, found.target_offset) <= found.redelivered_at_most


@given(copyings(faulty=False), st.data())
@settings(max_examples=80, deadline=None)
def test_a_position_that_an_audit_reached_is_exact(made: Copying, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, made.end))
    found = translate_by_facts(position, made.facts(runs=made.runs()))
    assert found.target_offset is not None
    assert not made.late(position, found.target_offset)
    if found.kind == "exact":
        assert made.again(position, found.target_offset) == 0
    if made.source and made.source[0] <= position <= made.source[-1] + 1:
        assert found.kind == "exact"


@given(copyings(faulty=True), st.data())
@settings(max_examples=80, deadline=None)
def test_equal_counts_between_two_syncs_prove_nothing(made: Copying, data: st.DataObject) -> None:
    """A hole and a doubled record cancel each other: nothing is ever taken from the distance to a sync."""
    position = data.draw(st.integers(0, made.end))
    facts = made.facts()
    found, below = translate_by_facts(position, facts), facts.syncs.below(position)
    if below is not None and found.target_offset is not None:
        assert found.target_offset <= below.target + 1


@given(copyings(faulty=True), st.data())
@settings(max_examples=150, deadline=None)
def test_syncs_that_were_lost_make_no_group_late(made: Copying, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, made.end))
    keep = data.draw(st.lists(st.booleans(), min_size=len(made.syncs), max_size=len(made.syncs)))
    left = [sync for sync, kept in zip(made.syncs, keep, strict=True) if kept]
    found = translate_by_facts(position, made.facts(syncs=history(left)))
    assert found.target_offset is None or not made.late(position, found.target_offset)


@given(copyings(faulty=True), st.data())
@settings(max_examples=150, deadline=None)
def test_mirrormakers_own_rule_is_never_ahead_of_the_whole_archive(made: Copying, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, made.end))
    facts = made.facts(mirrormaker=CheckpointRule(made.syncs))
    found = with_checkpoint(position, facts, translate_by_facts(position, facts))
    if found.mirrormaker is not None and found.translation.target_offset is not None:
        # Where a flow was set back it forgets the earlier copies; the archive does not.
        assert found.mirrormaker <= found.translation.target_offset or facts.syncs.repeated_from
        assert found.mirrormaker_again is not None
        assert made.again(position, found.mirrormaker) <= found.mirrormaker_again


@dataclass
class Switching:
    """Two logs with the same records over several switches; each epoch one of them is written to and copied."""

    offsets: dict[str, list[int]] = field(default_factory=lambda: {"east": [], "west": []})
    ends: dict[str, int] = field(default_factory=lambda: {"east": 0, "west": 0})
    maps: dict[str, dict[int, list[OffsetRun]]] = field(default_factory=lambda: {"east": {}, "west": {}})
    syncs: dict[str, list[ArchivedSync]] = field(default_factory=lambda: {"east": [], "west": []})

    def facts(self, source: str, target: str) -> PartitionFacts:
        """Return what is known when a group moves from one cluster to the other."""
        runs = dict(self.maps[source]) | {epoch: inverse(found) for epoch, found in self.maps[target].items()}
        return PartitionFacts(
            OffsetRange(0, self.ends[source]),
            OffsetRange(0, self.ends[target]),
            runs=composed_runs(runs),
            syncs=composed(history(self.syncs[source]), history(self.syncs[target])),
        )


@st.composite
def switchings(draw: st.DrawFn, *, mapped: bool) -> Switching:
    made = Switching()
    for epoch in range(1, draw(st.integers(2, 5)) + 1):
        here, there = ("east", "west") if epoch % 2 else ("west", "east")
        begin = len(made.offsets[here])
        for number in range(draw(st.integers(0, 8))):
            for side in (here, there):
                made.ends[side] += draw(st.sampled_from([0, 0, 1, 3]))
                made.offsets[side].append(made.ends[side])
                made.ends[side] += 1
            if number == 0 or draw(st.booleans()):
                pair = made.offsets[here][-1], made.offsets[there][-1]
                made.syncs[here].append(ArchivedSync(len(made.syncs[here]), *pair, 0))
        # An audit reads the whole log, or was only there for a part of the epoch, or never.
        first = 0 if mapped else draw(st.integers(0, len(made.offsets[here])))
        last = len(made.offsets[here]) if mapped else draw(st.integers(first, len(made.offsets[here])))
        pairs = zip(made.offsets[here][first:last], made.offsets[there][first:last], strict=True)
        made.maps[here][epoch] = joined([OffsetRun(source, target, 1) for source, target in pairs])
        assert begin <= len(made.offsets[here])
    return made


@given(switchings(mapped=True), st.data())
@settings(max_examples=150, deadline=None)
def test_a_group_that_never_caught_up_comes_through_every_switch_exact(made: Switching, data: st.DataObject) -> None:
    count = len(made.offsets["east"])
    if not count:
        return
    read = data.draw(st.integers(0, count - 1))
    position, side = made.offsets["east"][read], "east"
    for _ in range(4):
        other = "west" if side == "east" else "east"
        found = translate_by_facts(position, made.facts(side, other))
        assert found.kind == "exact", found
        assert found.target_offset == made.offsets[other][read]
        position, side = found.target_offset, other


@given(switchings(mapped=False), st.data())
@settings(max_examples=100, deadline=None)
def test_maps_of_parts_of_epochs_make_no_group_late(made: Switching, data: st.DataObject) -> None:
    side = data.draw(st.sampled_from(["east", "west"]))
    other = "west" if side == "east" else "east"
    position = data.draw(st.integers(0, made.ends[side]))
    found = translate_by_facts(position, made.facts(side, other))
    if found.target_offset is None:
        return
    read = sum(offset < position for offset in made.offsets[side])
    begun = sum(offset < found.target_offset for offset in made.offsets[other])
    assert begun <= read
    assert found.redelivered_at_most is not None
    assert read - begun <= found.redelivered_at_most
    assert found.kind != "exact" or begun == read


TEN = OffsetRange(0, 10)


def facts(syncs: Sequence[tuple[int, int]] = (), **more: object) -> PartitionFacts:
    found = history([ArchivedSync(at, *pair, 0) for at, pair in enumerate(syncs)])
    fields: dict[str, object] = {"source": TEN, "target": OffsetRange(0, 12), "syncs": found, **more}
    return PartitionFacts(**fields)  # type: ignore[arg-type]


def test_an_idle_group_without_a_checkpoint_of_mirrormaker_gets_an_offset() -> None:
    known = facts([(0, 0), (9, 11)], mirrormaker=CheckpointRule([ArchivedSync(0, 9, 11, 0)]))
    found = with_checkpoint(4, known, translate_by_facts(4, known))
    assert (found.mirrormaker, found.translation.target_offset, found.translation.redelivered_at_most) == (None, 1, 3)


def test_a_group_ahead_of_replication_resumes_after_the_last_copy() -> None:
    found = translate_by_facts(10, facts([(0, 0), (5, 6)], target=OffsetRange(0, 8)))
    assert (found.kind, found.target_offset, found.redelivered_at_most) == ("bounded", 7, 1)


def test_a_source_that_is_gone_leaves_what_the_archive_says() -> None:
    found = translate_by_facts(8, facts([(0, 0), (5, 6)], source=None))
    assert (found.kind, found.target_offset, found.redelivered_at_most) == ("bounded", 7, 2)


def test_a_position_past_the_end_is_unknown() -> None:
    found = translate_by_facts(11, facts([(0, 0)]))
    assert (found.kind, found.target_offset) == ("unknown", None)
    assert "past the source's end 10" in found.reason


def test_records_that_expired_on_both_clusters_are_not_unread() -> None:
    runs = composed_runs({1: [OffsetRun(0, 0, 10)]})
    found = translate_by_facts(2, facts(source=OffsetRange(5, 10), target=OffsetRange(4, 12), runs=runs))
    assert (found.kind, found.target_offset, found.redelivered_at_most) == ("bounded", 4, 0)


def test_records_that_expired_on_the_target_before_the_source_deleted_them_are_not_passed_over() -> None:
    runs = composed_runs({1: [OffsetRun(0, 0, 10)]})
    found = translate_by_facts(2, facts(source=OffsetRange(5, 10), target=OffsetRange(7, 12), runs=runs))
    assert (found.kind, found.target_offset) == ("unknown", None)
    found = translate_by_facts(2, facts(source=OffsetRange(10, 10), target=OffsetRange(7, 12), runs=runs))
    assert (found.kind, found.target_offset) == ("bounded", 7)


def test_a_map_reaches_below_what_the_source_still_holds() -> None:
    runs = composed_runs({1: [OffsetRun(0, 2, 10)]})
    found = translate_by_facts(2, facts(source=OffsetRange(5, 10), runs=runs))
    assert (found.kind, found.target_offset) == ("exact", 4)


def test_records_that_expired_on_the_target_alone_are_a_matter_for_the_policy() -> None:
    runs = composed_runs({1: [OffsetRun(0, 0, 10)]})
    found = translate_by_facts(2, facts(target=OffsetRange(4, 12), runs=runs))
    assert (found.kind, found.target_offset) == ("unknown", None)
    assert "the source may still hold" in found.reason


def test_a_partition_that_the_target_lacks_is_unknown() -> None:
    found = translate_by_facts(3, facts(target=None))
    assert found.kind == "unknown"
    assert "not made it yet" in found.reason


def test_a_partition_added_later_without_a_record_begins_at_its_start() -> None:
    empty = OffsetRange(0, 0)
    found = never_committed(PartitionFacts(empty, empty))
    assert (found.kind, found.target_offset) == ("exact", 0)


def test_a_partition_without_a_record_becomes_a_position_of_the_groups_that_read_its_topic() -> None:
    read, added, other = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
    committed = {"a": {read: 7}, "b": {read: 3, added: 0}, "c": {}}
    found = starts_of_empty(committed, {added, other})
    assert [(each.group, each.partition, each.target_offset, each.kind) for each in found] == [("a", added, 0, "exact")]


def test_a_partition_with_records_that_was_never_committed_is_left_to_its_reset() -> None:
    found = never_committed(facts())
    assert (found.kind, found.target_offset) == ("unknown", None)
    assert "auto.offset.reset" in found.reason


def test_a_target_that_was_cut_is_unknown() -> None:
    found = translate_by_facts(9, facts([(0, 0), (8, 20)]))
    assert (found.kind, found.target_offset) == ("unknown", None)
    assert "it was cut" in found.reason


def test_a_topic_that_nothing_is_known_of_is_read_from_its_start_while_that_is_there() -> None:
    found = translate_by_facts(7, facts())
    assert (found.kind, found.target_offset, found.redelivered_at_most) == ("bounded", 0, 7)
    assert translate_by_facts(9, facts(target=OffsetRange(0, 4))).redelivered_at_most == 4
    assert translate_by_facts(7, facts(target=OffsetRange(3, 12))).kind == "unknown"


def test_an_audit_with_open_findings_is_not_relied_on() -> None:
    runs = composed_runs({1: [OffsetRun(0, 0, 10)]})
    found = translate_by_facts(7, facts([(0, 0), (4, 4)], runs=runs, caution="3 open findings"))
    assert (found.kind, found.target_offset) == ("bounded", 5)
    assert "3 open findings" in found.reason


def test_between_two_runs_the_next_record_is_the_first_of_the_next_run() -> None:
    """Markers and compacted records: nothing between two runs is on both clusters."""
    runs = composed_runs({1: [OffsetRun(0, 0, 3), OffsetRun(7, 5, 3)]})
    assert [translate_by_facts(at, facts(runs=runs)).target_offset for at in (2, 3, 5, 7, 10)] == [2, 5, 5, 5, 8]


def test_what_no_audit_read_between_two_epochs_is_not_in_the_map() -> None:
    runs = composed_runs({1: [OffsetRun(0, 0, 3)], 2: [OffsetRun(7, 5, 3)]})
    assert [runs.translate(at) for at in (3, 4, 6, 7)] == [3, None, None, 5]
    assert runs.between(0, 8) is None
    assert (runs.between(5, 7), runs.between(0, 3), runs.between(3, 3)) == (2, 3, 0)


def test_a_map_that_does_not_rise_is_no_map() -> None:
    assert composed_runs({1: [OffsetRun(0, 5, 3), OffsetRun(3, 0, 3)]}).stretches == ()


def test_the_newest_epochs_map_counts_where_two_reach() -> None:
    runs = composed_runs({1: [OffsetRun(0, 0, 10)], 2: [OffsetRun(4, 6, 6)]})
    assert [runs.translate(at) for at in (3, 4, 9)] == [3, 6, 11]


def test_an_older_epochs_map_says_nothing_about_what_a_newer_one_contradicts() -> None:
    runs = composed_runs({1: [OffsetRun(0, 0, 10)], 2: [OffsetRun(4, 2, 6)]})
    # The older map translates 3 to 3, which is past the record 4, whose copy is at 2.
    assert [runs.translate(at) for at in (2, 3, 4)] == [2, None, 2]


def test_an_exact_hit_of_a_sync_without_content_is_bounded_by_nothing() -> None:
    found = translate_by_facts(5, facts([(0, 0), (5, 6)]))
    assert (found.kind, found.target_offset, found.redelivered_at_most) == ("bounded", 6, 0)


def test_facts_answer_every_offset_and_know_nothing_of_other_partitions() -> None:
    known, other = TopicPartition("t", 0), TopicPartition("t", 1)
    found = translate_offsets(lambda _: {}, {known: [1, 1], other: [3]}, facts={known: facts([(0, 0)])})
    assert {key: answer.kind for key, answer in found.items()} == {(known, 1): "bounded", (other, 3): "unknown"}


@pytest.mark.parametrize(("lag", "most"), [(1_000, 1_600), (10_000, 13_500)])
def test_mirrormakers_rule_costs_what_is_known_of_it(lag: int, most: int) -> None:
    """A log of a sync for each 101 records: its worst is known from measurements of the real store."""
    rule, worst = CheckpointRule(), 0
    for offset in range(0, 101 * 1_500, 101):
        rule._take(ArchivedSync(0, offset, offset, 0))  # type: ignore[arg-type]
        position = offset + 100 - lag
        if offset > 3 * lag and (answer := rule.translate(position)) is not None:
            worst = max(worst, position - answer)
    assert lag < worst <= most
