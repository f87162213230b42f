"""``doctor`` names what is wrong with a set-up, and the commands that it prints correct it, on real brokers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kafka_dr.checks.positions_topic import NAME
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.fencing import plan
from support.command_line import CommandLine, Said
from support.existing_flow import old_worker
from support.kafka_tools import run_as_printed, tools_in
from support.protection import Protection
from support.vantage import vantage
from support.waiting import eventually

pytestmark = pytest.mark.kafka
#: These labs have no Airflow, and a session of Spark takes longer than all other questions.
DOCTOR = ("doctor", "--without", "airflow", "--without", "spark")
_TOPIC, _GROUP, _OP = ResourceType.TOPIC, ResourceType.GROUP, AclOperation


def open_findings(said: Said) -> list[tuple[str, str, str]]:
    """Return what is not good: about what, which question, and what the command says."""
    rows = [each for each in said.json["findings"] if each["outcome"] != "ok"]
    return [(each["about"], each["name"], each["detail"]) for each in rows]


def test_a_set_up_that_is_right_has_only_good_answers_before_anything_is_adopted(protection: Protection) -> None:
    said = CommandLine(protection).run(*DOCTOR, "--json")
    assert (said.code, open_findings(said)) == (0, []), said
    asked = {(each["about"], each["name"]) for each in said.json["findings"]}
    questions = (
        "login",
        "certificates",
        "principals",
        "addresses",
        "clock",
        "rights",
        "register",
        "workers",
        "flow",
        NAME,
    )
    each_cluster = {(cluster, name) for cluster in ("east", "west") for name in questions}
    once = {
        ("evidence", "storage"),
        ("evidence", "signature"),
        (protection.name, "route"),
        (protection.name, "vantage"),
    }
    assert asked == each_cluster | once
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
    said = line.run(*DOCTOR, "--json")
    assert said.code == 1, said
    named = [each for each in open_findings(said) if f"User:{principal} lacks {operation}" in each[2]]
    assert [(about, name) for about, name, _ in named] == [("west", "right")], said
    assert f"{prefix}*" in named[0][2]
    assert len(open_findings(said)) == 1

    commands = [command for each in said.json["findings"] for command in each["commands"]]
    shown = line.run(*DOCTOR)
    assert all(command in shown.out for command in commands)
    give_admin_file(protection, tmp_path)
    run_as_printed("\n".join(commands), tools_in(tmp_path / "tools"), tmp_path)
    eventually(lambda: line.run(*DOCTOR).code == 0, seconds=30)


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


def give_admin_file(protection: Protection, folder: Path) -> None:
    """Write what the printed commands log in with."""
    admin_file = protection.lab.status().clusters[1].java_client_settings["admin"]
    (folder / "admin.properties").write_text(admin_file.read_text())


def run_with(line: CommandLine, stored: object) -> Said:
    """Run the command with other connections."""
    path = line.connections()
    path.write_text(json.dumps(stored))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CommandLine, "connections", lambda _line: path)
        return line.run(*DOCTOR, "--json")


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
    assert "Unable to bootstrap" not in said.out


def test_a_name_that_does_not_resolve_is_named_also_if_another_one_answers(protection: Protection) -> None:
    line = CommandLine(protection)
    stored = json.loads(line.connections().read_text())
    extra = stored["kafka_east_operator"]["extra"]
    extra["bootstrap.servers"] = f"{extra['bootstrap.servers']},broker-two.invalid:9092"
    said = run_with(line, stored)
    ((about, name, detail),) = open_findings(said)
    assert (said.code, about, name) == (1, "east", "address"), said
    assert "the host name broker-two.invalid is unknown here: correct it in connection kafka_east_operator" in detail
    assert "getent hosts broker-two.invalid" in said.out


def test_a_right_too_many_on_the_register_is_named_and_the_printed_commands_take_it_away(
    protection: Protection, tmp_path: Path
) -> None:
    right = Acl(_TOPIC, "_kafka_dr.", PatternType.PREFIXED, "User:intruder", _OP.WRITE, AclPermission.ALLOW)
    line = CommandLine(protection)
    with protection.cluster("west", "admin") as admin:
        admin.acls.add([right])
        try:
            said = line.run(*DOCTOR, "--json")
            ((about, name, detail),) = open_findings(said)
            assert (said.code, about, name) == (1, "west", "register"), said
            assert "User:intruder has WRITE on the topic _kafka_dr.register" in detail
            give_admin_file(protection, tmp_path)
            commands = [command for each in said.json["findings"] for command in each["commands"]]
            run_as_printed("\n".join(commands), tools_in(tmp_path / "tools"), tmp_path)
            eventually(lambda: line.run(*DOCTOR).code == 0, seconds=30)
        finally:
            denied = [acl for acl in admin.acls.list() if acl.principal == "User:intruder"]
            admin.acls.remove([right, *denied])


def test_a_vantage_that_cannot_be_reached_is_named_for_each_cluster_and_one_that_answers_is_good(
    protection: Protection, port_base: int
) -> None:
    disaster = protection.group.disaster
    silent = f"http://127.0.0.1:{port_base + 381}/{{cluster}}"
    with (
        vantage() as office,
        protection.changed(
            disaster=disaster.model_copy(update={"vantages": {"office": office.address, "cafe": silent}})
        ),
    ):
        said = CommandLine(protection).run(*DOCTOR, "--json")
    found = open_findings(said)
    assert (said.code, {(about, name) for about, name, _ in found}) == (1, {(protection.name, "vantage")}), said
    assert len(found) == 2
    assert f"curl -sS http://127.0.0.1:{port_base + 381}/west" in said.out


def test_a_route_that_cannot_be_written_is_named_with_what_shows_why(protection: Protection) -> None:
    (protection.folder / "route").write_text("in the way")
    said = CommandLine(protection).run(*DOCTOR, "--json")
    ((about, name, detail),) = open_findings(said)
    assert (said.code, about, name) == (1, protection.name, "route"), said
    assert "cannot be written" in detail
    assert f"namei -l {protection.folder}/route" in said.out


def test_after_an_adoption_another_evidence_root_and_a_route_to_the_standby_are_named(
    protection: Protection, tmp_path: Path
) -> None:
    protection.adopt()
    line = CommandLine(protection)
    _, protection.changes["approver_keys"] = line.keys("alice")
    said = line.run(*DOCTOR, "--json")
    assert (said.code, open_findings(said)) == (0, []), said
    elsewhere = line.run(*DOCTOR, "--json", "--evidence", str(tmp_path / "another"))
    ((about, name, detail),) = open_findings(elsewhere)
    assert (elsewhere.code, about, name) == (1, "evidence", "kept"), elsewhere
    assert "evidence.root was changed, or this machine sees another storage" in detail

    path = protection.folder / "route" / f"{protection.name}.json"
    path.write_text(path.read_text().replace('"east"', '"west"'))
    wrong = line.run(*DOCTOR, "--json")
    ((about, name, detail),) = open_findings(wrong)
    assert (wrong.code, about, name) == (1, protection.name, "route"), wrong
    assert "leads to west (epoch 1), but east is active" in detail
    commands = [command for each in wrong.json["findings"] for command in each["commands"]]
    run_as_printed("\n".join(commands), tmp_path, tmp_path)
    assert line.run(*DOCTOR).code == 0


def test_after_an_adoption_a_fence_with_a_hole_and_approvers_without_keys_are_named(protection: Protection) -> None:
    protection.adopt()
    lifted = min(plan.write_fence(protection.group))
    with protection.cluster("west", "admin") as admin:
        admin.acls.remove([lifted])
    line = CommandLine(protection)
    said = line.run(*DOCTOR, "--json")
    assert [(about, name) for about, name, _ in open_findings(said)] == [
        (protection.name, "approvers"),
        (protection.name, "fence"),
    ], said
    assert f"python -m kafka_dr health --group {protection.name}" in [
        command for each in said.json["findings"] for command in each["commands"]
    ]
    line.run("health", "--group", protection.name)
    _, protection.changes["approver_keys"] = line.keys("alice")
    assert line.run(*DOCTOR).code == 0


def test_who_else_may_do_what_the_workers_do_is_named(protection: Protection) -> None:
    """Connect does not say which principal its workers have, and the fence of a flow denies the replicator alone."""
    line, stranger = CommandLine(protection), f"User:{protection.name}-stranger"
    worker = protection.topology.cluster("west").connect_group_id
    rights = [
        Acl(resource, worker, PatternType.PREFIXED, stranger, operation, AclPermission.ALLOW)
        for resource, operation in ((_GROUP, _OP.READ), (_TOPIC, _OP.WRITE))
    ]
    with protection.cluster("west", "admin") as admin:
        admin.acls.add(rights)
        try:
            eventually(lambda: admin.acls.list().issuperset(rights))
            said = line.run(*DOCTOR, "--json")
        finally:
            admin.acls.remove(rights)
    (found,) = [detail for about, name, detail in open_findings(said) if (about, name) == ("west", "workers")]
    assert f"is not checked: {stranger} may do what they do, too. They have to log in as User:" in found


def test_workers_in_another_group_than_the_declared_one_are_named(protection: Protection) -> None:
    """The fence of a flow ends the transactions whose ids begin with that group."""
    line = CommandLine(protection)
    path = line.topology()
    declared = yaml.safe_load(path.read_text())
    declared["clusters"]["west"]["connect_group_id"] = f"none-{protection.name}"
    path.write_text(json.dumps(declared))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CommandLine, "topology", lambda _line: path)
        said = line.run(*DOCTOR, "--json")
    assert said.code == 1, said
    (found,) = [detail for about, name, detail in open_findings(said) if (about, name) == ("west", "workers")]
    assert f"group none-{protection.name} has no members on west" in found
    assert "give connect_group_id of the topology the group.id of these workers" in found
