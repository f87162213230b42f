"""The board and the alerts: only metrics of the table, only PromQL, and each alert names one line of a runbook."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import combinations, takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_dr.metrics.table import METRICS
from kafka_dr.situations.table import SITUATIONS
from support.prometheus import promtool

ROOT = Path(__file__).parents[3]
MONITORING = ROOT / "include" / "monitoring"
ALERTS = MONITORING / "prometheus-alerts.yaml"
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(ALERTS.read_text("utf-8"))["groups"] for rule in group["rules"]
]
BOARD: dict[str, Any] = json.loads((MONITORING / "grafana-dashboard.json").read_text("utf-8"))
NAMED = {each.sample_name: each for each in METRICS.values()}
#: A metric in a query, and the labels that it is asked by.
ASKED = re.compile(r"\b(kafka_dr_\w+)(?:\{([^}]*)\})?")
#: The tables that say what to do when something is red: the runbook and the head of the first column.
TABLES = {"dr_readiness": "check", "dr_canary": "verdict", "dr_lag_audit": "finding", "dr_checksum_audit": "finding"}
#: Lines of the runbook of health that no metric can distinguish from another one; the page on monitoring names them.
SHARED = {
    "*its run would be refused before it could ask for approval*",
    "*somebody removes DENYs of this project on …*",
    "*broker … of … lacks … rules*, *still has … rules*",
    "*has no connection in principal_connections of …*",
    "*that patterns match had no DENYs on … until now*",
    "*the process that looked at it was ended by signal …*",
    "*does not exist, so nothing … is copied*",
    "*refuses the writes of … for … s*",
    "*has made no progress for … s*",
    "*could not fence, is fenced now*",
    "*gave no answer in time, and others did*",
    "*has no DENY of a standby, and its register has no record that could be read*",
    "*from the next look on, one DENY of every operation replaces …*, *… were replaced by … of all*",
    "*the fence of … keeps its DENYs of single operations, and is whole*",
}


def queries() -> list[str]:
    """Return every query of the board, as Prometheus gets it."""
    found = [target["expr"] for panel in BOARD["panels"] for target in panel.get("targets", ())]
    found += [each["expr"] for each in BOARD["annotations"]["list"]]
    return [each.replace("$__rate_interval", "5m").replace("$group", ".*") for each in found]


def first_cells(runbook: str, head: str) -> list[str]:
    """Return the first column of the table with this head after *When a group's task is red*."""
    lines = (ROOT / "dags" / f"{runbook}.md").read_text("utf-8").splitlines()
    red = next(at for at, line in enumerate(lines) if line.startswith("**When a group's task is red**"))
    begin = next(at for at in range(red, len(lines)) if lines[at].startswith(f"| {head} |")) + 2
    rows = takewhile(lambda line: line.startswith("|"), lines[begin:])
    return [row.split(" | ")[0].removeprefix("| ") for row in rows]


def test_prometheus_accepts_the_rules() -> None:
    done = promtool("check", "rules", ALERTS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_alerts_fire_when_they_have_to_and_not_otherwise() -> None:
    done = promtool("test", "rules", Path(__file__).with_name("alerts_tried.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_accepts_the_queries_of_the_board(tmp_path: Path) -> None:
    rules = [{"record": f"board:{number}", "expr": query} for number, query in enumerate(queries())]
    path = tmp_path / "board.yaml"
    path.write_text(json.dumps({"groups": [{"name": "board", "rules": rules}]}))
    done = promtool("check", "rules", path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("query", dict.fromkeys([*(rule["expr"] for rule in RULES), *queries()]))
def test_every_metric_and_label_of_a_query_is_one_of_the_table(query: str) -> None:
    for name, labels in ASKED.findall(query):
        assert name in NAMED
        asked = set(re.findall(r"(\w+)\s*[=!]~?\"", labels))
        assert asked <= set(NAMED[name].labels), name


def test_the_board_shows_every_metric_that_people_look_at_and_no_panel_covers_another() -> None:
    panels = BOARD["panels"]
    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    boxes = [(panel["title"], panel["gridPos"]) for panel in panels]
    assert all(box["x"] + box["w"] <= 24 for _, box in boxes)
    for (one, a), (other, b) in combinations(boxes, 2):
        apart = (
            a["x"] + a["w"] <= b["x"]
            or b["x"] + b["w"] <= a["x"]
            or a["y"] + a["h"] <= b["y"]
            or b["y"] + b["h"] <= a["y"]
        )
        assert apart, (one, other)
    shown = {name for query in queries() for name, _ in ASKED.findall(query)}
    hidden = {"kafka_dr_epoch", "kafka_dr_held", "kafka_dr_canary_verdict", "kafka_dr_readiness_score"}
    hidden |= {"kafka_dr_standby_role", "kafka_dr_run_good", "kafka_dr_runs_readable"}
    hidden |= {"kafka_dr_watch_looked_timestamp_seconds", "kafka_dr_unverified_offsets"}
    assert shown | hidden == set(NAMED)


def test_the_board_says_what_is_the_matter_and_what_helps_as_the_table_of_situations_does() -> None:
    """Names that the status page fills in are left out."""
    (panel,) = (each for each in BOARD["panels"] if "kafka_dr_situation" in json.dumps(each))
    (mapped,) = (
        each["value"] for each in panel["fieldConfig"]["overrides"][0]["properties"] if each["id"] == "mappings"
    )
    shown = {name: each["text"] for name, each in mapped[0]["options"].items()}
    assert set(shown) == {"unknown", *(each.name for each in SITUATIONS)}
    for each in SITUATIONS:
        parts = (each.word, *re.split(r"{\w+}", each.headline), each.action.label if each.action else "")
        assert all(part.strip(" .,") in shown[each.name] for part in parts), shown[each.name]
    assert BOARD["panels"].index(panel) == 1, "it is the first panel of the board"
    marked = " ".join(each["expr"] for each in BOARD["annotations"]["list"])
    assert 'colour="bad"' in marked, "each plot marks the incident"


def test_each_alert_names_a_line_of_its_own_and_the_line_is_there() -> None:
    lines = [(rule["annotations"]["runbook"], rule["annotations"]["line"]) for rule in RULES]
    assert [line for line, times in Counter(lines).items() if times > 1] == []
    for runbook, line in lines:
        text = (ROOT / runbook).read_text("utf-8").splitlines()
        assert sum(each.startswith((line, f"| {line}")) for each in text) == 1, (runbook, line)
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    assert {rule["labels"]["severity"] for rule in RULES} == {"critical", "warning", "info"}


@pytest.mark.parametrize(("runbook", "head"), TABLES.items())
def test_each_line_that_says_what_to_do_has_its_alert(runbook: str, head: str) -> None:
    named = {rule["annotations"]["line"] for rule in RULES if rule["annotations"]["runbook"] == f"dags/{runbook}.md"}
    assert {f"| {cell} |" for cell in first_cells(runbook, head)} <= named


def test_each_line_of_health_has_its_alert_or_is_one_that_no_metric_knows() -> None:
    named = {rule["annotations"]["line"] for rule in RULES if rule["annotations"]["runbook"] == "dags/dr_health.md"}
    assert {f"| {cell} |" for cell in first_cells("dr_health", "line") if cell not in SHARED} == named
    assert set(first_cells("dr_health", "line")) >= SHARED


def values_of(label: str, labels: str) -> set[str] | None:
    """Return the values of a label that a query asks for; ``None`` if it asks for all, or for all but some."""
    found = re.search(rf'\b{label}=~?"([^"]*)"', labels)
    return set(found[1].split("|")) if found else None


ABOUT_HEALTH = [
    (rule, labels) for rule in RULES for name, labels in ASKED.findall(rule["expr"]) if name == "kafka_dr_health_check"
]


def test_what_is_only_excused_wakes_nobody() -> None:
    """Where ACLs do not decide, checks about rights are excused for ever."""
    for rule, labels in ABOUT_HEALTH:
        asked = values_of("outcome", labels)
        assert asked is not None, rule["alert"]
        assert "excused" not in asked or rule["labels"]["severity"] == "info", rule["alert"]


@pytest.mark.parametrize("outcome", ["failed", "unknown"])
def test_each_check_of_health_that_is_not_good_has_an_alert_of_its_own_or_the_one_for_the_others(outcome: str) -> None:
    (others,) = (labels for rule, labels in ABOUT_HEALTH if rule["alert"] == "KafkaDrHealthOther")
    (left_out,) = re.findall(r'check!~"([^"]*)"', others)
    named: set[str] = set()
    for rule, labels in ABOUT_HEALTH:
        # Topics of two groups are never unknown.
        if outcome in (values_of("outcome", labels) or ()) or rule["alert"] == "KafkaDrTopicOfTwoGroups":
            named |= values_of("check", labels) or set()
    # Of the register's phase there are alerts, by the metric of the phase.
    assert set(left_out.split("|")) == named | {"register"}
    assert values_of("outcome", others) == {"failed", "unknown"}


def test_unknown_old_and_absent_are_never_left_without_an_alert() -> None:
    """So that no series can vanish and nothing fires."""
    said = " ".join(rule["expr"] for rule in RULES)
    assert "absent(kafka_dr_groups)" in said
    for watch in ("health", "canary", "flows", "lag", "checksum", "offsets", "offset_syncs", "config_sync"):
        assert re.search(rf'watch="{watch}",outcome=(~"failed\||")unknown"', said), watch
