"""Which parameters of a run nobody would read."""

from __future__ import annotations

import pytest

from kafka_dr_airflow.operators.parameters import misread
from support.sentences import assert_sentence

KNOWN = ("protection_group", "source", "target", "dry_run", "reason", "accept_cluster_ids")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("dryrun", "dry_run"),
        ("dry-run", "dry_run"),
        ("DRY_RUN", "dry_run"),
        ("dry_rnu", "dry_run"),
        ("Reason", "reason"),
        ("group", "protection_group"),
        ("accept_cluster_id", "accept_cluster_ids"),
    ],
)
def test_the_nearest_known_name_is_offered(given: str, meant: str) -> None:
    said = misread({given: True}, known=KNOWN, carried={given: True})
    assert said.startswith(f"a parameter that it does not have: '{given}', did you mean '{meant}'?")


def test_every_unknown_name_is_listed_with_all_that_there_are() -> None:
    said = misread({"zzz": 1, "dryrun": True, "reason": "a test"}, known=KNOWN, carried={"reason": "a test"})
    assert_sentence(said)


def test_a_dag_without_parameters_takes_none() -> None:
    assert_sentence(misread({"dry_run": True}, known=(), carried={}))


def test_a_name_that_somebody_made_up_cannot_forge_a_line() -> None:
    assert "'x\\nINFO all is well\\x1b[2K'" in misread({"x\nINFO all is well\x1b[2K": 1}, known=(), carried={})


def test_what_is_known_and_arrives_is_read() -> None:
    assert misread({"dry_run": True, "source": None}, known=KNOWN, carried={"dry_run": True, "source": None}) == ""


def test_what_airflow_keeps_from_its_tasks_is_refused_rather_than_replaced_by_the_default() -> None:
    said = misread({"dry_run": True}, known=KNOWN, carried={"dry_run": False})
    assert said == "dry_run, which Airflow does not hand to its tasks: set core.dag_run_conf_overrides_params to True"
