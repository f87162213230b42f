"""The part of readiness that asks no cluster, again after each look of health: what changed, and its score."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kafka_dr.errors import KafkaDrError
from kafka_dr.quoting import line
from kafka_dr_airflow.links import status_of
from kafka_dr_airflow.operators.outgoing import keep_news
from kafka_dr_airflow.topology_file import evidence_root, read_topology

if TYPE_CHECKING:
    from kafka_dr.readiness.judge import GroupReadiness
    from kafka_dr.topology.model import Topology


def judge_readiness_again(logger: Any) -> tuple[str, ...]:
    """Judge every group from its kept results, notify people of what changed, and keep the scores.

    If that fails, only the log says so: the look itself is kept, and the status page judges by itself.

    :param logger: of the task
    :returns: the groups whose clusters have to be asked again, because a run has ended since, or all is well again
    """
    from kafka_dr.json_documents import DocumentDamaged
    from kafka_dr.notifications.readiness_changes import ToldReadiness, readiness_changes
    from kafka_dr.watch_results import FiguresOverTime

    try:
        topology = read_topology(os.environ)
        root, now, groups = evidence_root(topology.evidence), datetime.now(UTC), sorted(topology.protection_groups)
        judged = _judged(root, groups, now)
        told = ToldReadiness(root)
        try:
            before = told.read()
        except DocumentDamaged as error:
            logger.warning("What people were notified of readiness is not known, so it is sent again: %s", line(error))
            before = {}
        known, news = readiness_changes(judged, before, now)
        keep_news(logger, [replace(each, link=status_of(each.group)) for each in news])
        if known != before:
            told.write(known)
        scores: dict[str, dict[str, Any]] = {
            each.group: {verb.verb: verb.score for verb in each.verbs} for each in judged if not each.moving
        }
        FiguresOverTime(root, "readiness").add(now, scores, declared=groups)
    except (KafkaDrError, OSError) as error:
        logger.warning("Readiness could not be judged again: %s", line(error))
        return ()
    return tuple(each.group for each in judged if each.outdated)


def outdated_groups(topology: Topology) -> list[str]:
    """Return the groups of which a run or a drill has ended, or that are well again, since their clusters were asked.

    All of them if that is not known.
    """
    now, groups = datetime.now(UTC), sorted(topology.protection_groups)
    try:
        root = evidence_root(topology.evidence)
        judged = _judged(root, groups, now)
        return [each.group for each in judged if each.outdated or _drilled_since(root, topology, each)]
    except (KafkaDrError, OSError):
        return groups


def _drilled_since(root: Any, topology: Topology, ready: GroupReadiness) -> bool:
    from kafka_dr.drill.result import DrillResults
    from kafka_dr.json_documents import DocumentDamaged

    if topology.group(ready.group).drill is None:
        return False
    try:
        newest = DrillResults(root, ready.group).newest(1)
    except DocumentDamaged:
        return False  # the look in ten minutes says so
    return any(ready.asked_at is None or each.ended_at > ready.asked_at for each in newest)


def _judged(root: Any, groups: Sequence[str], now: datetime) -> list[GroupReadiness]:
    from kafka_dr.readiness.judge import readiness_now
    from kafka_dr.watch_results import WatchResultStore, read_status

    return [readiness_now(each) for each in read_status(groups, WatchResultStore(root), now)]
