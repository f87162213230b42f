"""Somebody else's dedicated MirrorMaker: what its file says, and who may read it."""

from __future__ import annotations

import stat
from pathlib import Path

from lab.demo.observed.others_flow import MIRRORMAKER, OBSERVER, ON_SOURCE, ON_TARGET
from lab.jvm import Jvm
from lab.mirrormaker import MirroredFlow, prepare
from lab.rights import DESCRIBE, DESCRIBE_CONFIGS, PRINCIPALS, READ, WRITE, Operation

PASSWORD = "pass-word-of-mirrormaker"
FLOW = MirroredFlow(
    "east",
    "west",
    topics="orders\\..*",
    groups="orders-.*",
    access={name: {"sasl.jaas.config": f'login password="{PASSWORD}";'} for name in ("east", "west")},
    settings={"sync.topic.acls.enabled": "false"},
)


def operations(principal: str) -> set[Operation]:
    return {each for right in (*ON_SOURCE, *ON_TARGET) if right.principal == principal for each in right.operations}


def test_its_file_has_one_direction_and_its_usual_policy() -> None:
    values = dict(line.split("=", 1) for line in FLOW.properties().splitlines())

    assert (values["clusters"], values["east->west.enabled"], values["west->east.enabled"]) == (
        "east,west",
        "true",
        "false",
    )
    # A file of Java properties needs each backslash twice.
    assert values["east->west.topics"] == "orders\\\\..*"
    assert not {"replication.policy.class", "exactly.once.source.support"} & values.keys()


def test_its_password_is_in_a_file_of_its_owner_and_in_no_argument(tmp_path: Path) -> None:
    command = prepare(FLOW, tmp_path / "mirrormaker", jvm=Jvm(tmp_path / "java", tmp_path / "jars"))

    (secret,) = (path for path in tmp_path.rglob("*") if path.is_file() and PASSWORD in path.read_text())
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert str(secret) in command.argv
    assert PASSWORD not in " ".join(command.argv)
    assert PASSWORD not in repr(FLOW)


def test_it_and_who_observes_it_are_principals_of_their_own_and_the_observer_may_only_look() -> None:
    assert not {MIRRORMAKER, OBSERVER} & set(PRINCIPALS)
    assert operations(OBSERVER) == {READ, DESCRIBE, DESCRIBE_CONFIGS}
    # It copies to the target, and on the source it writes nothing but its offset syncs.
    written = {right.pattern for right in ON_SOURCE if WRITE in right.operations}
    assert written == {"mm2-offset-syncs.west.internal"}
