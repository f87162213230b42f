"""The part of readiness that asks no cluster, again after each look of health: what changed, and its score."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kafka_dr.errors import KafkaDrError
from kafka_dr.quoting import line
from kafka_dr_airflow.links import status_of
from kafka_dr_airflow.operators.outgoing import keep_news
from kafka_dr_airflow.topology_file import evidence_root, read_topology


def judge_readiness_again(logger: Any) -> None:
    """Judge every group from its kept results, notify people of what changed, and keep the scores.

    If that fails, only the log says so: the look itself is kept, and the status page judges by itself.

    :param logger: of the task
    """
    from kafka_dr.json_documents import DocumentDamaged
    from kafka_dr.notifications import ToldReadiness, readiness_changes
    from kafka_dr.readiness import readiness_now
    from kafka_dr.watch_results import FiguresOverTime, WatchResultStore, read_status

    try:
        topology = read_topology(os.environ)
        root, now, groups = evidence_root(topology.evidence), datetime.now(UTC), sorted(topology.protection_groups)
        judged = [readiness_now(each) for each in read_status(groups, WatchResultStore(root), now)]
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
