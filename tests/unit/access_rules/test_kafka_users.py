"""KafkaUser resources: their format, compare-and-set, epochs, and what the API of Kubernetes may answer."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.access_rules import kafka_user
from kafka_dr.access_rules.kafka_users import KafkaUsers
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.errors import ConnectionMistake, NeedsPerson, Refused, TryAgain
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.kubernetes import KubernetesApi, ObjectChanged, ObjectNotFound, path_of
from support.kubernetes_api import TOKEN, UsersApi, refusal

WHO = "User:orders-app"
DENY = Acl(ResourceType.TOPIC, "orders.", PatternType.PREFIXED, WHO, AclOperation.WRITE, AclPermission.DENY)
ALLOW = replace(DENY, permission=AclPermission.ALLOW)
NONE: frozenset[Acl] = frozenset()
KIND = "/apis/kafka.strimzi.io/v1/namespaces/kafka/kafkausers"
PROBE = f"{KIND}/probe"

acls = st.frozensets(
    st.builds(
        Acl,
        resource=st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID]),
        name=st.sampled_from(["orders.", "payments"]),
        pattern=st.sampled_from(PatternType),
        principal=st.just(WHO),
        operation=st.sampled_from(AclOperation),
        permission=st.sampled_from(AclPermission),
        host=st.sampled_from(["*", "10.0.0.1"]),
    ),
    max_size=6,
)


def resource(*rows: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    authorization = {"type": "simple", "acls": list(rows)}
    return {
        "metadata": {"name": "orders-app", **metadata},
        "spec": {"authorization": authorization, "quotas": {"x": 1}},
    }


@given(before=acls, adding=acls, removing=acls)
def test_a_resource_says_exactly_what_it_is_changed_to_and_its_definition_allows_it(
    before: frozenset[Acl], adding: frozenset[Acl], removing: frozenset[Acl]
) -> None:
    first = kafka_user.with_rules(resource(), WHO, adding=before, removing=NONE) or resource()
    assert kafka_user.rules_of(first, WHO) == before
    after = kafka_user.with_rules(first, WHO, adding=adding - removing, removing=removing) or first
    assert kafka_user.rules_of(after, WHO) == (before | adding) - removing
    spec = dict(after["spec"])
    assert spec.pop("quotas") == {"x": 1}
    assert refusal(spec) == ""


def test_a_deny_has_the_words_of_strimzi() -> None:
    cluster = replace(DENY, resource=ResourceType.CLUSTER, name="kafka-cluster", pattern=PatternType.LITERAL)
    wanted = frozenset({DENY, replace(DENY, operation=AclOperation.ALTER_CONFIGS), cluster})
    found = kafka_user.with_rules(resource(), WHO, adding=wanted, removing=NONE)
    assert found is not None
    assert found["spec"]["authorization"]["acls"] == [
        {"type": "deny", "resource": {"type": "cluster"}, "operations": ["Write"], "host": "*"},
        {
            "type": "deny",
            "resource": {"type": "topic", "name": "orders.", "patternType": "prefix"},
            "operations": ["AlterConfigs", "Write"],
            "host": "*",
        },
    ]
    assert kafka_user.rules_of(found, WHO) == wanted


def test_what_owners_leave_out_has_strimzis_defaults_and_words_of_a_newer_version_stay() -> None:
    row = {"resource": {"type": "topic", "name": "orders."}, "operations": ["Write", "TwoPhaseCommit"]}
    found = kafka_user.rules_of(resource(row), WHO)
    assert found == {replace(ALLOW, pattern=PatternType.LITERAL)}
    left = kafka_user.with_rules(resource(row), WHO, adding=NONE, removing=found)
    assert left is not None
    assert left["spec"]["authorization"]["acls"] == [{**row, "operations": ["TwoPhaseCommit"]}]
    former = {"resource": {"type": "topic", "name": "orders."}, "operation": "Write"}
    assert kafka_user.rules_of(resource(former), WHO) == found


def test_a_user_without_rules_gets_a_section_for_them() -> None:
    bare = {"metadata": {"name": "orders-app"}, "spec": {"authentication": {"type": "tls"}}}
    found = kafka_user.with_rules(bare, WHO, adding=frozenset({DENY}), removing=NONE)
    assert found is not None
    assert found["spec"]["authentication"] == {"type": "tls"}
    assert found["spec"]["authorization"]["type"] == "simple"
    assert kafka_user.with_rules(bare, WHO, adding=NONE, removing=frozenset({DENY})) is None


@pytest.mark.parametrize(
    ("principal", "name"),
    [("User:orders-app", "orders-app"), ("User:CN=orders-app", "orders-app"), ("User:x", "other")],
)
def test_the_name_of_a_user_follows_from_its_principal_unless_it_is_declared(principal: str, name: str) -> None:
    assert kafka_user.user_name(principal, {"User:x": "other"}) == name


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({}, "the KafkaUser orders-app is not applied yet (generation 3)"),
        ({"observedGeneration": 2, "conditions": [{"type": "Ready", "status": "True"}]}, "is not applied yet"),
        (
            {
                "observedGeneration": 3,
                "conditions": [{"type": "Ready", "status": "False", "reason": "InvalidResource"}],
            },
            "the KafkaUser orders-app is not ready: InvalidResource: no message",
        ),
        ({"observedGeneration": 3, "conditions": [{"type": "Ready", "status": "True"}]}, ""),
    ],
)
def test_a_user_is_applied_when_strimzi_has_seen_it_as_it_is_now_and_it_is_ready(
    status: dict[str, Any], said: str
) -> None:
    found = kafka_user.not_ready({**resource(generation=3), "status": status})
    assert said in found
    assert bool(said) is bool(found)


@contextmanager
def served(*more: str) -> Iterator[tuple[UsersApi, KafkaUsers]]:
    """Serve the users of two principals and more, without an operator that applies them."""
    api = UsersApi(lambda _: None)
    for name in ("orders-app", "probe", *more):
        api.put(name, {"authorization": {"type": "simple", "acls": []}})
    with api.running(operator=False):
        client = KubernetesApi(HttpEndpoint(api.address, token=TOKEN))
        try:
            yield api, KafkaUsers(client, "kafka", "v1", "orders", (WHO, "User:probe", "User:nobody"), {})
        finally:
            client.close()


def test_each_principal_is_changed_in_its_own_resource_and_only_if_that_has_to_be() -> None:
    of_probe = replace(DENY, principal="User:probe")
    with served() as (api, users):
        users.change(adding=frozenset({DENY, of_probe}), removing=NONE, before_each=lambda: 4)
        assert users.read() == {DENY, of_probe}
        users.change(
            adding=frozenset({DENY, of_probe}), removing=NONE, before_each=lambda: pytest.fail("nothing to do")
        )
        users.change(
            adding=NONE, removing=frozenset({of_probe, replace(DENY, principal="User:nobody")}), before_each=None
        )
        assert users.read() == {DENY}
        assert [method for method, _ in api.asked].count("PUT") == 3
        annotations = {name: each["metadata"]["annotations"] for name, each in api.resources.items()}
        assert {name: json.loads(each[kafka_user.EPOCHS]) for name, each in annotations.items()} == {
            "orders-app": {"orders": 4},
            "probe": {"orders": 4},
        }
        assert "is not applied yet" in users.waits_for()
        api.reconcile()
        users.read()
        assert users.waits_for() == ""


def test_somebody_who_is_faster_is_read_again_and_nothing_of_it_is_lost() -> None:
    with served() as (api, users):
        left = [1, 2]

        def person(name: str) -> None:
            if left:
                api.put(
                    name, {**copy.deepcopy(api.resources[name]["spec"]), "quotas": {"producerByteRate": left.pop()}}
                )

        api.on_replace = person
        users.change(adding=frozenset({DENY}), removing=NONE, before_each=lambda: 1)
        assert users.read() == {DENY}
        assert api.resources["orders-app"]["spec"]["quotas"] == {"producerByteRate": 1}
        api.on_replace = lambda name: api.put(name, {**api.resources[name]["spec"], "quotas": {"n": len(api.asked)}})
        with pytest.raises(TryAgain, match="the KafkaUser orders-app was changed by others 10 times"):
            users.change(adding=NONE, removing=frozenset({DENY}), before_each=lambda: 1)


def denies_of(*names: str) -> frozenset[Acl]:
    return frozenset(replace(DENY, principal=f"User:{name}") for name in names)


def test_several_users_are_changed_at_the_same_time_and_share_the_questions_whether_they_may_be() -> None:
    names = ("app-1", "app-2", "app-3", "app-4")
    everybody = Barrier(len(names), timeout=20)
    permitted: list[int] = []

    def before_each() -> int:
        permitted.append(1)
        return 3

    def together(_: str) -> None:
        everybody.wait()

    with served(*names) as (api, users):
        # An answer comes only when all of them are asked for.
        api.on_replace = together
        users.change(adding=denies_of(*names), removing=NONE, before_each=before_each)
        users = replace(users, principals=tuple(f"User:{name}" for name in names))
        assert users.read() == denies_of(*names)
        assert not everybody.broken
        assert 1 <= len(permitted) <= len(names)
        epochs = {name: kafka_user.epoch_of(api.resources[name], "orders") for name in names}
        assert epochs == dict.fromkeys(names, 3)


def test_every_right_is_taken_away_before_one_is_given_whatever_the_names_are() -> None:
    names = ("app-1", "app-2", "app-3")
    given = frozenset(replace(acl, permission=AclPermission.ALLOW) for acl in denies_of("a-first", "app-1"))
    with served("a-first", *names) as (api, users):
        users.change(adding=denies_of(*names) | given, removing=NONE, before_each=lambda: 1)
        changed = [name for method, name in api.asked if method == "PUT"]
        assert (set(changed[:3]), set(changed[3:])) == (set(names), {"a-first", "app-1"})
        api.asked.clear()
        # To lift a DENY gives a right, and to remove an ALLOW takes one away.
        users.change(adding=NONE, removing=denies_of(*names) | given, before_each=lambda: 1)
        changed = [name for method, name in api.asked if method == "PUT"]
        assert (set(changed[:2]), set(changed[2:])) == ({"a-first", "app-1"}, set(names))


def test_no_right_is_given_if_one_could_not_be_taken_away() -> None:
    def refused() -> int:
        raise Refused("the register says otherwise")

    changes = denies_of("app-1", "app-2") | {replace(ALLOW, principal="User:a-first")}
    with served("a-first", "app-1", "app-2") as (api, users):
        with pytest.raises(Refused, match="the register says otherwise"):
            users.change(adding=changes, removing=NONE, before_each=refused)
        assert "PUT" not in {method for method, _ in api.asked}
        assert "a-first" not in {name for _, name in api.asked}
        with pytest.raises(Refused, match="there is no KafkaUser nobody"):
            users.change(adding=changes | denies_of("nobody"), removing=NONE, before_each=lambda: 1)
        assert "a-first" not in {name for _, name in api.asked}


def test_an_older_epoch_a_missing_user_and_a_user_of_somebody_else_are_refused() -> None:
    with served() as (api, users):
        users.change(adding=frozenset({DENY}), removing=NONE, before_each=lambda: 5)
        with pytest.raises(Refused, match="has rules of orders of epoch 5, and this process has epoch 4"):
            users.change(adding=NONE, removing=frozenset({DENY}), before_each=lambda: 4)
        with pytest.raises(Refused, match="there is no KafkaUser nobody in the namespace kafka, so User:nobody"):
            users.change(adding=frozenset({replace(DENY, principal="User:nobody")}), removing=NONE, before_each=None)
        api.resources["probe"]["status"] = {"username": "CN=probe"}
        with pytest.raises(Refused, match="the KafkaUser probe is of User:CN=probe, and the topology means User:probe"):
            users.change(adding=frozenset({replace(DENY, principal="User:probe")}), removing=NONE, before_each=None)
        assert users.read() == {DENY}


@pytest.mark.parametrize(
    ("spec", "annotations", "said"),
    [
        ({"authorization": {"type": "opa", "acls": []}}, {}, "of the type 'opa', expected simple"),
        ({"authorization": {"type": "simple", "acls": [{"operations": []}]}}, {}, "a rule in its acls cannot be"),
        (
            {"authorization": {"type": "simple", "acls": []}},
            {kafka_user.EPOCHS: "[]"},
            "is not a JSON object of groups",
        ),
    ],
)
def test_a_resource_that_is_not_as_its_definition_says_is_left_alone(
    spec: dict[str, Any], annotations: dict[str, str], said: str
) -> None:
    with served() as (api, users):
        api.put("orders-app", spec)
        api.resources["orders-app"]["metadata"]["annotations"] = annotations
        with pytest.raises(NeedsPerson, match=said):
            users.change(adding=frozenset({DENY}), removing=NONE, before_each=None)
        assert api.resources["orders-app"]["spec"] == spec


def test_what_the_api_answers_becomes_what_the_caller_should_do() -> None:
    with served() as (api, users):
        client = users.api
        found = client.read(PROBE)
        assert found is not None
        assert client.read(path_of(KIND, "nobody")) is None
        with pytest.raises(ObjectNotFound, match=r"could not change .*nobody: .* answered 404"):
            client.replace(path_of(KIND, "nobody"), found)
        with pytest.raises(Refused, match=r"answered 422 \(KafkaUser probe is invalid: spec.authorization"):
            client.replace(PROBE, {**found, "spec": {"authorization": {"type": "none"}}})
        api.put("probe", {"authorization": {"type": "simple", "acls": []}, "quotas": {}})
        with pytest.raises(ObjectChanged, match="answered 409"):
            client.replace(PROBE, found)
        stranger = KubernetesApi(HttpEndpoint(api.address, token="wrong"))
        with pytest.raises(ConnectionMistake, match=r"answered 401.*check the token in its connection"):
            stranger.read(PROBE)
        stranger.close()
        address = api.address
    gone = KubernetesApi(HttpEndpoint(address, token=TOKEN), request_seconds=1)
    with pytest.raises(TryAgain, match="gave no answer"):
        gone.read(PROBE)
    gone.close()
