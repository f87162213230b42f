"""Strimzi's MirrorMaker 2, against a server that keeps the rules of the resource's published schema. No Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.adoption.take_over import decision
from kafka_dr.adoption.take_over.stop_existing import known_status, positions_if_said
from kafka_dr.clock import SystemClock
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import ConnectionMistake, NeedsPerson, Refused, TryAgain
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.kubernetes import KubernetesApi
from kafka_dr.replication.existing.port import ExistingStatus, PartStatus
from kafka_dr.replication.existing.strimzi import StrimziMirrorMaker
from kafka_dr.replication.settings import IDENTITY
from support.strimzi_api import TOKEN, StrimziApi, served

SOURCE, CHECKPOINT = "east->west.MirrorSourceConnector", "east->west.MirrorCheckpointConnector"
P, Q = TopicPartition("orders.payments", 0), TopicPartition("orders.payments", 1)
LIST: dict[str, Any] = {"listOffsets": {"toConfigMap": {"name": "listed"}}}
ALTER: dict[str, Any] = {"alterOffsets": {"fromConfigMap": {"name": "wanted"}}}


def mirror(*, config: dict[str, Any] | None = None, topics: str = r"orders\..*", **more: Any) -> dict[str, Any]:
    settings = {"replication.policy.class": IDENTITY, "exactly.once.support": "required", **(config or {})}
    return {
        "sourceCluster": "east",
        "targetCluster": "west",
        "topicsPattern": topics,
        "sourceConnector": {"tasksMax": 2, "config": settings, **more},
        "checkpointConnector": {"tasksMax": 1, "config": {}},
    }


@contextmanager
def reached(api: StrimziApi, *, token: str = TOKEN, seconds: float = 0.3, **other: Any) -> Iterator[StrimziMirrorMaker]:
    with served(api) as address, KubernetesSession(HttpEndpoint(address, token=token)) as kubernetes:
        named: dict[str, Any] = {"namespace": "kafka", "name": "my-mm2", "source": "east", **other}
        yield StrimziMirrorMaker(
            kubernetes, owns=lambda t: t.startswith("orders."), clock=SystemClock(), offsets_seconds=seconds, **named
        )


class KubernetesSession(KubernetesApi):
    """Closed at the end of a test."""

    def __enter__(self) -> KubernetesSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def state(api: StrimziApi, key: str) -> str | None:
    found: str | None = api.resource["spec"]["mirrors"][0][key].get("state")
    return found


@pytest.mark.parametrize("version", ["v1beta2", "v1"])
def test_it_is_stopped_and_resumed_by_what_the_resource_declares(version: str) -> None:
    api = StrimziApi(mirror(), version=version)
    with reached(api) as existing:
        before = existing.status()
        assert str(before) == f"{SOURCE} is running, {CHECKPOINT} is running"
        assert existing.stop(5).at_rest
        assert (state(api, "sourceConnector"), state(api, "checkpointConnector")) == ("stopped", "stopped")
        assert existing.stop(5).at_rest, "once more changes nothing"
        assert not existing.resume(before, 5).at_rest
        assert (state(api, "sourceConnector"), state(api, "checkpointConnector")) == ("running", "running")
        assert existing.transactional_ids() == (f"mm2-west-{SOURCE}-0", f"mm2-west-{SOURCE}-1")


def test_what_was_paused_or_stopped_before_is_so_again_also_by_the_key_of_former_versions() -> None:
    api = StrimziApi(mirror(pause=True))
    with reached(api) as existing:
        before = existing.status()
        assert before.state_of(SOURCE) == "paused"
        existing.stop(5)
        assert "pause" not in api.resource["spec"]["mirrors"][0]["sourceConnector"], "it would contradict the state"
        existing.resume(before, 5)
        assert state(api, "sourceConnector") == "paused"
        existing.resume(ExistingStatus((PartStatus(SOURCE, "stopped"), PartStatus(CHECKPOINT, "failed"))), 5)
        assert (state(api, "sourceConnector"), state(api, "checkpointConnector")) == ("stopped", "running")


def test_what_had_failed_before_may_fail_again_and_what_has_failed_since_may_not() -> None:
    api = StrimziApi(mirror())
    with reached(api) as existing:
        ran = existing.status()
        api.failing = {CHECKPOINT}
        api.reconcile()
        before = existing.status()
        assert (before.state_of(SOURCE), before.state_of(CHECKPOINT)) == ("running", "failed")
        assert f"{CHECKPOINT} is failed: task 0: 18 MB (Failed to send)" in str(before)
        existing.stop(5)
        found = existing.resume(before, 5)
        assert (found.state_of(SOURCE), found.state_of(CHECKPOINT)) == ("running", "failed"), "as it was"
        with pytest.raises(TryAgain, match=f"{CHECKPOINT} is failed, expected running"):
            existing.resume(ran, 5)
        api.failing, api.failed = set(), {CHECKPOINT}
        api.reconcile()
        assert existing.status().state_of(CHECKPOINT) == "failed"
        assert existing.resume(ran, 5).state_of(CHECKPOINT) == "running", "its failed task is not left as it is"


def test_a_change_of_somebody_else_is_not_overwritten_and_not_lost() -> None:
    api = StrimziApi(mirror())
    api.faster = 2
    with reached(api) as existing:
        existing.stop(5)
    assert state(api, "sourceConnector") == "stopped"
    assert [method for method, path in api.requests if path.endswith("my-mm2")].count("PUT") == 3
    api.faster = 99
    with reached(api) as existing, pytest.raises(TryAgain, match="changed by somebody else 5 times"):
        existing.resume(ExistingStatus((PartStatus(SOURCE, "running"),)), 1)


def test_an_operator_that_does_not_run_leaves_everything_unknown_and_nothing_stopped() -> None:
    api = StrimziApi(mirror(**LIST))
    with reached(api) as existing:
        api.operator_runs = False
        with pytest.raises(TryAgain, match=f"{SOURCE} is unknown, expected stopped: .* whether its operator runs"):
            existing.stop(0.2)
        assert "the operator has not reconciled the newest version yet" in str(existing.status())
        with pytest.raises(TryAgain, match=r"the operator did not list offsets .*it said nothing"):
            existing.positions()
    assert api.resource["metadata"].get("annotations") == {}, "nothing is asked of it any longer"


def test_what_it_does_is_waited_for_before_it_is_journaled_and_not_made_up() -> None:
    api = StrimziApi(mirror())
    with reached(api) as existing:
        api.operator_runs = False
        api.resource["metadata"]["generation"] += 1
        with pytest.raises(TryAgain, match=f"it is not known what {SOURCE}, {CHECKPOINT} does, .*nothing was stopped"):
            known_status(existing, SystemClock(), 0.2)
        assert state(api, "sourceConnector") is None
        api.operator_runs = True
        api.reconcile()
        assert known_status(existing, SystemClock(), 5).state_of(SOURCE) == "running"


def test_what_is_shown_before_the_approval_changes_nothing_on_kubernetes() -> None:
    api = StrimziApi(mirror(**LIST, **ALTER))
    audited: Any = SimpleNamespace(at=datetime(2026, 1, 1, tzinfo=UTC), sentence="", examples=())
    with reached(api) as existing:
        run: Any = SimpleNamespace(source="east", partitions=lambda _: (P, Q))
        context: Any = SimpleNamespace(run=run, existing=existing, audited=audited)
        assert decision.measured(context)["abilities"]["positions"]["can"]
        existing.unfit(["orders.payments"])
        existing.uncopied([P])
    assert {method for method, _ in api.requests} == {"GET"}


def test_an_operator_that_lists_no_positions_keeps_nobody_from_stopping_it() -> None:
    api = StrimziApi(mirror(**LIST))
    with reached(api) as existing:
        assert positions_if_said(existing) == {}
        api.operator_runs = False
        assert positions_if_said(existing) is None


def test_positions_are_listed_by_the_operator_and_only_if_the_resource_names_a_config_map() -> None:
    api = StrimziApi(mirror(**LIST))
    api.offsets = {(P.topic, 0): 41, (Q.topic, 1): 7, ("stock.items", 0): 3}
    with reached(api) as existing:
        assert existing.abilities().positions.can
        assert existing.positions() == {P: 42, Q: 8}, "next to read, of the group's topics"
    with reached(StrimziApi(mirror())) as existing:
        able = existing.abilities().positions
        assert (able.can, "sourceConnector.listOffsets.toConfigMap.name" in able.reason) == (False, True)
        assert existing.positions() is None


def test_positions_are_given_to_a_stopped_connector_and_read_back() -> None:
    api = StrimziApi(mirror(**LIST, **ALTER))
    api.offsets = {(P.topic, 0): 41, (Q.topic, 1): 7}
    with reached(api) as existing:
        with pytest.raises(Refused, match="is not stopped"):
            existing.seed({P: 50})
        existing.stop(5)
        existing.seed({P: 50, Q: 0})
        assert existing.positions() == {P: 50}
    assert api.offsets == {(P.topic, 0): 49}, "the last record that it has copied"
    with reached(StrimziApi(mirror(**LIST))) as existing, pytest.raises(Refused, match=r"alterOffsets\.fromConfigMap"):
        existing.seed({P: 50})


def test_positions_of_topics_that_the_mirror_does_not_match_are_left_out() -> None:
    api = StrimziApi(mirror(topics="orders.payments", **LIST, **ALTER))
    canary = TopicPartition("orders.dr-canary", 0)
    with reached(api) as existing:
        assert existing.uncopied([P, canary]) == (canary,)
        existing.stop(5)
        assert existing.seed({P: 50, canary: 3}) == (canary,)
    assert api.offsets == {(P.topic, 0): 49}


def test_positions_that_are_others_when_they_are_read_back_are_left_to_a_person() -> None:
    api = StrimziApi(mirror(**LIST, **ALTER))
    answer = api._manage_offsets
    with reached(api) as existing:
        existing.stop(5)

        def somebody_else_too(verb: str, name: str) -> str:
            said = answer(verb, name)
            api.offsets[P.topic, 0] = 60
            return said

        api._manage_offsets = somebody_else_too  # type: ignore[method-assign]
        with pytest.raises(NeedsPerson, match=r"orders\.payments-0 was read back as 61 instead of 50"):
            existing.seed({P: 50})


def test_what_the_operator_refuses_is_said_in_its_words() -> None:
    api = StrimziApi(mirror(**LIST, **ALTER))
    with reached(api) as existing:
        existing.stop(5)
        # Somebody lets it run again in between, and the operator does not show it yet.
        api.resource["spec"]["mirrors"][0]["sourceConnector"]["state"] = "running"
        with pytest.raises(TryAgain, match=r"did not alter offsets .*the connector is not stopped"):
            existing.seed({P: 50})


def test_a_config_map_with_something_else_is_left_to_a_person() -> None:
    api = StrimziApi(mirror(**LIST))
    api.offsets = {(P.topic, 0): 41}
    with reached(api, seconds=1) as existing:
        existing.positions()
        api._manage_offsets = lambda *_: ""  # type: ignore[method-assign]
        api.config_maps["listed"] = {"data": {"other.json": "{}"}}
        with pytest.raises(
            NeedsPerson, match=r"east--west\.MirrorSourceConnector\.json of the ConfigMap does not hold"
        ):
            existing.positions()


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (mirror(), ()),
        (mirror(config={"replication.policy.class": "x.DefaultPolicy"}), ("names copies by x.DefaultPolicy",)),
        (mirror(topics=r"orders\..*,stock\..*"), ("also copies stock.items",)),
        ({**mirror(), "topicsExcludePattern": "orders.payments"}, ()),
        ({"sourceCluster": "north", "targetCluster": "west"}, ("no mirror with a sourceConnector that reads east",)),
        ({"sourceCluster": "east", "checkpointConnector": {}}, ("no mirror with a sourceConnector",)),
    ],
)
def test_what_speaks_against_it_is_named(declared: dict[str, Any], said: tuple[str, ...]) -> None:
    with reached(StrimziApi(declared)) as existing:
        found = existing.unfit(["orders.payments", "stock.items"])
    assert len(found) == len(said), found
    assert all(words in each for words, each in zip(said, found, strict=True)), found


def test_a_resource_that_its_operator_ignores_cannot_be_taken_over() -> None:
    api = StrimziApi(mirror())
    api.resource["metadata"]["annotations"] = {"strimzi.io/pause-reconciliation": "true"}
    with reached(api) as existing:
        assert "pause-reconciliation" in existing.unfit([])[0]


def test_a_wrong_token_or_name_is_one_sentence_without_the_token() -> None:
    api = StrimziApi(mirror())
    with reached(api, token="wrong-token-of-somebody") as existing, pytest.raises(ConnectionMistake) as refusal:
        existing.status()
    assert "answered 401 (Unauthorized): check the token in its connection" in str(refusal.value)
    assert "wrong-token" not in str(refusal.value)
    with reached(api, name="other") as existing:
        assert existing.unfit([]) == ("there is no kafka/other: correct namespace and resource",)
        with pytest.raises(Refused, match="there is no kafka/other"):
            existing.stop(1)


def test_a_resource_or_a_mirror_that_somebody_deleted_is_absent() -> None:
    api = StrimziApi(mirror())
    with reached(api, name="other") as existing:
        assert str(existing.status()) == "the mirror of east in kafka/other is absent"
        assert existing.status().is_gone
    with reached(api, source="north") as existing:
        assert existing.status().is_gone


def test_its_owner_deletes_it() -> None:
    with reached(StrimziApi(mirror())) as existing, pytest.raises(Refused, match="owner removes the mirror from the"):
        existing.remove()


def test_a_server_that_does_not_answer_is_tried_again() -> None:
    endpoint = HttpEndpoint("http://127.0.0.1:9", token=TOKEN)
    with KubernetesSession(endpoint) as kubernetes:
        existing = StrimziMirrorMaker(
            kubernetes, namespace="kafka", name="my-mm2", source="east", owns=bool, clock=SystemClock()
        )
        with pytest.raises(TryAgain, match="gave no answer"):
            existing.status()
