"""While a cluster hangs or is dead, no surface for people shows a word of a library, of Java or of Python."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_dr.errors import KafkaDrError
from kafka_dr.evidence.page import render_page
from kafka_dr.health.health_check import check_health
from kafka_dr.notifications.changes import changes_between
from kafka_dr.readiness_checks.look import look_at_readiness
from kafka_dr.rounds.look import unknown
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.canary_check import watch_canary
from kafka_dr.watch.config_plan import watch_config
from kafka_dr.watch.reconcile_flows import reconcile_flows
from kafka_dr.watch_results import KeptResult
from support.disaster import Disaster

pytestmark = pytest.mark.kafka

LIBRARY = re.compile(
    r"\b_[A-Z]{3,}\w*|\b[A-Z]{2,}(?:_[A-Z]+)+\b|\b\w*(?:Exception|Error)\b|\[Errno|librdkafka|Broker: |Local: |"
    r"object at 0x|\b(?:org|java)\.\w+|Traceback"
)
#: Operations of Kafka's ACLs have names in capitals, and people write them into ACLs. So do settings of this project.
NAMES = re.compile(r"\b(?:ALTER_CONFIGS|DESCRIBE_CONFIGS|IDEMPOTENT_WRITE|CLUSTER_ACTION|NOT_ENOUGH_DATA)\b")


@contextmanager
def _killed(disaster: Disaster) -> Iterator[None]:
    disaster.group.protection.lab.kill(disaster.broker)
    try:
        yield
    finally:
        disaster.back()


LOST: Mapping[str, Callable[[Disaster], AbstractContextManager[None]]] = {
    "hangs": lambda disaster: disaster.hanging(disaster.broker),
    "is dead": _killed,
    "Connect hangs": lambda disaster: disaster.hanging(f"{disaster.standby}-connect"),
}


@pytest.mark.long
@pytest.mark.parametrize("lost", ["hangs", "is dead", "Connect hangs"])
def test_no_surface_shows_a_word_of_a_library(disaster: Disaster, lost: str) -> None:
    with LOST[lost](disaster), disaster.group.protection.clients() as clients:
        shown = dict(_surfaces(disaster, clients))
    assert shown.keys() >= {"health", "notification of health", "readiness", "planned_failover: page"}
    wrong = {
        name: sorted({found.group() for found in LIBRARY.finditer(NAMES.sub("", text))}) for name, text in shown.items()
    }
    assert {name: words for name, words in wrong.items() if words} == {}
    if lost != "Connect hangs":
        assert disaster.active in shown["health"]


def _surfaces(disaster: Disaster, clients: Clients) -> Iterator[tuple[str, str]]:
    """Yield everything that people read of this group now, with a name for each."""
    name = disaster.group.name
    looks: Mapping[str, Callable[[str, Clients], WatchResult]] = {
        "health": check_health,
        "readiness": look_at_readiness,
        "flows": reconcile_flows,
        "canary": watch_canary,
        "config_sync": watch_config,
    }
    for watch, look in looks.items():
        try:
            found = look(name, clients)
        except KafkaDrError as error:
            found = unknown(name, str(error))
        yield watch, _text(found.sentences, found.facts)
        at = datetime.now(UTC)
        kept: Any = KeptResult(name, watch, found.outcome, found.sentences, at, facts=found.facts)  # type: ignore[arg-type]
        for news in changes_between(None, kept):
            yield f"notification of {watch}", _text(news.happened, news.details)
    for verb, step in (("planned_failover", StepName.PREFLIGHT), ("unplanned_failover", StepName.GATHER_EVIDENCE)):
        request = disaster.request(verb=verb)
        try:
            record = run_step(step, request, clients)
        except StepFailed as failure:
            yield f"{verb}: log", str(failure)
            record = failure.record
        yield f"{verb}: {step}", _text(record.detail, [check.detail for check in record.checks])
        page = render_page(clients.evidence.run_view(name, request.run), files=(), sealed_at=None)
        yield f"{verb}: page", html.unescape(re.sub(r"<style.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL))


def _text(*parts: object) -> str:
    return json.dumps(parts, default=str, ensure_ascii=False)
