from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafka_dr.clusters import AclOperation, AclPermission
from kafka_dr.config_sync import gate
from kafka_dr.config_sync.items import ItemVerdict
from kafka_dr.config_sync.plan import compare_flow, make_plan, unknown_flow
from kafka_dr.config_sync.text import lines, table
from kafka_dr.evidence.canonical import canonical
from kafka_dr.topology.model import ProtectionGroup
from support.config_snapshots import acl, side, topic
from support.sentences import assert_sentence


def test_the_same_differences_have_the_same_digest_and_others_another(planned: Any) -> None:
    def digest(value: str) -> str:
        return str(planned(side("east", topic(max_message_bytes=value)), side("west", topic())).digest)

    assert digest("5") == digest("5")
    assert digest("5") != digest("6")


def test_a_plan_of_another_epoch_or_of_other_clusters_is_another_plan(planned: Any) -> None:
    plan = planned(side("east", topic(max_message_bytes="5")), side("west", topic()))
    digests = {plan.digest, replace(plan, epoch=2).digest, replace(plan, cluster_ids=("east-id", "new")).digest}
    assert len(digests) == 3


def test_the_gate_names_what_must_match_and_does_not(planned: Any) -> None:
    answer = gate.ask(planned(side("east", topic(max_message_bytes="5")), side("west", topic())))
    assert answer.outcome == "failed"
    assert_sentence(answer.sentence)


def test_the_gate_names_a_missing_topic(planned: Any) -> None:
    answer = gate.ask(planned(side("east", topic()), side("west")))
    assert answer.sentence == "topic orders.payments is on east and missing on west"


def test_the_gate_names_what_an_application_could_no_longer_do(planned: Any) -> None:
    answer = gate.ask(planned(side("east", topic(), acls=frozenset({acl()})), side("west", topic())))
    assert (answer.outcome, answer.sentence) == (
        "failed",
        "User:orders-app could no longer produce to orders.payments",
    )


def test_what_is_unknown_is_never_good_and_does_not_hide_what_failed(planned: Any) -> None:
    unknown = {"client quotas": "west: no right"}
    blind = side("west", topic(), unknown=unknown)
    assert gate.ask(planned(side("east", topic()), blind)).outcome == "unknown"
    assert gate.ask(planned(side("east", topic(max_message_bytes="5")), blind)).outcome == "failed"


@pytest.mark.parametrize(
    "keys", [[], ["sync.topic.acls.enabled"], ["sync.topic.configs.enabled", "sync.topic.acls.enabled"]]
)
def test_a_flow_that_would_change_the_standby_as_well_stops_a_switch(group: ProtectionGroup, keys: list[str]) -> None:
    further = tuple(compare_flow("orders.east-west", dict.fromkeys(keys, "not set")))
    plan = make_plan(side("east", topic()), side("west", topic()), group, epoch=1, further=further)
    assert [(item.key, item.blocks, item.change) for item in plan.items] == [(key, True, None) for key in keys]
    answer = gate.ask(plan)
    assert answer.outcome == ("failed" if keys else "ok")
    assert all(f"orders.east-west does not say {key}=false" in answer.sentence for key in keys)


def test_a_flow_that_cannot_be_asked_is_unknown(group: ProtectionGroup) -> None:
    further = (unknown_flow("orders.east-west", "Connect does not answer"),)
    answer = gate.ask(make_plan(side("east", topic()), side("west", topic()), group, epoch=1, further=further))
    assert (answer.outcome, "Connect does not answer" in answer.sentence) == ("unknown", True)


def test_the_gate_lets_pass_what_may_differ(planned: Any) -> None:
    answer = gate.ask(planned(side("east", topic(retention_ms="-1")), side("west", topic())))
    assert answer.outcome == "ok"
    assert "1 difference that stops no switch" in answer.sentence


def test_a_plan_reads_as_text_with_what_is_and_what_would_be(planned: Any) -> None:
    plan = planned(side("east", topic(max_message_bytes="5"), acls=frozenset({acl()})), side("west", topic()))
    said = "\n".join(lines(plan, colour=False))
    assert_sentence(said)
    assert "once this plan is applied" not in said
    assert "nothing of it is left by this plan" in said
    assert plan.digest in said
    assert "\033[31m1048588" in "\n".join(lines(plan))


def test_evidence_says_which_rights_the_plan_gives_and_which_it_takes(planned: Any) -> None:
    reads = acl(operation=AclOperation.READ)
    plan = planned(
        side("east", topic(), acls=frozenset({acl()})),
        side("west", topic(), acls=frozenset({reads, acl(permission=AclPermission.DENY, operation=AclOperation.READ)})),
    )
    assert [(row["sentence"], row["mended"]) for row in table(plan)["access"]] == [
        ("User:orders-app could no longer produce to orders.payments", True)
    ]


def test_many_rows_are_counted_instead_of_shown(planned: Any) -> None:
    plan = planned(side("east", *(topic(f"orders.t{number}") for number in range(150))), side("west"))
    said = list(lines(plan, colour=False))
    assert len(said) < 110
    assert any("and 50 more" in line for line in said)
    assert len(table(plan)["rows"]) == 150


def test_evidence_can_keep_a_plan_and_shows_first_what_stops_a_switch(planned: Any) -> None:
    plan = planned(side("east", topic(max_message_bytes="5", retention_ms="-1")), side("west", topic()))
    assert canonical(plan)
    assert [row["blocks"] for row in table(plan)["rows"]] == [True, False]
    assert {row["verdict"] for row in table(plan)["rows"]} == {ItemVerdict.SAFE.value}
