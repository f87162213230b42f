"""A topology is in Git, and what it says is shown: no address in it may hold a secret, and no alias may blow it up."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Edit = Callable[..., str]
Complain = Callable[[str], tuple[str, ...]]


def watched_at(address: str) -> tuple[str, str]:
    approvers = "    approvers: [alice]\n"
    return approvers, f"{approvers}    disaster: {{vantages: {{office: '{address}'}}}}\n"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("https://me:hunter22@watch/{cluster}", "this address holds user information before the @"),
        ("https://hunter22@watch/{cluster}", "this address holds user information before the @"),
        ("https://watch/{cluster}?token=hunter22", "the parameter token of this address holds a secret"),
        ("https://watch/{cluster}?a=1&api_key=hunter22", "the parameter api_key of this address holds a secret"),
        ("ftp://me:hunter22@watch?token=hunter22", "'ftp://…@watch?…' is written here; write"),
    ],
)
def test_an_address_that_holds_a_secret_is_refused_in_one_sentence_without_it(
    edited: Edit, mistakes_in: Complain, address: str, said: str
) -> None:
    (only,) = mistakes_in(edited(watched_at(address)))

    assert "protection_groups.orders.disaster.vantages.office: " in only
    assert said in only
    assert "hunter22" not in only


@pytest.mark.parametrize("address", ["https://watch/{cluster}?cluster={cluster}", "https://watch/a@b", "http://w:1"])
def test_an_address_without_a_secret_is_accepted(
    edited: Edit, load_text: Callable[[str], object], address: str
) -> None:
    load_text(edited(watched_at(address)))


def test_the_evidence_root_may_name_a_connection_and_no_password(
    edited: Edit, mistakes_in: Complain, load_text: Callable[[str], object]
) -> None:
    load_text(edited(("root: /srv/evidence", "root: s3://aws_dr@bucket/kafka")))
    (only,) = mistakes_in(edited(("root: /srv/evidence", "root: s3://AKIA:hunter22@bucket/kafka")))

    assert "evidence.root: this address holds a login and a password" in only
    assert "hunter22" not in only


def test_aliases_that_would_be_a_billion_values_are_refused_at_once(mistakes_in: Complain) -> None:
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for level in range(1, 10):
        laughs += f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n"

    (only,) = mistakes_in(laughs)

    assert "the aliases of this file repeat more than 10000 values; write the values out, or repeat less" in only


@pytest.mark.parametrize("opened", ["[", "{a: ", "- "])
def test_sections_inside_each_other_without_end_are_refused_before_they_crash_the_reader(
    mistakes_in: Complain, opened: str
) -> None:
    (only,) = mistakes_in("evidence:\n  " + opened * 100_000)

    assert "line 2: more than 50 sections are inside each other" in only


def test_a_long_list_may_be_used_by_several_groups(edited: Edit, load_text: Callable[[str], object]) -> None:
    topics = ", ".join(f"orders.t{number}" for number in range(800))
    load_text(
        edited(
            ("topics: [payments]", f"topics: &several [{topics}]"),
            ("    approvers: [alice]\n", "    approvers: [alice]\n    config_sync: {keyed_topics: *several}\n"),
        )
    )
