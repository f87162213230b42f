"""The contract of access rules, wherever they are kept: the brokers of a real cluster have to act on each change."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from kafka_dr.access_rules import AccessRules
from kafka_dr.access_rules.command import CommandRules
from kafka_dr.access_rules.kafka_users import KafkaUsers
from kafka_dr.access_rules.rules_file import RulesFile
from kafka_dr.clock import SystemClock
from kafka_dr.clusters import Acl, AclOperation, AclPermission, KafkaCluster, PatternType, ResourceType
from kafka_dr.clusters.acls import Acls
from kafka_dr.errors import Refused
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.locked_file import LockedFile
from kafka_dr.topology.access_rules import AccessRulesSpec
from lab.api import Lab
from support.kept_elsewhere import RulesPipeline, RulesProgram, rights_as_rules, scope_of
from support.kubernetes_api import TOKEN, UsersApi, pipeline_of, users_of
from support.protection import Protection
from support.switched_group import Killed
from support.waiting import eventually

pytestmark = pytest.mark.kafka
KINDS = ("broker", "file", "kafka_user", "command")


@dataclass
class Place:
    """Where rules are kept, and what others do there.

    :param others_add: puts a DENY of others there
    :param dies_at: what is patched so that a process dies between writing a change and seeing it in force
    """

    rules: AccessRules
    admin: KafkaCluster
    others_add: Callable[[Acl], None]
    dies_at: tuple[type, str]
    name: str

    def deny(self, word: str, principal: str = "User:orders-app") -> Acl:
        """Return a DENY on a name of this test's own."""
        name = f"{self.name}.{word}"
        return Acl(ResourceType.TOPIC, name, PatternType.LITERAL, principal, AclOperation.WRITE, AclPermission.DENY)

    def on_brokers(self) -> frozenset[Acl]:
        """Return the DENYs that the brokers decide by, as an administrator sees them."""
        found = self.admin.acls.list()
        return frozenset(acl for acl in found if acl.name.startswith(f"{self.name}.") and acl.permission == "DENY")


@pytest.fixture(scope="module", params=KINDS)
def place(request: pytest.FixtureRequest, lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    protection = Protection(lab, tmp_path_factory.mktemp(request.param), name=f"r{uuid.uuid4().hex[:8]}")
    with ExitStack() as stack:
        spec, others_add, dies_at = _KEPT[request.param](protection, stack)
        protection.access_rules["east"] = spec
        clients = stack.enter_context(protection.clients())
        admin = stack.enter_context(protection.cluster("east", "admin"))
        rules = clients.access_rules("east", protection.group)
        yield Place(rules, admin, others_add, dies_at, protection.name)
        admin.acls.remove(acl for acl in admin.acls.list() if acl.name.startswith(protection.name))


def test_what_is_added_is_in_force_and_what_is_removed_is_not_and_others_rules_stay(place: Place) -> None:
    first, second, theirs = place.deny("first"), place.deny("second", "User:probe"), place.deny("theirs")
    place.others_add(theirs)
    eventually(lambda: theirs in place.rules.list())

    place.rules.add([first, second], before_each=lambda: 3)
    assert {first, second, theirs} <= place.rules.list()
    assert place.on_brokers() >= {first, second}
    place.rules.add([first], before_each=lambda: 3)
    assert not place.rules.leaving(frozenset({first, second}))

    place.rules.remove([first], before_each=lambda: 4)
    assert {second, theirs} <= place.rules.list()
    assert first not in place.rules.list() | place.on_brokers() | place.rules.coming(frozenset({first}))
    place.rules.remove([first, second])
    place.rules.remove([first, second], before_each=lambda: 4)
    assert place.rules.list() & {first, second, theirs} == {theirs}


def test_without_permission_nothing_is_changed(place: Place) -> None:
    def no() -> int:
        raise Refused("the register says otherwise")

    deny = place.deny("refused")
    with pytest.raises(Refused, match="the register says otherwise"):
        place.rules.add([deny], before_each=no)
    assert deny not in place.rules.list() | place.on_brokers() | place.rules.coming(frozenset({deny}))


def test_what_others_write_at_the_same_moment_is_in_force_as_well(place: Place) -> None:
    ours, theirs = place.deny("ours"), place.deny("theirs-too")
    left = [theirs]

    def before_each() -> int:
        if left:
            place.others_add(left.pop())
        return 5

    place.rules.add([ours], before_each=before_each)
    eventually(lambda: {ours, theirs} <= place.rules.list())
    place.rules.remove([ours])


def test_a_process_that_dies_after_it_has_written_is_completed_by_the_same_call(place: Place) -> None:
    deny = place.deny("died")
    at, method = place.dies_at
    for change, present in ((place.rules.add, True), (place.rules.remove, False)):
        with mock.patch.object(at, method, side_effect=Killed), pytest.raises(Killed):
            change([deny], before_each=lambda: 6)
        change([deny], before_each=lambda: 6)
        assert (deny in place.rules.list()) is present
        assert (deny in place.on_brokers()) is present


def _on_brokers(protection: Protection, stack: ExitStack) -> Any:
    admin = stack.enter_context(protection.cluster("east", "admin"))
    return AccessRulesSpec(), lambda acl: admin.acls.add([acl]), (Acls, "_wait_until_known")


def _in_a_file(protection: Protection, stack: ExitStack) -> Any:
    pipeline = RulesPipeline(protection, "east", every=0.2)
    stack.enter_context(pipeline.running())

    def others_add(acl: Acl) -> None:
        path = pipeline.folder / "own.json"
        rule = [acl.resource, acl.name, acl.pattern, acl.principal, acl.host, acl.operation.lower(), "deny"]
        LockedFile(path, SystemClock()).replace(json.dumps([*json.loads(path.read_text()), rule]))

    return pipeline.spec(), others_add, (RulesFile, "apply")


def _in_kafka_users(protection: Protection, stack: ExitStack) -> Any:
    api = UsersApi(pipeline_of(protection.lab.client_settings("east", "admin"), scope_of(protection)), every=0.2)
    for name, spec in users_of(set(rights_as_rules(protection, "east"))).items():
        api.put(name, spec)
    stack.enter_context(api.running())
    protection.endpoints["kubernetes_east"] = HttpEndpoint(api.address, token=TOKEN)
    declared = {"kept_by": "kafka_user", "connection": "kubernetes_east", "namespace": "kafka"}

    def others_add(acl: Acl) -> None:
        name = acl.principal.removeprefix("User:")
        rule = (acl.resource, acl.name, acl.pattern, acl.principal, acl.host, acl.operation.lower(), "deny")
        acls = api.resources[name]["spec"]["authorization"]["acls"]
        added = users_of({rule})[name]["authorization"]["acls"]
        api.put(name, {"authorization": {"type": "simple", "acls": [*acls, *added]}})

    times = {"reconciles_every_seconds": 1, "applied_within_seconds": 20}
    return AccessRulesSpec.model_validate({**declared, **times}), others_add, (KafkaUsers, "apply")


def _behind_a_program(protection: Protection, stack: ExitStack) -> Any:
    program = RulesProgram(protection, "east")
    program.install()
    admin = stack.enter_context(protection.cluster("east", "admin"))

    def others_add(acl: Acl) -> None:
        path: Path = program.folder / "kept.json"
        kept = json.loads(path.read_text()) if path.exists() else {}
        row = {"resource_type": "topic", "name": acl.name, "pattern": "literal", "principal": acl.principal}
        kept.setdefault(protection.name, []).append({**row, "operations": ["WRITE"], "host": "*"})
        path.write_text(json.dumps(kept))
        admin.acls.add([acl])

    return program.spec(), others_add, (CommandRules, "_wait")


_KEPT: dict[str, Callable[[Protection, ExitStack], Any]] = {
    "broker": _on_brokers,
    "file": _in_a_file,
    "kafka_user": _in_kafka_users,
    "command": _behind_a_program,
}
