"""What follows from the question whether a run may wait for its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Event
from typing import Any

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.errors import KafkaDrError, NeedsPerson, Refused, TryAgain
from kafka_dr.register import Phase, RegisterState
from kafka_dr.runs.register_read import Waiting
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from kafka_dr.runs.silent_clusters import SilentClusters
from kafka_dr.runs.source_policy import SourceOptional, SourceRequired, policy_of
from support.fake_registers import FakeRegisters
from support.register_states import a_state

SILENT = TryAgain("east does not answer")
SWITCHING = a_state(epoch=1000, phase=Phase.SWITCHING, run="run-1", verb="unplanned_failover")


def ask_each(ask: Callable[[str], Any]) -> Mapping[str, Any]:
    def asked(cluster: str) -> Any:
        try:
            return ask(cluster)
        except KafkaDrError as error:
            return error

    return {cluster: asked(cluster) for cluster in ("east", "west")}


def east_is_silent(cluster: str) -> Any:
    if cluster == "east":
        raise SILENT
    return {"claim": {"epoch": 1000}}


def test_only_an_unplanned_failover_does_without_its_source() -> None:
    assert isinstance(policy_of("unplanned_failover"), SourceOptional)
    assert isinstance(policy_of("planned_failover"), SourceRequired)
    assert isinstance(policy_of("failback"), SourceRequired)


def test_only_clusters_that_are_not_needed_get_short_timeouts() -> None:
    clusters = ("east", "west", "north")
    assert not SourceRequired().short_timeouts(clusters, source="east", target="west")
    assert SourceOptional().short_timeouts(clusters, source="east", target="west") == ["east", "north"]
    assert SourceOptional().short_timeouts(clusters, source="east", target=None) == ["east"]
    assert SourceOptional().short_timeouts(clusters, source=None, target=None) == []


@pytest.mark.parametrize("phase", list(Phase))
def test_which_register_decides(phase: Phase) -> None:
    planned = "east" if phase in (Phase.SWITCHING, Phase.ADOPTING, Phase.RELEASING) else "west"
    assert SourceRequired().decides(phase, source="east", target="west") == planned
    assert SourceOptional().decides(phase, source="east", target="west") == "west"


def test_where_every_fact_is() -> None:
    assert SourceRequired().keeps_journal(source="east", target="west") == "east"
    assert SourceOptional().keeps_journal(source="east", target="west") == "west"


def test_a_silent_source_stops_a_run_that_needs_it_and_is_named_by_one_that_does_not() -> None:
    def read(cluster: str) -> RegisterState:
        if cluster == "east":
            raise SILENT
        return SWITCHING

    asked: dict[str, Any] = {"run": "run-1", "target": "west", "waiting": Waiting(SilentClusters(SystemClock()))}
    found = SourceOptional().read_registers("orders", ("east", "west"), read, ask_each, **asked)
    assert (found.state, found.silent) == (SWITCHING, frozenset({"east"}))

    def planned(cluster: str) -> RegisterState:
        if cluster == "east":
            raise SILENT
        return a_state(phase=Phase.SWITCHING, run="run-1", verb="planned_failover")

    with pytest.raises(NeedsPerson, match="cannot be read"):
        SourceRequired().read_registers("orders", ("east", "west"), planned, ask_each, **asked)


def test_facts_are_read_from_every_register_that_answers_or_from_the_targets() -> None:
    facts = {"claim": {"epoch": 1000}}
    assert SourceRequired().read_facts(east_is_silent, ask_each, target="west", decides="west") == facts
    assert SourceOptional().read_facts(east_is_silent, ask_each, target="west", decides="west") == facts
    with pytest.raises(TryAgain):
        SourceOptional().read_facts(east_is_silent, ask_each, target="east", decides="east")


def test_a_fact_has_to_reach_every_register_that_is_needed() -> None:
    policy, ends = SourceRequired(), {"source": "east", "target": "west", "decides": "west"}
    with pytest.raises(TryAgain):
        policy.write_fact(east_is_silent, ask_each, **ends, needed_on=None)
    with pytest.raises(TryAgain):
        policy.write_fact(east_is_silent, ask_each, **ends, needed_on=("east",))
    policy.write_fact(east_is_silent, ask_each, **ends, needed_on=("west",))


def test_a_source_that_hangs_delays_no_fact_of_an_unplanned_failover() -> None:
    over, written = Event(), list[str]()

    def write(cluster: str) -> None:
        if cluster == "east":
            over.wait(60)
        written.append(cluster)

    try:
        SourceOptional().write_fact(write, ask_each, source="east", target="west", decides="west", needed_on=None)
        assert written == ["west"]
    finally:
        over.set()


def test_a_target_that_does_not_take_a_fact_stops_an_unplanned_failover() -> None:
    with pytest.raises(TryAgain):
        SourceOptional().write_fact(
            east_is_silent, ask_each, source="west", target="east", decides="east", needed_on=("west",)
        )


@pytest.mark.parametrize("verb", ["planned_failover", "unplanned_failover"])
def test_only_an_unplanned_failover_reads_its_own_facts_in_the_same_step(verb: Any) -> None:
    registers = FakeRegisters(east=SWITCHING, west=SWITCHING)
    run = Run(RunRequest("orders", "run-1", "east", "west", verb=verb), registers.clients())
    assert run.journal == {}
    run.write_fact("drained", {"at": "now"})
    assert ("drained" in run.journal) is (verb == "unplanned_failover")


def test_what_a_run_with_a_source_waits_for() -> None:
    policy, done = SourceRequired(), list[str]()
    assert policy.seconds_for_source(3.0) == 3.0
    policy.connect_ahead(lambda: done.append("connected"))
    policy.try_flow(lambda: done.append("resumed"), seconds=0)
    assert policy.ask_source("east", lambda: "answer", seconds=0) == "answer"
    assert done == ["connected", "resumed"]
    assert not policy.can_do_without(SILENT)
    with pytest.raises(Refused, match="a group reads outside"):
        policy.refuse_at_source("a group reads outside")


def test_what_a_run_that_may_lack_its_source_does_not_wait_for() -> None:
    policy, over = SourceOptional(), Event()
    assert policy.seconds_for_source(3.0) == 0
    policy.connect_ahead(lambda: pytest.fail("it would wait for the source"))
    policy.refuse_at_source("a group reads outside")
    try:
        with pytest.raises(TryAgain, match="no answer to east"):
            policy.ask_source("east", lambda: over.wait(20), seconds=0.05)
        policy.try_flow(lambda: (over.wait(20), None)[1], seconds=0.05)
    finally:
        over.set()
    assert policy.can_do_without(SILENT)
    assert not policy.can_do_without(Refused("the register says no")), "a refusal is an answer"
