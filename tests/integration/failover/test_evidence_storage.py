"""The evidence storage is full from the claim on: the failover is done all the same, and all it saw is filed later."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import reduce
from pathlib import Path
from unittest import mock

import pytest

from kafka_dr.evidence.store import EvidenceUnwritable
from kafka_dr.health.stalled_runs import check_evidence
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.request import StepName
from kafka_dr.storage.access import AccessDeadline
from kafka_dr.storage.child_access import ChildAccess
from kafka_dr.verbs.runner import run_step
from lab import jars, java
from lab.bootstrap import cache_folder
from lab.jvm import Jvm
from support import outside_view
from support.protection import STEPS_AFTER_APPROVAL
from support.storage_mounts import full, hanging
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka

GUIDE = Path(__file__).parents[3] / "include" / "guide" / "evidence.md"


def test_a_planned_failover_without_space_for_its_evidence_is_finished_and_filed_later(
    group: SwitchedGroup, tmp_path: Path
) -> None:
    request = group.go(StepName.CLAIM)
    after = STEPS_AFTER_APPROVAL[STEPS_AFTER_APPROVAL.index(StepName.CLAIM) + 1 :]
    target = group.standby
    with full(group.protection.folder / "evidence"):
        for step in after:
            with group.protection.clients() as clients:
                record = run_step(step, request, clients)
                assert "not filed; the register of" in record.evidence, record
    assert group.active == target

    with group.protection.clients() as clients:
        context = GroupContext(group.name, clients)
        found = check_evidence(context)
        assert (found.outcome, request.run in found.detail) == ("ok", True), found
        kept = {step: clients.evidence.newest(group.name, request.run, step) for step in after}
        assert [step for step, seen in kept.items() if seen is None or seen["outcome"] != "done"] == []
        seal = clients.evidence.newest_seal(group.name, request.run)
        assert seal is not None
        assert str(clients.evidence.verify(seal)) == "every file is unchanged."
        state = context.read_register_state()
        assert state is not None
        assert not context.is_unsealed(state)
    assert seal.digest in printed_by_the_command_of_the_guide(group, request.run, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("broken", [hanging, full])
def test_storage_that_fails_in_each_step_alone_stops_none_and_all_is_filed_when_the_step_runs_again(
    group: SwitchedGroup, broken: Callable[[Path], AbstractContextManager[None]]
) -> None:
    request, target = group.go(StepName.PREFLIGHT), group.standby
    before = outside_view.look(group.protection)
    refused = pytest.raises(EvidenceUnwritable, match=r"name another evidence\.root")
    with _failing(group, broken), group.protection.clients() as clients, refused:
        run_step(StepName.CLAIM, request, clients)
    assert outside_view.look(group.protection) == before

    with group.protection.clients() as clients:
        run_step(StepName.CLAIM, request, clients)
    after = STEPS_AFTER_APPROVAL[STEPS_AFTER_APPROVAL.index(StepName.CLAIM) + 1 :]
    for step in after:
        with _failing(group, broken), group.protection.clients() as clients:
            assert "not filed; the register of" in run_step(step, request, clients).evidence
        with group.protection.clients() as clients:
            assert run_step(step, request, clients).evidence_sha256

    group.assert_at_rest(target)
    folder = group.protection.folder / "evidence" / "runs" / group.name / request.run
    assert {step: len(list(folder.glob(f"*-{step}.*.json"))) for step in after} == dict.fromkeys(after, 2)
    with group.protection.clients() as clients:
        seal = clients.evidence.newest_seal(group.name, request.run)
        assert seal is not None
        assert str(clients.evidence.verify(seal)) == "every file is unchanged."


@contextmanager
def _failing(group: SwitchedGroup, broken: Callable[[Path], AbstractContextManager[None]]) -> Iterator[None]:
    """Let the evidence of a group fail, for clients that do not wait long for it."""
    impatient = mock.patch("kafka_dr.storage.deadline_path._shared_child", return_value=ChildAccess(AccessDeadline(2)))
    with impatient, broken(group.protection.folder / "evidence"):
        yield


def printed_by_the_command_of_the_guide(group: SwitchedGroup, run: str, folder: Path) -> str:
    """Run the line with which an auditor reads a seal's digest from the register, as it is printed."""
    printed = re.search(r"^    (kafka-console-consumer\.sh .*)$", GUIDE.read_text("utf-8"), re.MULTILINE)
    assert printed is not None
    lab, environ = group.protection.lab, dict(os.environ)
    jvm = Jvm(
        java_home=java.java_home(environ),
        jars=jars.obtain(jars.KAFKA, cache=cache_folder(environ), environ=environ, progress=lambda _done, _of: None),
    )
    argv = jvm.argv("org.apache.kafka.tools.consumer.ConsoleConsumer", heap_megabytes=128, folder=folder)
    replaced = {
        "kafka-console-consumer.sh": shlex.join(argv),
        "BROKER:PORT": lab.client_settings("west", "dr-operator")["bootstrap.servers"],
        "OPERATOR.properties": str(lab.home.java_client("west", "dr-operator")),
        "GROUP/RUN": f"{group.name}/{run}",
    }
    command = reduce(lambda said, each: said.replace(*each), replaced.items(), printed[1])
    found = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=120, check=False)
    assert found.stdout, found.stderr
    return found.stdout.splitlines()[-1]
