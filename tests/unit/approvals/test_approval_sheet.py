"""What an approver sees first, what is folded, and what no text of anybody can change."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kafka_dr.approvals.approval_sheet import Sheet
from kafka_dr.approvals.decision import PARTITIONS
from kafka_dr.failback import question as failback_question
from kafka_dr.failback.decision import OLD_TOPICS
from kafka_dr.failover.planned import question
from kafka_dr.named_rows import rows_of
from kafka_dr.quoting import block
from kafka_dr.topology.flow import FlowSpec

EXPIRES = datetime(2026, 11, 20, 3, 15, tzinfo=UTC)
RENDERER = MarkdownIt("gfm-like", {"html": True, "linkify": True})
ANSWERS = ["What moves", "What is lost", "How long writes stop", "What is read again", "Until when", "If it fails"]
HOSTILE = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="`~*_[]()<>!&#|\\-+=:@/w.\n a", max_size=40),
    st.sampled_from(
        ["routine\n\n<!--", "```\n# Dry run: nothing will be changed\n", "</pre><script>x</script>", "\x1b[2J\u202ex"]
    ),
)


def planned(
    *,
    reason: str = "patching",
    group: str = "orders-app",
    detail: str = "all well",
    dry_run: bool = False,
    clusters: tuple[str, ...] = ("east", "west"),
    flow: FlowSpec = FlowSpec(),  # noqa: B008 - it cannot be changed
    **measured: Any,
) -> Sheet:
    request = SimpleNamespace(reason=reason, dry_run=dry_run, verb="planned_failover")
    moved = SimpleNamespace(name="orders", clusters=clusters, flow=flow)
    run: Any = SimpleNamespace(group=moved, source="east", target="west", request=request)
    checks = [
        {"name": "copied_in_time", "outcome": "ok", "detail": "every record is on west"},
        {"name": "lag_audit", "outcome": "excused", "detail": detail},
        {"name": "route_follows", "outcome": "failed", "detail": detail},
    ]
    facts = {
        "decision": {
            "partitions": rows_of({"orders.payments": 4, "orders.invoices": 2}, **PARTITIONS),
            "offset_classes": [],
        },
        "measurements": {
            "records_not_yet_copied_at_most": 4,
            "predicted_write_outage": {"sentence": "1.3 s, the median of earlier failovers: 1.1 to 1.9 s"},
            "groups": [{"group": group, "class": "bounded", "redelivered_at_most": 12}],
            **measured,
        },
    }
    return question.sheet(run, {"facts": facts, "checks": checks, "finished_at": "2026-11-20T03:00:01+00:00"})


def test_the_question_says_how_long_writes_wait_for_copies() -> None:
    assert "copy" not in planned().writes_stop
    waiting = FlowSpec(naming="default", order="copy_first", copy_first_seconds=90)
    assert "have read its copy on west" in planned(flow=waiting).writes_stop
    assert "at most 90 s" in planned(flow=waiting).writes_stop


def body(sheet: Sheet) -> str:
    return sheet.body(expires_at=EXPIRES, digest="4f2a" * 16, page="/kafka-dr/evidence/orders/r1")


def test_it_begins_with_the_answer_one_sentence_each() -> None:
    first = body(planned()).split("\n\n")[0].splitlines()
    assert [each.split("**")[1] for each in first] == ANSWERS
    assert first[0].endswith("goes from **east** to **west**, with 6 partitions of 2 topics.")
    assert "1\\.3 s\\, the median of earlier failovers" in first[2]
    assert "at most 12 records read again" in first[3]
    assert "2026-11-20 03:15:00 UTC" in first[4]


def test_what_becomes_of_further_standbys_is_said() -> None:
    one, two = (body(planned(clusters=("east", "west", *more))) for more in (("north",), ("north", "south")))
    assert "of 2 topics. north stays a standby, copied from west within 5 minutes after it." in one
    assert "north and south stay standbys, copied from west within 5 minutes after it." in two


def test_what_was_not_replicated_is_one_figure_with_its_time() -> None:
    said = body(planned())
    assert "At 03:00:01 UTC at most 4 were not copied yet; they are copied while writes are refused" in said
    assert "every record is on west" not in said
    assert "At 03:00:01 UTC every record was copied" in body(planned(records_not_yet_copied_at_most=0))


def test_the_worst_check_comes_first_and_those_that_are_ok_take_one_line() -> None:
    said = body(planned())
    failed, excused, ok = (said.index(each) for each in ("**failed** `route", "**excused** `lag", "**1 checks ok**"))
    assert failed < excused < ok
    assert "`copied_in_time`" in said
    assert "(as of 03:00:01 UTC)" in said


@pytest.mark.parametrize(
    ("dry", "begins"), [(False, "Planned failover: move"), (True, "Dry run of a planned failover")]
)
def test_the_subject_says_the_verb(dry: bool, begins: str) -> None:
    assert planned(dry_run=dry).subject.startswith(begins)


def test_many_groups_are_summed_up_before_they_are_listed() -> None:
    rows = [{"group": f"g{n}", "class": "bounded", "redelivered_at_most": n or None} for n in range(9)]
    said = body(planned(groups=rows))
    assert "**What is read again**: at most 36 records, by 9 groups (9 bounded); of 1 group it is not known." in said
    assert "**Groups**: g0\\: bounded" in said


def test_it_has_no_tables_and_no_long_words_that_a_telephone_would_cut() -> None:
    said = body(planned())
    assert "| ---" not in said
    assert max(len(word) for word in said.split()) < 60


def test_rebuild_says_what_it_deletes_and_all_else_that_nothing_is_deleted() -> None:
    request = SimpleNamespace(reason="", dry_run=False)
    group = SimpleNamespace(name="orders", clusters=("east", "west"))
    run: Any = SimpleNamespace(group=group, source="west", target="east", request=request)
    decided = {
        "mode": "rebuild",
        "rescue": "keep",
        "stranded": {"records": 7},
        "deletes": [{"topic": "orders.payments", "topic_id": "id"}],
        "quarantine": ["orders.payments-0 10 to 16"],
    }
    held = {"orders.payments": {"records": 50, "bytes": 5000, "stranded": 7}}
    measured = {"old_side": rows_of(held, **OLD_TOPICS)}

    def asked(mode: str) -> Sheet:
        facts = {"decision": {**decided, "mode": mode}, "measurements": measured}
        return failback_question.sheet(run, {"facts": facts, "checks": []})

    late = asked("deliver")
    assert "7 uncopied records of east are kept in files, and arrive late on west. Nothing is deleted." in body(late)
    assert "Quarantined" not in body(late)
    assert "deleted on east" not in body(late)
    rebuild, quarantine = asked("rebuild"), asked("quarantine")
    assert rebuild.subject == "Failback: delete 1 topic of orders on east?"
    assert "7 uncopied records of east are kept in files." in body(rebuild)
    deleted = "⚠ **At most 50 records are deleted on east, and copied again from west.**"
    assert deleted in body(rebuild)
    assert deleted in rebuild.dialog(expires_at=EXPIRES, approvers=("alice",), page="/p", name="n")
    assert "Nothing is deleted." in body(quarantine)
    assert "`orders.payments-0 10 to 16`" in body(quarantine)


@given(HOSTILE, HOSTILE, HOSTILE)
def test_whatever_people_and_clusters_write_the_same_is_asked(reason: str, group: str, detail: str) -> None:
    def shape(sheet: Sheet) -> list[str]:
        found = RENDERER.parse(f"{body(sheet)}\n\nOnly `alice` may answer.\n\n{sheet.written()}")
        kinds = [child.type for token in found for child in (token.children or [token])]
        return [kind for kind in kinds if kind not in ("text", "text_special", "code_inline")]

    harmless, hostile = planned(reason="a"), planned(reason=reason or "a", group=group, detail=detail)
    assert shape(hostile) == shape(harmless)
    fence = RENDERER.parse(hostile.written())[-1]
    assert fence.type == "fence"
    assert fence.content.rstrip("\n") == block(reason or "a").rstrip("\n")
