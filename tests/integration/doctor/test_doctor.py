"""``doctor`` names what is wrong with a set-up, and the commands that it prints correct it, on real brokers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from support.command_line import CommandLine, Said
from support.existing_flow import old_worker
from support.kafka_tools import run_as_printed, tools_in
from support.protection import Protection
from support.waiting import eventually

pytestmark = pytest.mark.kafka
_TOPIC, _GROUP, _OP = ResourceType.TOPIC, ResourceType.GROUP, AclOperation


def open_findings(said: Said) -> list[tuple[str, str, str]]:
    """Return what is not good: about what, which question, and what the command says."""
    rows = [each for each in said.json["findings"] if each["outcome"] != "ok"]
    return [(each["about"], each["name"], each["detail"]) for each in rows]


def test_a_set_up_that_is_right_has_only_good_answers_before_anything_is_adopted(protection: Protection) -> None:
    said = CommandLine(protection).run("doctor", "--json")
    assert (said.code, open_findings(said)) == (0, []), said
    asked = {(each["about"], each["name"]) for each in said.json["findings"]}
    each_cluster = {
        (cluster, name) for cluster in ("east", "west") for name in ("login", "certificates", "rights", "flow")
    }
    assert asked == each_cluster | {("evidence", "storage"), ("evidence", "signature")}
    assert not list((protection.folder / "evidence").glob("doctor/*"))


@pytest.mark.parametrize(
    ("principal", "resource", "operation"),
    [
        pytest.param("dr-operator", _TOPIC, _OP.ALTER, marks=pytest.mark.long),
        pytest.param("dr-operator", _GROUP, _OP.READ, marks=pytest.mark.long),
        pytest.param("replicator", _TOPIC, _OP.CREATE, marks=pytest.mark.long),
        pytest.param("audit", _TOPIC, _OP.READ, marks=pytest.mark.long),
        pytest.param("probe", _TOPIC, _OP.WRITE, marks=pytest.mark.long),
        ("probe", _GROUP, _OP.READ),
    ],
)
def test_each_right_that_is_taken_away_is_named_and_the_printed_commands_give_it_back(
    protection: Protection, tmp_path: Path, principal: str, resource: ResourceType, operation: AclOperation
) -> None:
    prefix = {_TOPIC: f"{protection.name}.", _GROUP: f"{protection.name}-"}[resource]
    taken = Acl(resource, prefix, PatternType.PREFIXED, f"User:{principal}", operation, AclPermission.ALLOW)
    line = CommandLine(protection)
    with protection.cluster("west", "admin") as admin:
        assert taken in admin.acls.list()
        admin.acls.remove([taken])
        eventually(lambda: taken not in admin.acls.list())
    said = line.run("doctor", "--json")
    assert said.code == 1, said
    named = [each for each in open_findings(said) if f"User:{principal} lacks {operation}" in each[2]]
    assert [(about, name) for about, name, _ in named] == [("west", "right")], said
    assert f"{prefix}*" in named[0][2]
    assert len(open_findings(said)) == 1

    commands = [command for each in said.json["findings"] for command in each["commands"]]
    shown = line.run("doctor")
    assert all(command in shown.out for command in commands)
    admin_file = protection.lab.status().clusters[1].java_client_settings["admin"]
    (tmp_path / "admin.properties").write_text(admin_file.read_text())
    run_as_printed("\n".join(commands), tools_in(tmp_path / "tools"), tmp_path)
    eventually(lambda: line.run("doctor").code == 0, seconds=30)


def test_a_worker_that_would_not_run_the_flow_is_named_with_what_to_set(
    protection: Protection, tmp_path: Path, port_base: int
) -> None:
    line = CommandLine(protection)
    stored = json.loads(line.connections().read_text())
    with old_worker(protection.lab, tmp_path / "old", port_base + 380) as worker:
        stored["connect_west"]["host"] = worker.endpoint.base_url
        said = run_with(line, stored)
    found = [detail for about, name, detail in open_findings(said) if (about, name) == ("west", "flow")]
    assert (said.code, len(found)) == (1, 1), said
    assert "cannot run: exactly-once source support is off: set exactly.once.source.support=enabled" in found[0]


def run_with(line: CommandLine, stored: object) -> Said:
    """Run the command with other connections."""
    path = line.connections()
    path.write_text(json.dumps(stored))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CommandLine, "connections", lambda _line: path)
        return line.run("doctor", "--json")


def test_a_wrong_password_and_another_principal_are_each_named(protection: Protection) -> None:
    line = CommandLine(protection)
    stored = json.loads(line.connections().read_text())
    stored["kafka_west_probe"]["extra"]["sasl.password"] = "another"
    stored["kafka_east_audit"]["extra"] = stored["kafka_east_operator"]["extra"]

    said = run_with(line, stored)
    found = {(about, name): detail for about, name, detail in open_findings(said)}
    assert (said.code, set(found)) == (1, {("west", "login"), ("east", "login")}), said
    assert "refuses the login of probe" in found["west", "login"]
    assert "the audit logs in as User:dr-operator" in found["east", "login"]
