"""Where groups read on in the target's own topics if the cluster is lost on which they have read the copies."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.failover.unplanned import cut_over_groups, gather_evidence, last_known, translate_without_source
from kafka_dr.failover.unplanned.last_known import KnownOffsets
from kafka_dr.named_rows import groups_to_json
from kafka_dr.naming import DefaultNaming
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.rescue.copy_reached import CopyReached

OWN, COPY = TopicPartition("orders", 0), TopicPartition("west.orders", 0)


def lost_east(
    monkeypatch: pytest.MonkeyPatch,
    history: dict[str, Any],
    known: dict[str, dict[TopicPartition, int]],
    held: OffsetRange,
) -> Any:
    """Return a run that takes the group from east, which is lost, to west."""
    monkeypatch.setattr(last_known, "look", lambda _: None)
    monkeypatch.setattr(last_known, "positions", lambda _: KnownOffsets(known, final=False))
    monkeypatch.setattr(cut_over_groups, "held_by", lambda *_, **__: {OWN: held})
    group = SimpleNamespace(
        owns_topic="orders".__eq__,
        naming=lambda one, other: DefaultNaming(one, other),
        origins=("east", "west"),
    )
    target = SimpleNamespace(topics=SimpleNamespace(partitions=lambda _: (OWN,)))
    return SimpleNamespace(
        source="east",
        target="west",
        opens_copy=False,
        group=group,
        declared=SimpleNamespace(
            closes="east".__eq__, member_of=SimpleNamespace(rest_groups={"mails": "mails-rest-east"})
        ),
        history=history,
        clients=SimpleNamespace(cluster=lambda *_: target),
    )


def placed(
    monkeypatch: pytest.MonkeyPatch,
    history: dict[str, Any],
    known: dict[str, dict[TopicPartition, int]],
    held: OffsetRange,
) -> dict[str, tuple[int | None, str]]:
    """Return where each group is placed on west, and how sure that is."""
    run = lost_east(monkeypatch, history, known, held)
    return {each.group: (each.target_offset, each.kind) for each in cut_over_groups.in_originals(run)}


def left(epoch: int, at: int, *, opened: bool = True, source: str = "west") -> dict[str, Any]:
    """Return what a run has journaled that moved the group, or began to."""
    facts = {
        "claim": {"source": source, "epoch": epoch},
        "drained": {"group_offsets": groups_to_json({"orders-app": {OWN: at}})},
    }
    return {**facts, "opened": {"at": "2026-11-28T00:00:00+00:00"}} if opened else facts


KNOWN = {"orders-app": {OWN: 5, COPY: 50}}


def test_a_group_goes_back_to_where_it_was_frozen_when_it_left_the_target_last(monkeypatch: pytest.MonkeyPatch) -> None:
    history = {"r1": left(2, 7), "r2": left(4, 9), "r3": left(6, 3, source="east")}
    assert placed(monkeypatch, history, KNOWN, OffsetRange(0, 20)) == {"orders-app": (9, "bounded")}
    assert placed(monkeypatch, history, KNOWN, OffsetRange(0, 9)) == {"orders-app": (9, "exact")}
    assert placed(monkeypatch, history, KNOWN, OffsetRange(12, 20)) == {"orders-app": (12, "bounded")}


def test_what_a_run_froze_that_was_rolled_back_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    history = {"r1": left(2, 7), "r2": left(4, 19, opened=False)}
    assert placed(monkeypatch, history, KNOWN, OffsetRange(0, 20)) == {"orders-app": (7, "bounded")}


def test_a_group_that_never_left_the_target_reads_all_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert placed(monkeypatch, {}, KNOWN, OffsetRange(2, 20)) == {"orders-app": (2, "bounded")}
    lost = {name: facts for name, facts in left(4, 9).items() if name != "drained"}
    assert placed(monkeypatch, {"r1": lost}, KNOWN, OffsetRange(0, 0)) == {"orders-app": (0, "exact")}


def test_a_group_that_has_read_copies_alone_gets_an_offset_in_their_originals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert placed(monkeypatch, {}, {"orders-new": {COPY: 3}}, OffsetRange(0, 4)) == {"orders-new": (0, "bounded")}
    assert placed(monkeypatch, {}, {"orders-new": {TopicPartition("else", 0): 3}}, OffsetRange(0, 4)) == {}


def test_who_reads_the_rest_of_a_lost_member_gets_an_offset_in_its_copy_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**KNOWN, "mails-rest-east": {OWN: 5}}
    assert placed(monkeypatch, {}, known, OffsetRange(2, 20)).keys() == {"orders-app"}


def test_approvers_are_shown_what_is_read_again_in_originals_and_in_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    in_copy = Translation(50, 40, "bounded", 15, "as seen").of("orders-app", COPY)
    monkeypatch.setattr(translate_without_source, "translate", lambda *_: [in_copy])
    run = lost_east(monkeypatch, {"r1": left(2, 7)}, KNOWN, OffsetRange(0, 20))
    shown = list(gather_evidence._by_group(gather_evidence._translated(run, CopyReached({}))))
    assert [(row["group"], row["redelivered_at_most"]) for row in shown] == [("orders-app", 15 + 13)]
    found = Translation(9, 9, "exact", 0, "known otherwise").of("orders-app", OWN)
    assert cut_over_groups.in_originals(run, but=[found]) == []


def test_a_group_continues_where_offset_syncs_show_that_it_had_read_if_that_is_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for synced, expected in ((4, 7), (12, 12), (30, 20)):
        monkeypatch.setattr(cut_over_groups, "read_in_copies", lambda *_, at=synced: {"orders-app": {OWN: at}})
        assert placed(monkeypatch, {"r1": left(2, 7)}, KNOWN, OffsetRange(0, 20))["orders-app"][0] == expected
