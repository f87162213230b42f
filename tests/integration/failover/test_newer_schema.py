"""While an installation is upgraded, workers of two versions exist: the older one changes nothing that the newer holds.

A record of a higher schema is in all registers, or only in one, because the other cluster has not got its copy yet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.errors import KafkaDrError
from kafka_dr.health.health_check import check_health
from kafka_dr.register import REGISTER_TOPIC
from kafka_dr.register.state import SCHEMA_VERSION
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.canary_check import watch_canary
from kafka_dr.watch.config_plan import watch_config
from kafka_dr.watch.reconcile_flows import reconcile_flows
from support import outside_view
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.route_file import route_file
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka

_REGISTER = TopicPartition(REGISTER_TOPIC, 0)
#: A seal proves what a refused run has seen, and changes nothing of the group.
_SEALS = re.compile(rb"run/[^/]+/(_seals/|.*/sealed)")
_SCHEMA = f"a record of schema {SCHEMA_VERSION + 1}, this program knows {SCHEMA_VERSION}"
Work = Callable[[Protection, Clients], object]


def _step(step: StepName, **request: object) -> Work:
    return lambda protection, clients: run_step(step, protection.request("other", **request), clients)


#: What workers of this version may begin while the group belongs to a newer one.
BEGUN: dict[str, Work] = {
    "adopt": lambda protection, clients: adopt(protection.name, clients, "again"),
    "health": lambda protection, clients: check_health(protection.name, clients),
    "flows": lambda protection, clients: reconcile_flows(protection.name, clients),
    "canary": lambda protection, clients: watch_canary(protection.name, clients),
    "config": lambda protection, clients: watch_config(protection.name, clients),
    "planned": _step(StepName.PREFLIGHT),
    "unplanned": _step(
        StepName.GATHER_EVIDENCE, verb="unplanned_failover", acknowledged=True, override="another worker is newer"
    ),
    "failback": _step(StepName.PREFLIGHT, verb="failback", source=None, target=None),
    "take over": _step(StepName.PREFLIGHT, verb="take_over"),
    "release": _step(StepName.PREFLIGHT, verb="un_adopt"),
    "claim": _step(StepName.CLAIM),
    "unplanned claim": _step(StepName.CLAIM, verb="unplanned_failover", acknowledged=True, override="it is newer"),
    "roll back": lambda protection, clients: roll_back(protection.request("other"), clients),
    "finish": lambda protection, clients: resume(
        ResumeRequest(protection.name, "finish", "a test", confirmed=True), clients
    ),
    "abandon": lambda protection, clients: resume(
        ResumeRequest(protection.name, "abandon", "a test", confirmed=True), clients
    ),
}


@contextmanager
def _upgraded(protection: Protection, *clusters: str) -> Iterator[None]:
    """Let a newer version move the record of the group on, and the one that follows be of this version again."""
    states = {cluster: protection.state(cluster) for cluster in clusters}
    present = max((state for state in states.values() if state), key=lambda state: state.order)
    newer = {**json.loads(present.to_json()), "schema_version": SCHEMA_VERSION + 1, "epoch": present.epoch + 1}
    for cluster in clusters:
        _write(protection, cluster, json.dumps(newer).encode())
    try:
        yield
    finally:
        for cluster, state in states.items():
            if state is not None:
                _write(protection, cluster, state.to_json())


def _write(protection: Protection, cluster: str, value: bytes) -> None:
    with protection.cluster(cluster, "admin") as admin:
        admin.writing.append([NewRecord(_REGISTER, f"group/{protection.name}".encode(), value)])


def _seen(protection: Protection) -> dict[str, object]:
    """Return everything of the group that a worker could change, each record of its registers included."""
    found: dict[str, object] = {"connectors": outside_view.connectors(protection)}
    for cluster in ("east", "west"):
        found[f"acls of {cluster}"] = outside_view.acls_of(protection, cluster)
        found[f"offsets on {cluster}"] = outside_view.committed(protection, cluster)
        with protection.cluster(cluster, "admin") as admin:
            (end,) = admin.topics.high_watermarks([_REGISTER]).values()
            (start,) = admin.topics.log_starts([_REGISTER]).values()
            name = protection.name.encode()
            written = admin.log.read({_REGISTER: OffsetRange(start, end)}, stall_seconds=10)
            about = [(r.key, r.value) for r in written if r.key and name in r.key]
            found[f"register of {cluster}"] = [each for each in about if not _SEALS.match(each[0])]
    route = route_file(protection.group)
    found["route"] = route.read_bytes() if route.exists() else b""
    return found


def _said(protection: Protection, work: Work) -> str:
    with protection.clients() as clients:
        try:
            return str(work(protection, clients))
        except KafkaDrError as error:
            return str(error)


def _changed(before: dict[str, object], after: dict[str, object]) -> dict[str, object]:
    return {name: (each, after[name]) for name, each in before.items() if after[name] != each}


@pytest.fixture(scope="module")
def adopted(lab: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SwitchedGroup]:
    """Return a stable group that each test leaves as it was."""
    protection = Protection(lab, tmp_path_factory.mktemp("newer"))  # type: ignore[arg-type]
    yield SwitchedGroup.adopt(protection)
    protection.delete_flows()


@pytest.mark.parametrize(
    "where",
    [
        pytest.param(("east", "west"), id="both", marks=pytest.mark.long),
        pytest.param(("east",), id="active"),
        pytest.param(("west",), id="standby"),
    ],
)
@pytest.mark.parametrize("begun", BEGUN)
def test_nothing_begins_while_a_register_holds_a_record_of_a_newer_version(
    adopted: SwitchedGroup, begun: str, where: tuple[str, ...]
) -> None:
    protection = adopted.protection
    with _upgraded(protection, *where):
        before = _seen(protection)
        said = _said(protection, BEGUN[begun])
        assert not _changed(before, _seen(protection))
        assert _SCHEMA in said
        assert "use the version of this project that wrote it" in said


def test_no_step_of_a_run_continues_once_a_newer_version_has_taken_the_group(protection: Protection) -> None:
    SwitchedGroup.adopt(protection)
    request = protection.request("upgraded")
    with protection.clients() as clients:
        protection.run_until(request, StepName.FENCE_SOURCE, clients)
    later = STEPS_AFTER_APPROVAL[STEPS_AFTER_APPROVAL.index(StepName.FENCE_SOURCE) :]
    works: list[Work] = [*(lambda _, clients, step=step: run_step(step, request, clients) for step in later)]
    works.append(lambda _, clients: roll_back(request, clients))
    with _upgraded(protection, "east"):
        before = _seen(protection)
        for work in works:
            assert _SCHEMA in _said(protection, work)
            assert not _changed(before, _seen(protection))
    with protection.clients() as clients:
        assert roll_back(request, clients).outcome == "done"
