"""The standby throttles an application more only where its limit is lower by the order in which a broker looks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.clusters.configuration import QuotaEntity
from kafka_dr.readiness_checks.client_quotas import Limits, judge_quotas, lower_limits
from support.sentences import assert_sentence

RATE = "producer_byte_rate"
APP = ["User:app"]


def limits(*found: tuple[QuotaEntity, float]) -> Limits:
    return {(entity, RATE): limit for entity, limit in found}


def said(on_source: Limits, on_target: Limits) -> list[str]:
    return [str(each) for each in lower_limits(APP, on_source, on_target)]


def test_a_limit_that_only_the_standby_has_is_named_with_what_there_was_before() -> None:
    on_target = limits((QuotaEntity(user="app"), 1_000_000.0))
    assert_sentence(said({}, on_target))
    higher = limits((QuotaEntity(user="app"), 2_000_000.0))
    assert_sentence(said(higher, on_target))


def test_a_limit_that_is_the_same_or_higher_or_only_on_the_active_cluster_is_none() -> None:
    low, high = (limits((QuotaEntity(user="app"), limit)) for limit in (1.0, 2.0))
    for on_source, on_target in ((low, low), (low, high), (low, {})):
        assert said(on_source, on_target) == []


def test_a_default_counts_for_an_application_without_a_limit_of_its_own() -> None:
    default = QuotaEntity(user="")
    assert len(said({}, limits((default, 5.0)))) == 1
    own = (QuotaEntity(user="app"), 9.0)
    assert said(limits(own), limits(own, (default, 5.0))) == []


def test_a_limit_of_a_client_id_is_named_with_the_client_id() -> None:
    both = QuotaEntity(user="app", client_id="loader")
    assert_sentence(said({}, limits((both, 5.0))))
    assert len(said({}, limits((QuotaEntity(client_id=""), 5.0)))) == 1


def test_a_limit_of_somebody_else_is_none() -> None:
    assert said({}, limits((QuotaEntity(user="others"), 5.0))) == []


def test_a_limit_of_an_address_is_named() -> None:
    on_target: Limits = {(QuotaEntity(ip="10.0.0.1"), "connection_creation_rate"): 5.0}
    assert_sentence(said({}, on_target))


PARTS = st.sampled_from([None, "", "app", "loader"])
ENTITIES = st.builds(QuotaEntity, user=PARTS, client_id=PARTS).filter(lambda entity: entity != QuotaEntity())
LIMITS = st.dictionaries(st.tuples(ENTITIES, st.just(RATE)), st.sampled_from([1.0, 2.0, 3.0]), max_size=6)


@given(LIMITS, LIMITS)
def test_equal_limits_throttle_nobody_more_and_what_is_named_is_lower(on_source: Limits, on_target: Limits) -> None:
    assert said(on_target, on_target) == []
    for each in lower_limits(APP, on_source, on_target):
        assert each.on_target < each.on_source
        assert each.on_target in on_target.values()


def test_a_lost_source_leaves_every_limit_of_the_standby_named_and_claims_nothing_of_its_own() -> None:
    on_target = limits((QuotaEntity(user="app"), 1_000_000.0))
    found = judge_quotas("east", "west", APP, None, on_target)
    assert found.outcome == "warning"
    assert_sentence(found.detail)
    assert "no limit on the active cluster" not in found.detail
    assert judge_quotas("east", "west", APP, on_target, on_target).outcome == "ok"


def test_a_standby_that_limits_nobody_is_good_whether_or_not_the_source_answers() -> None:
    others = limits((QuotaEntity(user="others"), 5.0))
    for on_source in (None, {}, others):
        assert judge_quotas("east", "west", APP, on_source, others).outcome == "ok"


@pytest.mark.parametrize("client_id", [None, "loader", ""])
def test_the_lowest_of_several_limits_is_not_what_counts_but_the_most_exact_one(client_id: str | None) -> None:
    exact = (QuotaEntity(user="app", client_id=client_id), 9.0)
    assert [each.on_target for each in lower_limits(APP, {}, limits(exact, (QuotaEntity(user=""), 5.0)))].count(
        9.0
    ) >= 1
