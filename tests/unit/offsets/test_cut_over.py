from __future__ import annotations

import json

from kafka_dr.offsets.translate.answers import Translation, translations_from_json, translations_to_json
from kafka_dr.offsets.translate.pipeline import for_groups, offsets_of
from kafka_dr.offsets.verify import before_start, decreased, not_read_back, past_end
from kafka_dr.positions import TopicPartition

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)


def test_what_was_set_must_be_read_back() -> None:
    assert not_read_back({"g": {ONE: 5}}, {"g": {ONE: 5, TWO: 1}}) == ()
    problems = not_read_back({"g": {ONE: 5, TWO: 7}, "h": {ONE: 1}}, {"g": {ONE: 6}})
    assert [(p.group, p.partition, p.detail) for p in problems] == [
        ("g", ONE, "set to 5, read back 6"),
        ("g", TWO, "set to 7, read back nothing"),
        ("h", ONE, "set to 1, read back nothing"),
    ]


def test_a_position_may_be_at_the_end_and_not_past_it() -> None:
    assert past_end({"g": {ONE: 5}}, {ONE: 5}) == ()
    assert [p.detail for p in past_end({"g": {ONE: 6, TWO: 1}}, {ONE: 5})] == [
        "6 is past the end 5",
        "1 is past the end nothing",
    ]


def test_an_offset_is_not_before_the_log_start() -> None:
    assert before_start({"g": {ONE: 5, TWO: 0}}, {ONE: 5}) == ()
    assert [(p.kind, p.detail) for p in before_start({"g": {ONE: 5, TWO: 1}}, {ONE: 6, TWO: 1})] == [
        ("before_start", "5 is before the log start 6")
    ]


def test_a_position_may_move_forward_and_not_back() -> None:
    assert decreased({"g": {ONE: 5}}, {"g": {ONE: 5}}) == ()
    assert decreased({"g": {ONE: 5}}, {"g": {ONE: 9, TWO: 0}}) == ()
    assert [p.detail for p in decreased({"g": {ONE: 5, TWO: 2}}, {"g": {ONE: 4}})] == [
        "was 5, is 4",
        "was 2, is nothing",
    ]


def test_a_position_that_groups_share_is_looked_up_once() -> None:
    committed = {"b": {ONE: 3}, "a": {TWO: 1, ONE: 3}}
    asked = offsets_of(committed)
    assert asked == {ONE: {3}, TWO: {1}}
    answers = {(p, o): Translation(o, 2 * o, "exact", 0, "") for p, offsets in asked.items() for o in offsets}
    found = for_groups(committed, answers)
    assert [(f.group, f.partition, f.target_offset) for f in found] == [("a", ONE, 6), ("a", TWO, 2), ("b", ONE, 6)]


def test_what_is_journaled_of_an_offset_is_read_back() -> None:
    placed = Translation(3, 7, "bounded", 5, "said", 2, "right", 4).of("g", ONE)
    assert placed.second_copies == 4
    fact = json.loads(json.dumps(translations_to_json([placed])))
    assert translations_from_json(fact) == [placed]
