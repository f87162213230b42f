from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.clusters.model import GroupState
from kafka_dr.group_offsets.left_to_do import _time
from kafka_dr.group_offsets.streams_applications import judge
from kafka_dr.group_offsets.unmovable_groups import ShareGroup, SpecialReaders, judged
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.positions import OffsetRange, TopicPartition
from kafka_dr.readers.recognition import StreamsApplication, sink_of
from kafka_dr.topology.readers import GroupsPolicy
from support.sentences import assert_sentence

P = TopicPartition("orders.payments", 0)
COPIED, ELSEWHERE = "orders.totals-counts-changelog", "totals-key-repartition"


def context(**policy: Any) -> Any:
    group = SimpleNamespace(
        name="orders", groups_policy=GroupsPolicy(**policy), owns_topic=lambda name: name.startswith("orders.")
    )
    return SimpleNamespace(group=group)


def application(*internal: str) -> StreamsApplication:
    return StreamsApplication("totals", "the assignor of its members shows it", ("orders.payments",), internal)


@pytest.mark.parametrize(
    ("policy", "internal", "state", "said"),
    [
        ({}, (COPIED,), "refused", "name it in groups_policy.streams_moved"),
        ({}, (COPIED, ELSEWHERE), "refused", f"add its internal topics ({ELSEWHERE}) to orders"),
        ({"streams_moved": ("totals",)}, (COPIED,), "moved", "delete its state.dir on every instance"),
        # Its state would be of another moment than its offsets.
        ({"streams_moved": ("totals",)}, (COPIED, ELSEWHERE), "refused", f"({ELSEWHERE})"),
        ({"not_moved": ("totals",)}, (COPIED, ELSEWHERE), "not_moved", "run its reset command"),
        ({"streams_moved": ("totals",)}, (), "moved", "delete its state.dir"),
    ],
)
def test_an_application_moves_only_with_all_of_its_internal_topics(
    policy: dict[str, Any], internal: tuple[str, ...], state: str, said: str
) -> None:
    found = judge(application(*internal), context(**policy), target="west")
    assert found.state == state
    assert said in found.sentence
    assert "totals is a Kafka Streams application (the assignor of its members shows it)" in found.sentence


def test_who_is_accepted_is_excused_with_what_to_do_and_never_ok() -> None:
    left = judge(application(COPIED), context(not_moved=("totals",)), target="west")
    share = ShareGroup("orders-workers", "share", refused=False, target="west")
    accepted = judged(SpecialReaders((share,), (left,), outside=("orders-lake",)))
    assert accepted.outcome == "excused"
    for said in ("orders-workers is a share group", "totals is a Kafka Streams", "orders-lake keeps its offsets"):
        assert said in accepted.detail
    refused = judged(SpecialReaders((ShareGroup("orders-workers", "share", refused=True, target="west"),), (left,)))
    assert refused.outcome == "failed"
    assert_sentence(refused.detail)
    assert "totals" not in refused.detail, "what is accepted does not hide what stops the run"
    assert judged(SpecialReaders(sinks={"connect-lake": "lake"})).outcome == "ok"


@pytest.mark.parametrize(
    ("group", "members", "connector"),
    [
        ("connect-lake", (), "lake"),
        ("orders-lake", ("connector-consumer-lake-sink-3 /10.0.0.1",), "lake-sink"),
        ("orders-lake", ("orders-lake-1 /10.0.0.1",), ""),
        ("orders", (), ""),
    ],
)
def test_a_sink_of_connect_is_known_by_its_members_or_its_name(
    group: str, members: tuple[str, ...], connector: str
) -> None:
    assert sink_of(group, GroupState(group, "STABLE", members, frozenset())) == connector


@pytest.mark.parametrize(
    ("target", "at"),
    [(None, None), (5, None), (3, None), (9, 1_000)],
    ids=["unknown", "at the start", "before the start", "in the log"],
)
def test_a_share_group_never_begins_after_a_record_that_is_not_done_with(target: int | None, at: int | None) -> None:
    each = Translation(4, target, "bounded", 0, "").of("orders-workers", P)
    assert _time(each, {(P, 9): 1_000}, {P: OffsetRange(5, 20)}) == at
