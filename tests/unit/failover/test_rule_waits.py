"""Access rules that others apply make the write outage longer, and the approver is shown by how much."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from kafka_dr.errors import TryAgain
from kafka_dr.failover.past_outages import PastOutage, PredictedOutage
from kafka_dr.failover.rule_waits import RuleWait, rule_waits, sentence
from kafka_dr.register.added_acls import AddedAcls, Lasting
from kafka_dr.runs.run import Run
from kafka_dr.topology.access_rules import AccessRulesSpec

FILE = AccessRulesSpec(kept_by="file", path="/srv/rules/west.json", reconciles_every_seconds=300)
WAIT = RuleWait("west", "/srv/rules/west.json", 2, 12.0, 60)


def run(took: float | None, *, ids: tuple[str, ...] = (), silent: bool = False) -> Run:
    def added_acls(*_: str) -> AddedAcls:
        if silent:
            raise TryAgain("west does not answer")
        return AddedAcls(lasting=Lasting(took_seconds=took))

    specs = {"east": AccessRulesSpec(), "west": FILE}
    clients = SimpleNamespace(
        register=lambda _: SimpleNamespace(added_acls=added_acls),
        topology=SimpleNamespace(cluster=lambda name: SimpleNamespace(access_rules=specs[name])),
    )
    group = SimpleNamespace(name="orders", transactional_ids=ids, transactional_id_prefixes=())
    return cast("Run", SimpleNamespace(source="west", target="east", clients=clients, group=group))


def test_only_clusters_whose_rules_are_kept_elsewhere_are_waited_for() -> None:
    assert rule_waits(run(12.0)) == (WAIT,)
    (with_ids,) = rule_waits(run(None, ids=("ledger",)))
    assert (with_ids.changes, with_ids.took_seconds) == (3, None)
    assert rule_waits(run(12.0, silent=True))[0].took_seconds is None
    away: Any = run(12.0)
    away.source, away.target = "east", "west"
    assert [each.changes for each in rule_waits(away)] == [2], "the replicator's fence, and letting applications in"


def test_what_is_known_is_added_up_and_what_is_not_known_is_not_guessed() -> None:
    assert sentence(()) == ""
    assert sentence((WAIT,)) == (
        "Access rules are kept elsewhere: about 24.0 s of the outage: 2 changes wait until the brokers of west have "
        "what is written to /srv/rules/west.json (the last one took 12.0 s, 60 s at most)"
    )
    unknown = RuleWait("east", "/srv/rules/east.json", 2, None, 60)
    assert "about" not in sentence((WAIT, unknown))
    assert "(none was measured yet, 60 s at most)" in sentence((WAIT, unknown))


def test_the_prediction_says_it_whether_or_not_the_group_was_ever_moved() -> None:
    assert ". Access rules are kept elsewhere: about 24.0 s" in PredictedOutage((), 10, waits=(WAIT,)).sentence
    moved = PredictedOutage((PastOutage("a", 30.0),), 10, waits=(WAIT,))
    assert ". Access rules are kept elsewhere" in moved.to_json()["sentence"]
    assert "Access rules" not in PredictedOutage((), 10).sentence
