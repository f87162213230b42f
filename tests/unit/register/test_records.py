from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.errors import NeedsPerson
from kafka_dr.register import records
from kafka_dr.register.added_acls import AddedAcls

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
#: No fact has a value under the name that the register keeps for itself.
PAYLOADS = st.dictionaries(st.text(max_size=8).filter(lambda name: name != "_order"), JSON, max_size=5)


def stored(
    fact: str, payload: Mapping[str, object], *, group: str = "orders", run: str = "run-1"
) -> dict[bytes, bytes]:
    return dict(records.fact_records(group, run, fact, payload))


@given(PAYLOADS)
@settings(max_examples=25, deadline=None)
def test_every_payload_reads_back_as_it_was(payload: dict[str, object]) -> None:
    assert records.facts_of(stored("ends", payload), "orders", "run-1") == {"ends": payload}


@pytest.mark.parametrize("size", [records.LARGEST_PART - 8, records.LARGEST_PART - 7, 5 * records.LARGEST_PART])
def test_a_fact_above_half_a_mebibyte_is_split_and_joined(size: int) -> None:
    payload = {"t": "x" * size}
    written = records.fact_records("orders", "run-1", "ends", payload)
    assert all(len(value) <= records.LARGEST_PART for _, value in written)
    assert (len(written) > 1) == (size > records.LARGEST_PART - 8)
    assert records.facts_of(dict(written), "orders", "run-1") == {"ends": payload}


def test_parts_are_joined_before_characters_are_decoded() -> None:
    payload = {"t": "x" + "\u20ac" * records.LARGEST_PART}
    assert records.facts_of(stored("ends", payload), "orders", "run-1") == {"ends": payload}


def test_the_number_of_parts_is_written_after_the_parts() -> None:
    *parts, last = records.fact_records("orders", "run-1", "ends", {"t": "x" * 2 * records.LARGEST_PART})
    assert last[0] == b"run/orders/run-1/ends"
    assert [key for key, _ in parts] == [f"run/orders/run-1/ends#{n}".encode() for n in range(len(parts))]


def test_a_fact_that_shrank_ignores_its_old_parts() -> None:
    values = stored("ends", {"t": "x" * 2 * records.LARGEST_PART}) | stored("ends", {"t": "small"})
    assert records.facts_of(values, "orders", "run-1") == {"ends": {"t": "small"}}


def test_a_missing_part_needs_a_person() -> None:
    values = stored("ends", {"t": "x" * 2 * records.LARGEST_PART})
    del values[b"run/orders/run-1/ends#1"]
    with pytest.raises(NeedsPerson, match=r"journal of orders cannot be read.*ends#1"):
        records.facts_of(values, "orders", "run-1")


@pytest.mark.parametrize("broken", [b"{", b"\xff", b""])
def test_a_fact_that_is_no_json_needs_a_person(broken: bytes) -> None:
    with pytest.raises(NeedsPerson, match="journal of orders cannot be read"):
        records.facts_of({b"run/orders/run-1/ends": broken}, "orders", "run-1")


def test_a_payload_that_looks_like_parts_is_still_a_payload() -> None:
    payload = {"__parts__": 3, "": 3}
    assert records.facts_of(stored("ends", payload), "orders", "run-1") == {"ends": payload}


def test_runs_and_groups_are_kept_apart() -> None:
    run = "manual__2026-11-20T13:00:00+00:00"
    values = stored("a", {"n": 1}, run=run) | stored("b", {"n": 2}, run="run-2") | stored("c", {}, group="orders2")
    assert records.history_of(values, "orders") == {run: {"a": {"n": 1}}, "run-2": {"b": {"n": 2}}}
    assert records.facts_of(values, "orders", "run-3") == {}


def test_a_large_fact_of_another_run_is_parsed_when_it_is_asked_for() -> None:
    broken = b'{"n": ' + b" " * 5000
    history = records.history_of(stored("ends", {"n": 1}) | {b"run/orders/run-0/ends": broken}, "orders")
    assert history["run-1"] == {"ends": {"n": 1}}
    assert "ends" in history["run-0"]
    assert "claim" not in history["run-0"]
    assert history["run-0"].get("claim") is None
    with pytest.raises(NeedsPerson, match="journal of orders cannot be read"):
        history["run-0"]["ends"]


def test_a_missing_part_of_another_run_needs_a_person() -> None:
    values = stored("ends", {"t": "x" * 2 * records.LARGEST_PART})
    del values[b"run/orders/run-1/ends#0"]
    with pytest.raises(NeedsPerson, match=r"journal of orders cannot be read.*ends#0"):
        records.history_of(values, "orders")


def test_the_facts_of_a_run_need_no_other_run() -> None:
    values = stored("ends", {"n": 1}) | {b"run/orders/run-0/ends": b"{", b"run/orders/run-10/ends": b"{"}
    assert records.facts_of(values, "orders", "run-1") == {"ends": {"n": 1}}


ACLS = st.builds(
    Acl,
    resource=st.sampled_from(ResourceType),
    name=st.text(min_size=1, max_size=9),
    pattern=st.sampled_from(PatternType),
    principal=st.text(max_size=5).map("User:{}".format),
    operation=st.sampled_from(AclOperation),
    permission=st.sampled_from(AclPermission),
    host=st.sampled_from(["*", "10.0.0.1"]),
)


@given(st.frozensets(ACLS, max_size=5), st.frozensets(ACLS, max_size=5))
@settings(deadline=None)
def test_added_acls_read_back_as_they_were(current: frozenset[Acl], lifted: frozenset[Acl]) -> None:
    added = AddedAcls(current).lifting(lifted, epoch=7 if lifted else 0)
    assert AddedAcls.of_value(added.value()) == added


def test_lifted_acls_are_remembered_until_a_later_epoch_changes_the_record() -> None:
    first, second = (
        Acl(ResourceType.TOPIC, name, PatternType.PREFIXED, "User:x", AclOperation.WRITE, AclPermission.DENY)
        for name in ("a.", "b.")
    )
    lifted = AddedAcls().adding({first}, epoch=3).lifting({first}, epoch=4)
    assert (lifted.current, lifted.lifted, lifted.epoch) == (frozenset(), frozenset({first}), 4)
    for epoch, remembered in ((4, frozenset({first})), (5, frozenset[Acl]())):
        added = lifted.adding({second}, epoch=epoch)
        assert (added.current, added.lifted, added.epoch) == (frozenset({second}), remembered, epoch)
    assert lifted.remembered(4) == {first}
    assert not lifted.remembered(5)
    again, added = lifted.lifting({second}, epoch=5), lifted.adding({first}, epoch=4)
    assert (again.current, again.lifted, again.epoch) == (frozenset(), frozenset({second}), 5)
    assert (added.current, added.lifted, added.epoch) == (frozenset({first}), frozenset(), 4)


def test_the_largest_fence_fits_into_one_record() -> None:
    principals, operations = [f"User:application-{n}" for n in range(30)], (*AclOperation,)[:6]
    fence = frozenset(
        Acl(
            ResourceType.TOPIC,
            f"a-topic-with-a-name-{n}",
            PatternType.LITERAL,
            principal,
            operation,
            AclPermission.DENY,
        )
        for n in range(150)
        for principal in principals
        for operation in operations
    )
    ((key, value),) = records.fence_records("orders", "east", AddedAcls(fence))

    assert len(value) < 20_000
    assert records.added_acls_of({key: value}, "orders", "east").current == fence


def test_added_acls_that_no_record_holds_are_kept_in_parts() -> None:
    fence = frozenset(
        Acl(
            ResourceType.TOPIC,
            f"{n}".rjust(249, "x"),
            PatternType.LITERAL,
            "User:x",
            AclOperation.WRITE,
            AclPermission.DENY,
        )
        for n in range(3000)
    )
    kept = dict(records.fence_records("orders", "east", AddedAcls(fence)))

    assert len(kept) == 3
    assert max(map(len, kept.values())) <= records.LARGEST_PART
    assert records.added_acls_of(kept, "orders", "east").current == fence
    del kept[b"fence/orders/east#1"]
    with pytest.raises(NeedsPerson, match="added ACLs cannot be read"):
        records.added_acls_of(kept, "orders", "east")


@pytest.mark.parametrize("broken", [b"{}", b"[]", b"x", json.dumps({"acls": [{"resource": "moon"}]}).encode()])
def test_a_record_of_added_acls_that_cannot_be_read_needs_a_person(broken: bytes) -> None:
    with pytest.raises(NeedsPerson, match="added ACLs cannot be read"):
        AddedAcls.of_value(broken)
