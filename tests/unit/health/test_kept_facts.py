"""What health keeps to find changes: who answered, and whose fence was not whole; never what it could not find out."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from kafka_dr.clusters import ClusterIdentity
from kafka_dr.errors import ConnectionMistake, TryAgain
from kafka_dr.health.kept_facts import facts_of, heard_from, record_at_the_end, without_fence
from kafka_dr.health.registers import RegisterAnswers
from kafka_dr.health.silence import without_record
from kafka_dr.outcomes import Check
from kafka_dr.runs.silent_clusters import SilentClusters
from kafka_dr.watch_results import is_record
from support.manual_clock import ManualClock
from support.pair_in_memory import GroupInMemory
from support.pattern_group import pattern_group
from support.register_states import a_state

WHOLE = Check("denies", "ok", "all DENYs are there")
LACKED = Check("fence", "failed", "west lacked 3 DENYs: they were added", {"denies_added": 3})
UNPROVEN = Check("fence", "unknown", "the fence of west could not be proven")
RETURNED = Check("returned", "failed", "east is back and fenced")
ONE_SILENT = RegisterAnswers({"west": None}, {}, {"east": TryAgain("no answer")})


def test_clusters_that_answered_and_clusters_that_did_not_are_listed() -> None:
    assert heard_from(ONE_SILENT, too_slow="") == {
        "answering": ["west"],
        "silent": ["east"],
        "unheard": [],
    }


class ReachedGroup(GroupInMemory):
    """The group of two registers as the last task of a run reaches it."""

    def clients(self, *silent: str) -> Any:
        clock = ManualClock()

        def identity(name: str) -> ClusterIdentity:
            if name in silent:
                raise TryAgain(f"{name} gave no answer")
            return ClusterIdentity(f"id of {name}", (1,), 1)

        return SimpleNamespace(
            clock=clock,
            topology=SimpleNamespace(
                group=lambda _: self.group, cluster=lambda name: SimpleNamespace(cluster_id=f"id of {name}")
            ),
            group=lambda _: self.group,
            register=self.registers.__getitem__,
            cluster=lambda name, _: SimpleNamespace(topics=SimpleNamespace(identity=lambda: identity(name))),
            silent_clusters=SilentClusters(clock),
            ignore_foreign_records=lambda: None,
            hurry=lambda *_: None,
        )


def test_the_end_of_a_run_keeps_the_record_of_the_registers_that_answer() -> None:
    reached = ReachedGroup(pattern_group())
    reached.moves_to(a_state(active="west", standby="east"))
    for silent in ((), ("east",)):
        found = record_at_the_end("orders", reached.clients(*silent))
        assert (found["active"], found["held"]) == ("west", False)
        assert is_record(found)
        assert datetime.fromisoformat(found["seen_at"]) == ManualClock().start
    assert record_at_the_end("orders", reached.clients("east", "west")) == {}


def test_a_worker_that_could_not_hear_says_nothing_of_silence() -> None:
    slow = heard_from(ONE_SILENT, too_slow="this worker was too slow")
    assert slow == {"answering": ["west"], "unheard": ["east"]}
    refused = RegisterAnswers({"west": None}, {}, {"east": ConnectionMistake("the login was refused")})
    assert heard_from(refused, too_slow="this worker was too slow")["unheard"] == []
    nothing = RegisterAnswers({}, {}, {"east": TryAgain("no answer"), "west": TryAgain("no answer")})
    assert heard_from(nothing, too_slow="this worker was too slow") == {"answering": [], "unheard": []}
    assert "silent" not in without_record("orders", ONE_SILENT, too_slow="this worker was too slow").facts
    assert without_record("orders", ONE_SILENT, too_slow="").facts["silent"] == ["east"]


def test_a_worker_that_was_too_slow_and_heard_every_cluster_knows_that_they_answer() -> None:
    all_answer = RegisterAnswers({"east": None, "west": None}, {}, {})
    heard = heard_from(all_answer, too_slow="this worker was too slow")
    assert heard == {"answering": ["east", "west"], "silent": [], "unheard": []}


def test_another_cluster_under_the_name_neither_answers_nor_is_silent() -> None:
    heard = heard_from(RegisterAnswers({}, {"east": "other"}, {}), too_slow="")
    assert heard == {"answering": [], "silent": [], "unheard": []}


def test_a_fence_is_missing_only_where_it_is_known_to_be() -> None:
    assert without_fence({"west": [LACKED, WHOLE], "east": [WHOLE]}) == {"fence_missing": ["west"]}
    assert without_fence({"west": [UNPROVEN], "east": [WHOLE]}) == {"fence_missing": []}
    may_change = Check("changes_refused", "failed", "in spite of its DENYs User:orders-app may DELETE topics on west")
    assert without_fence({"west": [may_change], "east": [WHOLE]}) == {"fence_missing": []}, "it may not write"


def test_an_old_cluster_that_is_back_was_expected_to_lack_its_fence() -> None:
    assert without_fence({"east": [LACKED, RETURNED]}) == {"fence_missing": []}


def test_all_of_it_is_kept_with_what_the_register_says() -> None:
    asked_at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    found = facts_of(a_state(), asked_at, [WHOLE, LACKED], without_fence({"west": [LACKED]}))
    assert (found["open_checks"], found["denies_added"], found["fence_missing"]) == ({"fence": "failed"}, 3, ["west"])
    assert (found["held"], found["read_at"]) == (False, "2026-03-01T12:00:00+00:00")
