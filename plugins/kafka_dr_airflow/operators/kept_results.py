"""Keeps for the status page what a watch found of a group, whatever way its task ends, and how a run ended."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowException, AirflowSkipException, AirflowTaskTimeout
from airflow.sdk.log import redact

from kafka_dr.errors import KafkaDrError
from kafka_dr.quoting import line
from kafka_dr_airflow.links import status_of
from kafka_dr_airflow.operators.outgoing import keep_news
from kafka_dr_airflow.operators.receipt import requester_of
from kafka_dr_airflow.sent_metrics import send_looks
from kafka_dr_airflow.topology_file import evidence_root, read_topology

if TYPE_CHECKING:
    from kafka_dr.evidence.ending import Ending
    from kafka_dr.runs.at_rest import WatchResult
    from kafka_dr.topology.model import Topology
    from kafka_dr.watch_results import KeptResult, Pace, WatchName, WatchOutcome


@dataclass
class LookResult:
    """What a look found; it is unknown until somebody says otherwise."""

    outcome: WatchOutcome = "unknown"
    sentences: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def kept_result(logger: Any, context: Any, *, group: str, watch: WatchName, keeps: bool = True) -> Iterator[LookResult]:
    """Yield what a look fills in, and keep it when the look ends: well, red, skipped, or at its time limit.

    If it cannot be kept, only the log says so: the result of the task does not depend on it, and the status page shows
    an old result as unknown. Afterwards the result is what was kept.

    :param logger: of the task
    :param watch: which watch looks
    :param keeps: ``False`` for a look that answers another question than the watch
    """
    result = LookResult()

    def keep() -> None:
        if keeps:
            _keep(logger, context, group, watch, result)

    try:
        yield result
    except AirflowSkipException as error:
        result.outcome, result.sentences = "left_alone", result.sentences or (str(error),)
        keep()
        raise
    except AirflowTaskTimeout:
        limit = "the look reached its time limit (execution_timeout) and did not finish"
        result.outcome, result.sentences = "unknown", (limit, *result.sentences)
        keep()
        raise
    except AirflowException as error:
        if result.outcome in ("ok", "warning", "left_alone"):
            result.outcome = "unknown"
        result.sentences = result.sentences or (str(error),)
        keep()
        raise
    keep()


def keep_round(
    logger: Any,
    context: Any,
    topology: Topology,
    *,
    watch: WatchName,
    found: Iterable[WatchResult],
    looked_at: Mapping[str, datetime] | None = None,
) -> None:
    """Keep what a round found, in one file for all groups. If that fails, only the log says so.

    :param logger: of the task
    :param looked_at: when the look at a group ended, if not just now; these results were kept, one by one, when they
        were found, so neither notifications nor metrics are sent again
    """
    from kafka_dr.evidence.store import EvidenceStore
    from kafka_dr.notifications.changes import changes_between
    from kafka_dr.watch_results import WATCHES, KeptResult, WatchResultStore

    try:
        root, now, declared, known = _root(), datetime.now(UTC), paces_of(topology, watch), looked_at or {}
        kept = [
            KeptResult(
                group=each.group,
                watch=watch,
                outcome=each.outcome,
                sentences=_shown(each.group, each.sentences),
                looked_at=known.get(each.group, now),
                run=context["run_id"],
                facts={name: value for name, value in each.facts.items() if not name.startswith("_")},
                every=WATCHES[watch].paced(declared[each.group]),
            )
            for each in found
        ]
        send_looks(logger, [each for each in kept if each.group not in known])
        store = EvidenceStore(root)
        for each in kept:
            store.checked(each.to_json())
        changed = WatchResultStore(root).keep_round(watch, kept, declared=declared)
    except (KafkaDrError, OSError) as error:
        logger.warning(
            "The results of %s could not be kept, and the status page will call them unknown: %s", watch, line(error)
        )
        return
    keep_news(
        logger,
        [
            replace(each, link=status_of(after.group))
            for before, after in changed
            if after.group not in known
            for each in changes_between(before, after)
        ],
    )


def paces_of(topology: Topology, watch: WatchName) -> dict[str, Pace]:
    """Return the protection groups and observed flows that a watch looks at, and how closely each is watched."""
    paces: dict[str, Pace] = {name: spec.watch for name, spec in topology.protection_groups.items()}
    observed = topology.observed_flows.items()
    return paces | dict.fromkeys((name for name, spec in observed if watch in spec.watches), "normal")


def results_of(logger: Any, topology: Topology, watch: WatchName) -> Mapping[str, KeptResult]:
    """Return the newest kept result of each group; none if they cannot be read, so that every group is looked at."""
    from kafka_dr.json_documents import DocumentDamaged
    from kafka_dr.watch_results import WatchResultStore

    try:
        return WatchResultStore(_root()).read_round(watch)
    except (KafkaDrError, DocumentDamaged, OSError) as error:
        logger.warning("When %s looked last is not known, so every group is looked at: %s", watch, line(error))
        return {}


def keep_ending(logger: Any, context: Any, *, group: str, ending: Ending) -> None:
    """Put a run on the list of the group's last runs. If that fails, only the log says so.

    :param logger: of the task
    :param ending: how the run ended
    """
    from kafka_dr.watch_results import RunEnding, RunEndings

    ti = context["ti"]
    try:
        note, now = str(redact(ending.note)), datetime.now(UTC)
        listed = RunEnding(
            ti.run_id,
            ti.dag_id,
            note,
            ending.good,
            now,
            ending.steps,
            ending.measured,
            ending.objectives,
            requester_of(context),
            ending.record,
        )
        RunEndings(_root()).keep(group, listed)
    except (KafkaDrError, OSError) as error:
        logger.warning("This run is not on the list of the status page: %s", line(error))


def _root() -> Any:
    return evidence_root(read_topology(os.environ).evidence)


def _keep(logger: Any, context: Any, group: str, watch: WatchName, result: LookResult) -> None:
    from kafka_dr.evidence.store import EvidenceStore
    from kafka_dr.notifications.changes import changes_between
    from kafka_dr.watch_results import KeptResult, WatchResultStore

    found = KeptResult(
        group=group,
        watch=watch,
        outcome=result.outcome,
        sentences=_shown(group, result.sentences),
        looked_at=datetime.now(UTC),
        run=context["run_id"],
        facts=result.facts,
    )
    try:
        root = _root()
        EvidenceStore(root).checked(found.to_json())
        before, kept = WatchResultStore(root).keep(found)
    except (KafkaDrError, OSError) as error:
        send_looks(logger, (found,))
        logger.warning(
            "The result of %s for %s could not be kept, and the status page will call it unknown: %s",
            watch,
            group,
            line(error),
        )
        return
    send_looks(logger, (found if kept is before else kept,))
    link = status_of(group)
    keep_news(logger, (replace(each, link=link) for each in changes_between(before, kept)))


def _shown(group: str, sentences: Iterable[str]) -> tuple[str, ...]:
    """Return sentences without secrets and without the name of the group, which the page shows above them."""
    return tuple(line(redact(each.removeprefix(f"{group}: "))) for each in sentences)
