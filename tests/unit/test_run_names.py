"""What people call a run: never by its id."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_dr.verb_words import run_name, verb_words, with_article, without_ids

AT = datetime(2026, 11, 20, 22, 8, 14, tzinfo=UTC)


@pytest.mark.parametrize(
    ("verb", "by", "later", "name"),
    [
        ("planned_failover", "alice", timedelta(hours=1), "planned · alice · 22:08"),
        ("dr_unplanned_failover", "", timedelta(hours=1), "unplanned · 22:08"),
        ("un_adopt", "bob", timedelta(hours=2), "release · bob · 2026-11-20 22:08"),
        ("dr_config_sync", "", None, "config sync · 2026-11-20 22:08"),
    ],
)
def test_a_run_is_called_by_its_verb_its_requester_and_its_time(
    verb: str, by: str, later: timedelta | None, name: str
) -> None:
    assert run_name(verb, AT, by, now=AT + later if later else None) == name


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("run manual__2026-11-20T22:08:14.123456+00:00 holds it", "run manual · 2026-11-20 22:08 holds it"),
        ("(scheduled__2026-11-20T22:08:00+00:00_kP3x).", "(scheduled · 2026-11-20 22:08)."),
        ("asset_triggered__2026-11-20T22:08:00+00:00, again", "asset triggered · 2026-11-20 22:08, again"),
        ("manual__night-shift: done", "manual · night-shift: done"),
        ("run-1 and kafka_dr__x", "run-1 and kafka_dr__x"),
    ],
)
def test_an_id_of_airflow_in_a_sentence_is_a_name(said: str, shown: str) -> None:
    assert without_ids(said) == shown


@pytest.mark.parametrize(
    ("verb", "article"),
    [
        ("planned_failover", "a"),
        ("unplanned_failover", "an"),
        ("failback", "a"),
        ("take_over", "a"),
        ("un_adopt", "a"),
        ("adopt", "an"),
    ],
)
def test_a_verb_has_its_article(verb: str, article: str) -> None:
    assert with_article(verb_words(verb)).partition(" ")[0] == article


def test_no_sentence_writes_an_article_before_a_verb_itself() -> None:
    room = Path(__file__).parents[2]
    globs = ("include/kafka_dr/**/*.py", "include/monitoring/*.yaml", "plugins/**/*.py")
    before = re.compile(r"\b[Aa]n? (\{(waiting|verb|verb_words\([^}]*)\}|\{\{ \$labels\.verb)")
    files = [path for each in globs for path in room.glob(each)]
    assert [path.name for path in files if before.search(path.read_text("utf-8"))] == []
