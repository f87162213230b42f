"""Asks clusters, what runs their flows, and all that surrounds them, before and after groups are adopted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import chain
from typing import Literal

from kafka_dr import parallel
from kafka_dr.doctor.airflow_answers import examine_airflow
from kafka_dr.doctor.finding import SetUpFinding, asked
from kafka_dr.doctor.reached_cluster import examine_cluster
from kafka_dr.doctor.spark_trial import examine_spark
from kafka_dr.doctor.surroundings import examine_evidence, examine_group
from kafka_dr.runs.clients import Clients

Ask = Callable[[], Iterable[SetUpFinding]]
#: What a company may do without.
Part = Literal["airflow", "spark"]


def examine(clients: Clients, *, without: Collection[Part] = ()) -> tuple[SetUpFinding, ...]:
    """Ask everything, at the same time where nothing depends on it.

    :param without: is not asked
    :returns: by cluster and by group, in the order of the topology, then what is asked once
    """
    groups = clients.topology.protection_groups.values()
    clusters = dict.fromkeys(name for group in groups for name in group.clusters)
    questions: dict[str, Ask] = {name: partial(examine_cluster, clients, name) for name in clusters}
    for each in groups:
        questions[f"group {each.name}"] = partial(
            _asked, each.name, partial(examine_group, clients, each, by_keys="airflow" in without)
        )
    questions["evidence"] = partial(_asked, "evidence", partial(examine_evidence, clients))
    may_be_absent: dict[Part, Ask] = {"airflow": partial(examine_airflow, clients), "spark": examine_spark}
    for part, ask in may_be_absent.items():
        if part not in without:
            questions[part] = partial(_asked, part, ask)
    found = parallel.ask_all(lambda name: tuple(questions[name]()), questions)
    return tuple(chain.from_iterable(found.values()))


def _asked(about: str, ask: Ask) -> Iterable[SetUpFinding]:
    return asked(about, "answers", ask)
