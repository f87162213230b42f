from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from enum import Enum
from pathlib import PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_dr.evidence.canonical import NotCanonical, canonical, digest

#: A busy machine is no reason to fail.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Point:
    y: int
    x: int


def test_facts_are_written_in_one_way() -> None:
    noon = datetime(2026, 11, 20, 14, 0, 0, 5000, tzinfo=timezone(timedelta(hours=2)))
    facts = {
        "z": (1, 2.5, None, True),
        "a": {"set": {"b", "a"}, "enum": Colour.RED, Colour.RED: 0, 7: "seven"},
        "point": Point(y=1, x=2),
        "at": noon,
        "day": date(2026, 11, 20),
        "path": PurePosixPath("/srv/x"),
        "text": "ü",
    }

    assert canonical(facts) == (
        '{"a":{"7":"seven","enum":"red","red":0,"set":["a","b"]},"at":"2026-11-20T12:00:00.005000Z",'
        '"day":"2026-11-20","path":"/srv/x","point":{"x":2,"y":1},"text":"ü","z":[1,2.5,null,true]}'
    )


def test_the_digest_is_the_sha256_of_the_canonical_form() -> None:
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@patient
@given(JSON)
def test_the_digest_survives_a_way_through_json(value: object) -> None:
    assert digest(json.loads(canonical(value))) == digest(value)


@patient
@given(st.dictionaries(st.text(), JSON))
def test_the_order_of_keys_is_no_part_of_the_facts(facts: dict[str, object]) -> None:
    assert digest(dict(reversed(facts.items()))) == digest(facts)


@patient
@given(JSON, JSON)
def test_different_facts_have_different_digests(one: object, other: object) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (digest(one) == digest(other)) == same


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"a": [1.0, float("nan")]}, r"The number at a\[1\] is nan: write None"),
        ({"a": float("-inf")}, "is -inf"),
        ({"at": datetime(2026, 11, 20)}, "The time at at is .*, without time zone"),  # noqa: DTZ001
        ({"raw": b"x"}, "The value at raw is bytes, which has no form in JSON"),
        ({"wait": timedelta(seconds=1)}, "is timedelta"),
        ({(1, 2): 3}, "The key .* at the top is tuple"),
        ({True: 3}, "is bool: use text or whole numbers"),
        ({"a": {1: "x", "1": "y"}}, "Two keys at a are both written '1'"),
        ("\ud800", "The text at the top cannot be written in UTF-8"),
    ],
)
def test_what_has_no_single_form_is_refused(value: object, said: str) -> None:
    with pytest.raises(NotCanonical, match=said):
        digest(value)
