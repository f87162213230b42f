"""A cluster that lives while its register is unusable is given up: it is fenced first, and comes back as a standby."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

import pytest
from integration.health.conftest import GivenUp

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.clusters.admin_clients import ADMIN_CLIENTS
from kafka_dr.errors import KafkaDrError
from kafka_dr.fencing import plan
from kafka_dr.health.health_check import check_health
from kafka_dr.positions import TopicPartition
from kafka_dr.register import REGISTER_TOPIC, Phase
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.reconcile_flows import reconcile_flows
from lab import rights
from support import outside_view
from support.acknowledged_writes import Ledger, WritingApplication
from support.disaster import Disaster
from support.protection import Protection
from support.register_faults import FAULTS, Gone, RegisterFault, TooSmall, WithoutLeader
from support.switched_group import SwitchedGroup
from support.waiting import eventually

pytestmark = pytest.mark.kafka


def each_fault(usual: type[RegisterFault]) -> pytest.MarkDecorator:
    """Let a test have one of the faults, and with ``--long`` each of them."""
    return pytest.mark.parametrize(
        "kind",
        [pytest.param(fault, marks=[] if fault is usual else pytest.mark.long, id=fault.__name__) for fault in FAULTS],
    )


#: One that answers nothing.
@each_fault(WithoutLeader)
def test_it_takes_no_write_after_the_hand_over_and_comes_back_when_its_register_works_again(
    group: SwitchedGroup, kind: type[RegisterFault]
) -> None:
    protection, disaster = group.protection, Disaster.of(group)
    others = _deny_of_others(protection)
    disaster.look()
    _look(protection)
    fault, ledger = kind(protection, "east"), Ledger()
    with fault.present(), _application_on_east(protection, ledger):
        found = _refused(disaster)
        assert "register" in found, found
        assert "use dr_planned_failover" not in found, found
        assert "override with a reason" in found, found
        planned = _planned_refused(protection)
        assert "register" in planned, planned

        _asking_again_makes_no_more_clients(protection)
        eventually(lambda: len(ledger.acknowledged) > 20)
        records = disaster.go(StepName.REPORT)

        handed_over = datetime.fromisoformat(disaster.journal(disaster.state().run)["opened"]["at"]).timestamp()
        time.sleep(2)
        late = [value for value, (_, at) in ledger.acknowledged.items() if at > handed_over]
        assert not late, f"{len(late)} writes were acknowledged after the hand-over"
        assert records[StepName.FENCE].facts["source_side"]["fenced"], records[StepName.FENCE].facts["source_side"]
        assert protection.refuses_writes("east")

        # Health fences what is missing of the fence by the register that decides.
        lost = frozenset(sorted(plan.write_fence(protection.group))[:1]) | plan.group_freeze(protection.group)
        with protection.cluster("east", "admin") as admin:
            admin.acls.remove(lost)
        watched = _look(protection)
        assert lost <= outside_view.denies(protection, "east"), watched.sentences
        assert "register" in "\n".join(watched.sentences), watched.sentences
        assert "does not answer" not in "\n".join(watched.sentences), watched.sentences

    _comes_back(disaster)
    assert disaster.state().phase is Phase.STABLE, disaster.state()
    with protection.clients() as clients:
        reconcile_flows(protection.name, clients)
    group.wait_equal()
    group.foreign = {"east": others}
    group.go(StepName.REPORT)
    # Exactly what this project had added is lifted.
    group.assert_at_rest("east")


#: One that takes no record.
@each_fault(TooSmall)
def test_a_roll_back_opens_it_again_while_its_register_is_unusable(
    group: SwitchedGroup, kind: type[RegisterFault]
) -> None:
    protection, disaster = group.protection, Disaster.of(group)
    others = _deny_of_others(protection)
    disaster.look()
    _look(protection)
    request = disaster.request()
    with kind(protection, "east").present():
        disaster.go(StepName.FENCE, request)
        assert protection.refuses_writes("east")
        with protection.clients() as clients:
            roll_back(request, clients)
        assert protection.takes_writes("east")
    group.wait_answering()
    _look(protection)
    assert group.is_at_rest()
    assert others <= outside_view.denies(protection, "east")


#: One that has lost everything.
@each_fault(Gone)
def test_health_fences_it_by_the_register_that_decides_if_a_failover_left_it_open(
    group: SwitchedGroup, kind: type[RegisterFault]
) -> None:
    protection = group.protection
    left = GivenUp.give_up(group).state
    assert protection.takes_writes("east")
    with kind(protection, "east").present():
        watched = _look(protection)
        said = "\n".join(watched.sentences)
        assert protection.refuses_writes("east"), said
        assert f"east, which run {left.run} could not fence, is fenced now" in said, said
        assert "who removed" not in said, said
        assert "east is back and fenced" in said, said
        found = protection.state("west")
        assert found is not None
        assert found.phase is Phase.DIVERGED
    _comes_back(Disaster(group, "east"))


def _asking_again_makes_no_more_clients(protection: Protection) -> None:
    before = len(ADMIN_CLIENTS.held())
    with protection.cluster("east", "admin") as east:
        for _ in range(3):
            with suppress(KafkaDrError):
                east.topics.high_watermarks([TopicPartition(REGISTER_TOPIC, 0)])
        assert len(ADMIN_CLIENTS.held()) <= before + 2


def _deny_of_others(protection: Protection) -> frozenset[Acl]:
    """Somebody else denies a principal that no application uses: that stays for ever."""
    denied = frozenset(
        {
            Acl(
                ResourceType.TOPIC,
                f"{protection.name}.",
                PatternType.PREFIXED,
                "User:somebody",
                AclOperation.WRITE,
                AclPermission.DENY,
            )
        }
    )
    with protection.cluster("east", "admin") as admin:
        admin.acls.add(denied)
    return denied


@contextmanager
def _application_on_east(protection: Protection, ledger: Ledger) -> Iterator[None]:
    settings = {"east": protection.lab.client_settings("east", rights.ORDERS_APP)}
    application = WritingApplication("stays", ledger, protection.topic, cluster_now=lambda: "east", settings=settings)
    application.start()
    try:
        yield
    finally:
        application.stop()


def _refused(disaster: Disaster) -> str:
    """Return what a failover without an override says; a rule that one vantage can meet lets it look."""
    rule = disaster.group.protection.group.disaster.model_copy(update={"vantages_needed": 1})
    with (
        disaster.group.protection.changed(disaster=rule),
        disaster.group.protection.clients() as clients,
        pytest.raises(KafkaDrError) as refused,
    ):
        run_step(StepName.GATHER_EVIDENCE, disaster.request(override=""), clients)
    return str(refused.value)


def _planned_refused(protection: Protection) -> str:
    with protection.clients() as clients, pytest.raises(KafkaDrError) as refused:
        run_step(StepName.PREFLIGHT, protection.request("planned"), clients)
    return str(refused.value)


def _look(protection: Protection) -> WatchResult:
    with protection.clients() as clients:
        return check_health(protection.name, clients)


def _comes_back(disaster: Disaster) -> None:
    """Wait until looks of health have given east's register what it missed."""
    protection = disaster.group.protection

    def whole() -> bool:
        _look(protection)
        with protection.clients() as clients:
            added = clients.register("east").added_acls(protection.name, "east").current
        return protection.state("east") == disaster.state() and plan.standby(protection.group) <= added

    eventually(whole)
