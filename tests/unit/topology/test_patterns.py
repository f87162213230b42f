from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kafka_dr.topology.declared import NotLookedUp
from kafka_dr.topology.model import Topology
from kafka_dr.topology.patterns import fixed_beginning, is_name, is_prefix, matched, problem

Edit = Callable[..., str]
Load = Callable[[str], Topology]
Complain = Callable[[str], tuple[str, ...]]
SOUND = (
    r"(eu|us)\.orders\.[a-z]+",
    r".*\.orders\.v\d",
    r"orders(-eu)?\.[^.]+",
    r"(?:a|b)\.x{3}\w",
    r"[a-z0-9_\-.]+\.dlq",
)


@pytest.mark.parametrize("pattern", SOUND)
def test_a_sound_pattern_is_read_as_a_regular_expression_of_the_whole_name(pattern: str) -> None:
    assert problem(pattern) == ""
    for name in ("eu.orders.x", "eu.orders.x.y", "shop.orders.v2", "orders-eu.a", "a.xxxq", "stock.dlq", "orders"):
        assert matched(name, [pattern]) is (re.fullmatch(pattern, name) is not None)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("^orders", "leave out ^ and $"),
        ("orders$", "leave out ^ and $"),
        (r"(a+)+b", "a group that is repeated"),
        (r"(a|b)*", "a group that is repeated"),
        (r"a**", "two quantifiers"),
        (r"a*?", "two quantifiers"),
        (r"a*+", "two quantifiers"),
        (r"*a", "nothing before it"),
        (r".*a.*b.*c.*d", "it has 4 of * and +"),
        (r"a?b?c?d?e?f?g", "it has 6 of ?"),
        (r"(?i)orders", "not read the same"),
        (r"(?=a)b", "not read the same"),
        (r"a{1,3}", "not read the same"),
        (r"\Qa\E", "not read the same"),
        (r"\p{Lower}x", "not read the same"),
        (r"(a)\1", "not read the same"),
        (r"[a-z&&[^b]]", "not read the same"),
        (r"[]a]", "not read the same"),
        (r"a b", "not read the same"),
        (r"(a|b", "not closed"),
        (r"a)b", "closes nothing"),
        (r"[z-a]x", "it is not a regular expression"),
        (r"a*", "the empty name"),
        ("a" * 201, "at most 200"),
    ],
)
def test_what_could_run_away_or_is_read_otherwise_by_java_is_refused(pattern: str, said: str) -> None:
    assert said in problem(pattern)


def test_the_longest_name_ends_in_the_worst_pattern_that_is_taken() -> None:
    """One that could run away would not end before the test's time limit."""
    worst = r"a?a?a?a?a?(a|a)(a|a)(a|a)(a|a)(a|a).*a.*a.*b"
    assert problem(worst) == ""
    assert not matched("a" * 249, [worst])


@given(some.text("ab.()|*+?[]\\-d{3}", max_size=12))
def test_whatever_is_taken_compiles_and_matches_no_empty_name(pattern: str) -> None:
    if not problem(pattern):
        assert re.fullmatch(pattern, "") is None


@pytest.mark.parametrize(
    ("pattern", "begin", "name", "prefix"),
    [
        (r"orders\.payments", "orders.payments", True, False),
        (r"orders.payments", "orders", True, False),
        (r"orders\..*", "orders.", False, True),
        (r"orders.*", "orders", False, True),
        (r"orders.+", "orders", False, True),
        (r".*", "", False, True),
        (r".*\.orders", "", False, False),
        (r"orders\.(a|b)", "orders.", False, False),
        (r"orders-x?\.v", "orders-", False, False),
        (r"a|b", "", False, False),
        (r"orders\.[a-z]+.*", "orders.", False, False),
    ],
)
def test_a_name_and_a_prefix_are_no_patterns(pattern: str, begin: str, name: bool, prefix: bool) -> None:
    assert (fixed_beginning(pattern), is_name(pattern), is_prefix(pattern)) == (begin, name, prefix)


PATTERNS = "    topic_patterns: [{patterns}]\n"


def with_patterns(edited: Edit, *patterns: str, more: str = "") -> str:
    return edited(more=PATTERNS.format(patterns=", ".join(f"'{each}'" for each in patterns)) + more)


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        ((r"(a+)+",), "topic_patterns[0]: '(a+)+' cannot be used: a group that is repeated"),
        ((r"eu\.payments",), r"is the name of one topic; write 'eu.payments' into topics"),
        ((r"eu\..*",), "is a beginning and then anything; write 'eu.' into topic_prefixes"),
        ((".+",), "matches every topic of the clusters"),
        ((r"eu\.[a-z]+", r"eu\.[a-z]+"), "topic_patterns[1]: 'eu\\\\.[a-z]+' is already given in line"),
        ((r"orders\.v[0-9]",), "the prefix 'orders.' (line 23) covers all that"),
        ((r"__c[a-z]+",), "reaches names that begin with '__'"),
        ((r"carts\.v[0-9]",), "and the prefix 'carts.' of group 'carts'"),
        ((r"[a-z]+\.dr-canary",), "and the canary topic 'carts.dr-canary' of group 'carts'"),
    ],
)
def test_a_pattern_that_says_too_little_too_much_or_what_is_anothers_is_a_mistake(
    edited: Edit, mistakes_in: Complain, second: str, patterns: tuple[str, ...], said: str
) -> None:
    found = mistakes_in(with_patterns(edited, *patterns, more=second))
    assert any(said in each for each in found), found


def test_the_same_pattern_or_a_name_that_it_matches_in_two_groups_is_a_mistake(
    edited: Edit, mistakes_in: Complain, second: str
) -> None:
    twice = with_patterns(edited, r"eu\.[a-z]+", more=second + r"    topic_patterns: ['eu\.[a-z]+']" + "\n")
    assert any("belongs to group 'orders' already" in each for each in mistakes_in(twice))
    named = with_patterns(edited, r"eu\.[a-z]+", more=second + "    topics: [eu.carts]\n")
    assert any("and 'eu.carts' of group 'carts'" in each for each in mistakes_in(named))


def test_a_group_owns_what_its_patterns_match_and_names_one_by_one_what_was_looked_up(
    edited: Edit, load_text: Load
) -> None:
    group = load_text(with_patterns(edited, r"eu\.[a-z]+")).group("orders")
    assert group.owns_topic("eu.payments")
    assert not group.owns_topic("eu.payments.v2")
    assert not group.owns_topic("us.payments")
    with pytest.raises(NotLookedUp):
        _ = group.matched_topics
    seen = group.with_matched(["eu.b", "eu.a", "us.a", "orders.x", "payments", "eu.b"])
    assert seen.matched_topics == ("eu.a", "eu.b")
    assert seen.literal_topics == ("payments", "eu.a", "eu.b")
    assert seen.topic_patterns == group.topic_patterns
    assert seen != group


def test_no_pattern_matches_what_is_internal_or_a_drills(edited: Edit, load_text: Load) -> None:
    group = load_text(with_patterns(edited, r".*[a-z]x")).group("orders")
    assert group.owns_topic("abx")
    for name in ("__abx", "mm2-abx", "_kafka_dr.abx", "kafka-dr-drill-orders-1.abx"):
        assert not group.owns_topic(name)
