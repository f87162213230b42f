"""The page of names is the table of the code, row by row."""

from __future__ import annotations

from pathlib import Path

from kafka_dr.metrics.table import METRICS

PAGE = Path(__file__).parents[3] / "include" / "monitoring" / "README.md"


def test_the_page_of_names_equals_the_table() -> None:
    text = PAGE.read_text("utf-8")
    shown = text.split("<!-- names -->\n")[1].split("<!-- /names -->")[0].splitlines()
    wanted = [
        f"| `{each.sample_name}` | {each.kind} | {' '.join(f'`{label}`' for label in each.labels)} | "
        f"{'yes' if each.by_tasks else ''} | {each.says} |"
        for each in METRICS.values()
    ]
    assert shown[2:] == wanted
