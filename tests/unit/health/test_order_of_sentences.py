"""What a person reads first of a look at health is the worst of it; a silent cluster is named before what follows."""

from __future__ import annotations

from kafka_dr.health.health_check import said_of
from kafka_dr.outcomes import Check

STABLE = Check("register", "ok", "orders is stable on east")


def test_the_worst_is_said_first_and_what_the_register_says_last() -> None:
    checks = (
        STABLE,
        Check("fence", "excused", "DENYs were added"),
        Check("followers", "unknown", "the route could not be checked"),
        Check("route", "ok", "the route names east"),
        Check("fence", "failed", "west lacked 3 DENYs"),
        Check("silent", "unknown", "east does not answer"),
    )
    assert said_of(checks) == (
        "west lacked 3 DENYs",
        "east does not answer",
        "the route could not be checked",
        "DENYs were added",
        "orders is stable on east",
    )
    assert said_of((STABLE,)) == ("orders is stable on east",)


def test_a_register_that_is_not_ok_is_said_among_the_worst() -> None:
    diverged = Check("register", "failed", "orders is diverged on west")
    assert said_of((diverged, Check("fence", "failed", "a fence"))) == ("orders is diverged on west", "a fence")


def test_a_group_that_is_half_moved_comes_before_everything() -> None:
    moved = Check("half_moved", "failed", "orders is half moved")
    assert said_of((STABLE, Check("fence", "failed", "a fence"), moved))[0] == "orders is half moved"
