"""Commit metadata: carried where it is right on the other log, left out with a reason where it may not be."""

from __future__ import annotations

import base64
import json

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.group_offsets import commit_metadata, group_costs
from kafka_dr.named_rows import groups_from_json, groups_to_json
from kafka_dr.offsets.commit_metadata import carried, other_distances
from kafka_dr.offsets.translate.answers import (
    Kind,
    Translation,
    to_commit,
    translations_from_json,
    translations_to_json,
)
from kafka_dr.offsets.verify import not_read_back
from kafka_dr.positions import Committed, CommittedOffset, metadata_of
from kafka_dr.readers.commit_metadata import depends_on_what_follows
from support.sentences import assert_sentence

P = TopicPartition("orders.payments", 0)
APART = "the records after its offset have other distances from it there"
#: As Kafka Streams 3 and 4 write it: a version, the time of the partition, and what processors keep.
STREAMS = [base64.b64encode(bytes([version]) + bytes(8) + rest).decode() for version, rest in ((1, b""), (2, b"x" * 7))]
#: As Confluent's Parallel Consumer writes it: a letter for the encoding, then the bits of the records that are done.
PARALLEL = base64.b64encode(b"o\x00\x00\x00\x09\x16\x01\x02\x03").decode()


def translated(metadata: str, *, kind: Kind = "exact", apart: str = "", limit: int = 4096) -> tuple[str, str]:
    answer = Translation(7, 9, kind, 0, "").of("app", P)
    found = carried(answer, CommittedOffset(7, metadata), is_exact=kind == "exact", limit=limit, other_distances=apart)
    return found.metadata, found.metadata_left_out


@pytest.mark.parametrize("metadata", ["note", PARALLEL, "", *STREAMS])
def test_it_is_carried_with_an_exact_offset_where_the_records_after_it_are_as_far(metadata: str) -> None:
    assert translated(metadata) == (metadata, "")


@pytest.mark.parametrize("metadata", ["note", PARALLEL, "AQ=="])
def test_what_may_count_records_is_left_out_where_they_are_not_as_far(metadata: str) -> None:
    assert translated(metadata, apart=APART) == ("", APART)


@pytest.mark.parametrize("metadata", STREAMS)
def test_the_time_of_a_streams_partition_depends_on_the_exact_offset_alone(metadata: str) -> None:
    assert not depends_on_what_follows(metadata)
    assert translated(metadata, apart=APART) == (metadata, "")
    assert translated(metadata, kind="bounded") == ("", "its offset is not exact there")


def test_what_the_target_would_refuse_is_left_out() -> None:
    assert translated("ü" * 9, limit=17) == ("", "the other cluster takes 17 bytes at most")
    assert translated("ü" * 9, limit=18) == ("ü" * 9, "")


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ([7, 8, 9], [17, 18, 19], ""),
        ([7, 9], [17, 19, 20], ""),
        ([], [17], ""),
        ([7, 8, 9], [17, 19, 20], APART),
        ([7, 8], [18, 19], APART),
        ([7, 9], [17, 18], APART),
        ([7, 8], [17], "not every record after its offset is copied yet"),
    ],
)
def test_distances_are_compared_record_by_record(source: list[int], target: list[int], said: str) -> None:
    assert other_distances(source, target, (7, 17)) == said


def test_journal_and_last_look_keep_it_and_it_is_committed_and_read_back() -> None:
    committed: Committed = {"app": {P: CommittedOffset(7, "note")}, "plain": {P: 3}}
    stored = json.loads(json.dumps(groups_to_json(committed)))
    assert stored[1]["positions"] == [[P.topic, 0, 3]]
    assert groups_from_json(stored) == committed
    assert metadata_of(groups_from_json(stored)["app"][P]) == "note"

    answer = carried(
        Translation(7, 9, "exact", 0, "").of("app", P), committed["app"][P], is_exact=True, limit=99, other_distances=""
    )
    (read,) = translations_from_json(json.loads(json.dumps(translations_to_json([answer]))))
    assert read == answer
    wanted = to_commit([read])
    assert (wanted["app"][P], metadata_of(wanted["app"][P])) == (9, "note")
    assert not not_read_back(wanted, wanted)
    (problem,) = not_read_back(wanted, {"app": {P: 9}})
    assert_sentence(problem.detail)


def test_groups_are_counted_and_those_that_lose_some_are_named() -> None:
    notes = [("a", ""), ("b", APART), ("b", "")]
    found = commit_metadata.by_group(
        carried(
            Translation(7, 9, "exact", 0, "").of(group, TopicPartition("t", number)),
            CommittedOffset(7, "note"),
            is_exact=True,
            limit=99,
            other_distances=why,
        )
        for number, (group, why) in enumerate(notes)
    )
    assert commit_metadata.in_words(found).startswith("2 groups keep metadata with their offsets: b: its commit")
    assert commit_metadata.in_words(found).endswith(f"is left out in 1 partition, because {APART}")
    assert commit_metadata.in_words({"a": found["a"]}).endswith("all of it is carried")
    (row,) = group_costs.costs(
        [{"group": "b", "class": "exact"}],
        [
            {
                "group": "b",
                "class": "exact",
                "redelivered_at_most": 0,
                "skipped_at_most": 0,
                "metadata_left_out": commit_metadata.left_out(found["b"]),
            }
        ],
    )
    assert APART in group_costs.in_words([row])
    assert APART in group_costs.in_short([row]), "it is not among those that cost nothing"
