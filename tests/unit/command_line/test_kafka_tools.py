"""A printed command names exactly the DENYs that it is for, whatever the names look like to a shell."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from itertools import pairwise, product
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as some

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.clusters.tool_access import ToolAccess
from kafka_dr.command_line.kafka_tools import (
    LEFT_TO_COPY,
    add_denies,
    offsets_file,
    options_file,
    remove_denies,
    reset_from_file,
    write_register,
)
from kafka_dr.positions import TopicPartition
from kafka_dr.replication.by_hand import COPIED_ROWS

EAST = ToolAccess("east", "broker:9092", "a folder/east.properties")
_KINDS = {
    "--topic": ResourceType.TOPIC,
    "--group": ResourceType.GROUP,
    "--transactional-id": ResourceType.TRANSACTIONAL_ID,
}
_WORDS = {
    "All": AclOperation.ALL,
    "Read": AclOperation.READ,
    "Write": AclOperation.WRITE,
    "AlterConfigs": AclOperation.ALTER_CONFIGS,
}
_ACLS = some.frozensets(
    some.builds(
        Acl,
        some.sampled_from(sorted(_KINDS.values())),
        some.sampled_from(["orders.", "pay ments", "it's", "$(reboot)", "a;b", '"', "-x"]),
        some.sampled_from(list(PatternType)),
        some.sampled_from(["User:app", "User:CN=a b,O=c", "User:`id`"]),
        some.sampled_from(list(_WORDS.values())),
        some.just(AclPermission.DENY),
    ),
    max_size=20,
)


def named_by(command: str) -> set[Acl]:
    """Return the DENYs that a command names, as the tool reads it."""
    words = shlex.split(command)
    values = list(pairwise(words))
    principals = [value for option, value in values if option == "--deny-principal"]
    operations = [value for option, value in values if option == "--operation"]
    pattern = PatternType(words[words.index("--resource-pattern-type") + 1])
    names = [(_KINDS[option], value) for option, value in values if option in _KINDS]
    return {
        Acl(kind, name, pattern, principal, _WORDS[operation], AclPermission.DENY)
        for (kind, name), principal, operation in product(names, principals, operations)
    }


@given(_ACLS)
def test_the_commands_together_name_exactly_the_denies(acls: frozenset[Acl]) -> None:
    for commands in (add_denies(EAST, acls), remove_denies(EAST, acls)):
        named = [acl for command in commands for acl in named_by(command)]
        assert set(named) == acls
        assert len(named) == len(acls)


def test_a_removal_is_not_asked_about_and_an_addition_adds() -> None:
    deny = Acl(ResourceType.TOPIC, "t", PatternType.LITERAL, "User:a", AclOperation.READ, AclPermission.DENY)
    (added,), (removed,) = add_denies(EAST, [deny]), remove_denies(EAST, [deny])
    assert added.startswith(
        "kafka-acls.sh --bootstrap-server broker:9092 --command-config 'a folder/east.properties' --add"
    )
    assert "--remove --force" in removed


def test_eight_hundred_topics_are_split_into_commands_that_a_person_can_check() -> None:
    denies = {
        Acl(ResourceType.TOPIC, f"t{n}", PatternType.LITERAL, "User:a", AclOperation.READ, AclPermission.DENY)
        for n in range(800)
    }
    assert len(add_denies(EAST, denies)) == 8


def test_a_record_of_the_register_is_quoted() -> None:
    (written,) = write_register(EAST, [(b"group/o", b'{"reason":"it\'s $HOME"}')])
    assert shlex.split(written)[2:4] == ["group/o", '{"reason":"it\'s $HOME"}']


def test_offsets_of_several_groups_name_the_group_and_those_of_one_do_not() -> None:
    first = {TopicPartition("t", 1): 5, TopicPartition("t", 0): 7}
    assert offsets_file({"a": first}) == "t,0,7\nt,1,5\n"
    assert offsets_file({'b, "2"': {TopicPartition("t", 0): 1}, "a": first}).splitlines() == [
        "a,t,0,7",
        "a,t,1,5",
        '"b, ""2""",t,0,1',
    ]


def test_a_tool_gets_each_option_of_a_file_as_one_word_whatever_it_looks_like_to_a_shell(tmp_path: Path) -> None:
    names = ["a b", "it's", '"', "$HOME", "`id`", "x;y", "*"]
    (tmp_path / "groups.txt").write_text(options_file(names, ["t"]))
    tool = tmp_path / "kafka-consumer-groups.sh"
    tool.write_text("#!/bin/sh\nfor each; do printf '%s\\n' \"$each\"; done\n")
    tool.chmod(0o755)
    command = reset_from_file(EAST, "groups.txt", "offsets.csv")
    path = f"{tmp_path}:{os.environ['PATH']}"
    said = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, env={"PATH": path}, capture_output=True, check=True)
    assert said.stdout.decode().splitlines() == [
        *("--bootstrap-server", "broker:9092", "--command-config", "a folder/east.properties"),
        *("--reset-offsets", "--from-file", "offsets.csv", "--execute"),
        *sorted(f"--group={name}" for name in names),
        "--topic=t",
    ]


def test_what_a_connector_has_copied_is_compared_with_the_log_ends(tmp_path: Path) -> None:
    offsets = [
        {"partition": {"cluster": "east", "partition": 0, "topic": "t.a"}, "offset": {"offset": 9}},
        {"partition": {"topic": "t.b", "cluster": "east", "partition": 11}, "offset": {"offset": 41}},
    ]
    (tmp_path / "offsets.json").write_text(json.dumps({"offsets": offsets}, separators=(",", ":")))
    (tmp_path / "ends.txt").write_text("t.a:0:10\nt.b:11:45\nt.c:0:3\nt.d:1:0\n")
    commands = f"cat offsets.json | {COPIED_ROWS} > copied.txt; {LEFT_TO_COPY}"
    said = subprocess.run(["/bin/sh", "-c", commands], cwd=tmp_path, capture_output=True, check=True)
    assert said.stdout.decode().splitlines() == ["t.b:11: 3 left", "t.c:0: 3 left"]
