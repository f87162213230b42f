"""Every request of the protocol, as every application, on a cluster that is closed for it.

Requests are filled from the protocol's own description: whatever names a topic, a group or a transactional id gets one
of the protection group. Each part of each answer has to say that this is not authorized, or a reason is written down.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest
from kafka import errors
from kafka.protocol import admin, consumer, metadata, producer, sasl
from kafka.protocol.api_key import ApiKey
from kafka.protocol.api_message import ApiMessage

from kafka_dr.clusters import KafkaCluster
from kafka_dr.errors import KafkaDrError
from kafka_dr.runs.request import StepName
from support.closed_standby import close
from support.protection import Protection
from support.switched_group import SwitchedGroup

pytestmark = [pytest.mark.kafka, pytest.mark.long]

_REFUSED = frozenset(
    getattr(errors, f"{name}AuthorizationFailedError").errno
    for name in ("Topic", "Group", "Cluster", "TransactionalId", "DelegationToken")
    if hasattr(errors, f"{name}AuthorizationFailedError")
)
_TOPIC = 2
_LOGIN = "it belongs to the login, which is over"
_NAMES_NOTHING = "it names no resource of the group, and lists only what may be described"
_BROKERS = (
    "brokers and controllers send it to each other, with CLUSTER_ACTION, or an operator with ALTER on the cluster"
)
_NEWER = "no client of the tests speaks it; it needs READ or DESCRIBE on the topics or the group, which ALL denies"
#: What need not be refused, by the protocol's name, and why.
MAY_PASS: Mapping[str, str] = {
    "SaslHandshake": _LOGIN,
    "SaslAuthenticate": _LOGIN,
    "ApiVersions": _NAMES_NOTHING,
    "ListGroups": _NAMES_NOTHING,
    "ListTransactions": _NAMES_NOTHING,
    "ListConfigResources": _NAMES_NOTHING,
    "DescribeCluster": _NAMES_NOTHING,
}
#: What is not sent, and why it is no way in.
NOT_SENT: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown", "Vote", "BeginQuorumEpoch",
            "EndQuorumEpoch", "AlterPartition", "Envelope", "FetchSnapshot", "BrokerRegistration", "BrokerHeartbeat",
            "UnregisterBroker", "AllocateProducerIds", "ControllerRegistration", "AssignReplicasToDirs", "AddRaftVoter",
            "RemoveRaftVoter", "UpdateRaftVoter", "InitializeShareGroupState", "ReadShareGroupState",
            "WriteShareGroupState", "DeleteShareGroupState", "ReadShareGroupStateSummary",
        ),
        _BROKERS,
    ),
    **dict.fromkeys(
        (
            "ConsumerGroupHeartbeat", "ConsumerGroupDescribe", "ShareGroupHeartbeat", "ShareGroupDescribe",
            "ShareFetch", "ShareAcknowledge", "StreamsGroupHeartbeat", "StreamsGroupDescribe",
            "DescribeShareGroupOffsets", "AlterShareGroupOffsets", "DeleteShareGroupOffsets",
        ),
        _NEWER,
    ),
    **dict.fromkeys(
        ("CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken", "DescribeDelegationToken"),
        "a token has the rights of its owner, so it is refused what its owner is refused",
    ),
    **dict.fromkeys(("GetTelemetrySubscriptions", "PushTelemetry"), "it carries a client's metrics, and no data"),
}  # fmt: skip


def _requests() -> dict[str, type[Any]]:
    """Return the requests that the client can make, by the protocol's name."""
    return {
        name.removesuffix("Request"): made
        for module in (admin, consumer, metadata, producer, sasl)
        for name, made in vars(module).items()
        if name.endswith("Request") and isinstance(made, type) and issubclass(made, ApiMessage)
    }


class Filled:
    """A request of a kind about one protection group."""

    def __init__(self, protection: Protection, cluster: str) -> None:
        name = protection.name
        with protection.cluster(cluster, "admin") as reached:
            found = reached.topics.describe([protection.topic])[protection.topic].topic_id
        topic_id = UUID(bytes=urlsafe_b64decode(f"{found}=="))
        self._named = {"topicName": protection.topic, "groupId": f"{name}-head", "transactionalId": f"{name}-tx"}
        self._special: dict[tuple[str, str], Any] = {
            ("DescribeConfigs", "ResourceType"): _TOPIC,
            ("AlterConfigs", "ResourceType"): _TOPIC,
            ("IncrementalAlterConfigs", "ResourceType"): _TOPIC,
            ("DescribeConfigs", "ResourceName"): protection.topic,
            ("AlterConfigs", "ResourceName"): protection.topic,
            ("IncrementalAlterConfigs", "ResourceName"): protection.topic,
            ("FindCoordinator", "Key"): f"{name}-head",
            ("FindCoordinator", "CoordinatorKeys"): [f"{name}-head"],
            ("DeleteGroups", "GroupsNames"): [f"{name}-head"],
            ("Produce", "Acks"): -1,
            # Newer versions of these two name topics by their ids.
            ("Produce", "TopicId"): topic_id,
            ("Fetch", "TopicId"): topic_id,
            ("CreateTopics", "Name"): f"{name}.new",
            ("CreatePartitions", "Count"): 9,
            ("CreateAcls", "ResourceType"): _TOPIC,
            ("CreateAcls", "ResourceName"): protection.topic,
            ("CreateAcls", "ResourcePatternType"): 3,
            ("CreateAcls", "Principal"): "User:intruder",
            ("CreateAcls", "Host"): "*",
            ("CreateAcls", "Operation"): 3,
            ("CreateAcls", "PermissionType"): 3,
            ("DeleteAcls", "ResourceTypeFilter"): _TOPIC,
            ("DeleteAcls", "ResourceNameFilter"): protection.topic,
            ("DeleteAcls", "PatternTypeFilter"): 3,
            ("DeleteAcls", "PrincipalFilter"): None,
            ("DeleteAcls", "HostFilter"): None,
            ("DeleteAcls", "Operation"): 1,
            ("DeleteAcls", "PermissionType"): 1,
            ("DescribeAcls", "ResourceTypeFilter"): _TOPIC,
            ("DescribeAcls", "PatternTypeFilter"): 3,
            ("DescribeAcls", "Operation"): 1,
            ("DescribeAcls", "PermissionType"): 1,
        }

    def of(self, kind: str, request: type[Any]) -> Any:
        return request(**self._fields(kind, request, request.json["fields"]))

    def _fields(self, kind: str, made: type[Any], fields: list[dict[str, Any]]) -> dict[str, Any]:
        return {_snake(each["name"]): self._value(kind, made, each) for each in fields if "tag" not in each}

    def _value(self, kind: str, made: type[Any], field: dict[str, Any]) -> Any:
        if (kind, field["name"]) in self._special:
            return self._special[kind, field["name"]]
        of = field["type"].removeprefix("[]")
        if field["name"].lower() == "timeoutms":
            return 5000
        if "fields" in field:
            inner = getattr(made, of)
            value: Any = inner(**self._fields(kind, inner, field["fields"]))
        elif field.get("entityType") in self._named:
            value = self._named[field["entityType"]]
        else:
            value = {"string": "x", "bool": False, "bytes": b"", "records": b"", "uuid": None}.get(of, 0)
        return [value] if field["type"].startswith("[]") else value


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _codes(answer: Any) -> Iterator[int]:
    """Yield the error of each innermost part of an answer that has one."""
    parts = list(answer.items()) if isinstance(answer, dict) else list(enumerate(answer))
    inner = [code for _, part in parts if isinstance(part, dict | list) for code in _codes(part)]
    if inner:
        yield from inner
    elif isinstance(answer, dict) and "error_code" in answer:
        yield answer["error_code"]


def passed(protection: Protection, cluster: str, principal: str, *only: str) -> dict[str, str]:
    """Return what is not refused for want of a right, and has no reason, with what is answered.

    :param only: the kinds that are sent; all without
    """
    filled, found = Filled(protection, cluster), {}
    with protection.cluster(cluster, principal) as reached:
        for kind, request in _requests().items():
            if (
                (kind in only or not only)
                and kind not in MAY_PASS
                and (said := _answer(reached, filled.of(kind, request)))
            ):
                found[kind] = said
    return found


def _answer(reached: KafkaCluster, request: Any) -> str:
    try:
        answer = reached._session.request(request, "send a request of the protocol")
    except KafkaDrError as error:
        return str(error)
    codes = set(_codes(answer.to_dict()))
    return "" if codes and codes <= _REFUSED else f"{sorted(codes)}"


def test_every_kind_of_request_is_sent_or_has_a_reason() -> None:
    kinds = {key.name for key in ApiKey}
    assert kinds == _requests().keys() | NOT_SENT.keys()
    assert MAY_PASS.keys() <= kinds
    assert not _requests().keys() & NOT_SENT.keys()


def test_nothing_passes_on_a_closed_standby_a_drained_source_and_an_old_cluster(protection: Protection) -> None:
    protection.changes["fence_operations"] = "all"
    group = SwitchedGroup.adopt(protection)
    names = [principal.removeprefix("User:") for principal in protection.group.principals]
    assert any(passed(protection, "east", name, "Produce", "Fetch") for name in names), "an open cluster refuses less"
    close(group)
    for name in names:
        assert passed(protection, "west", name) == {}, "on a closed standby"
    request = group.go(StepName.DRAIN)
    for name in names:
        assert passed(protection, "east", name) == {}, "on a drained source"
    group.roll_back(request)
    group.go(StepName.REPORT)
    for name in names:
        assert passed(protection, "east", name) == {}, "after the hand-over"
    protection.delete_flows()
