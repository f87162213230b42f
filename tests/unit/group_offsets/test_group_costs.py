"""A form says of each group one class, and what that costs."""

from __future__ import annotations

from kafka_dr.group_offsets.group_costs import CLASSES, costs, in_short, in_words
from kafka_dr.named_rows import rows_of


def classes(found: dict[str, str]) -> list[dict[str, str]]:
    return rows_of(found, **CLASSES)


def measured(group: str, kind: str, again: int | None = 0, skipped: int | None = 0) -> dict[str, object]:
    return {"group": group, "class": kind, "redelivered_at_most": again, "skipped_at_most": skipped}


def test_one_group_has_one_class_and_it_is_the_less_sure_one() -> None:
    """The decision calls a position bounded that was seen a moment ago; the measurement finds it at the head: exact."""
    found = costs(
        classes({"seen": "bounded", "map": "exact"}),
        [measured("seen", "exact"), measured("map", "bounded", 12)],
    )
    assert [(row["group"], row["class"]) for row in found] == [("map", "bounded"), ("seen", "bounded")]
    assert in_words(found) == "map: bounded, at most 12 records read again; seen: bounded, at most 0 records read again"


def test_what_was_not_measured_is_not_known() -> None:
    assert in_words(costs(classes({"a": "bounded"}), ())) == "a: bounded, how much is read again is not known"
    assert in_words([]) == "no positions are known"
    assert costs(classes({"a": "exact"}), [measured("a", "a word of tomorrow")])[0]["class"] == "a word of tomorrow"


def test_records_that_a_group_goes_past_are_said() -> None:
    rows = [measured("a", "declared", 0, 1200), measured("b", "declared", 0, None)]
    said = in_words(costs((), rows))
    assert "a: declared, at most 0 records read again, at most 1,200 unread records skipped" in said
    assert "b: declared, at most 0 records read again, how many unread records are skipped is not known" in said


def test_in_short_groups_that_lose_nothing_are_counted_and_not_named() -> None:
    free = [measured(f"free-{number}", "exact") for number in range(3)]
    assert in_short(free) == "all 3 resume exactly and read nothing again"
    slow = measured("slow", "bounded", 3858)
    assert in_short([*free, slow]) == (
        "slow: bounded, at most 3,858 records read again; the other 3 resume exactly and read nothing again"
    )
    assert in_short([]) == "no positions are known"


def test_in_short_what_is_not_known_comes_first_and_then_what_costs_most() -> None:
    rows = [measured(f"g{number}", "bounded", number) for number in range(7)]
    said = in_short([*rows, measured("dark", "bounded", None), measured("skips", "declared", 0, 9)]).split("; ")
    assert said[0] == "of dark it is not known what would be read again or skipped"
    assert [each.partition(":")[0] for each in said[1:5]] == ["skips", "g6", "g5", "g4"]
    assert said[5:] == ["4 more read less again"]


def test_in_short_many_groups_of_which_nothing_is_known_are_never_said_to_cost_less() -> None:
    dark = [measured(f"d{number}", "bounded", None) for number in range(6)]
    skips = measured("e", "declared", 0, None)
    said = in_short([*dark, skips])
    assert said == "of d0, d1, d2, d3 and 3 more it is not known what would be read again or skipped"


def test_in_short_an_exact_position_that_skips_or_reads_again_is_named() -> None:
    assert "a: exact, at most 1 record" in in_short([measured("a", "exact", 1)])
    assert "a: exact, at most 0 records read again, at most 2 unread" in in_short([measured("a", "exact", 0, 2)])


def test_second_copies_are_said_with_what_is_read_again() -> None:
    rows = costs((), [{**measured("a", "bounded", 1_250), "second_copies": 1_200}, measured("b", "exact")])
    said = "a: bounded, at most 1,250 records read again (1,200 are second copies, made before the take over)"
    assert in_words(rows) == f"{said}; b: exact, at most 0 records read again"
    assert in_short(rows) == f"{said}; the other 1 resume exactly and read nothing again"
