"""Packets are lost one way: requests reach the source, and its answers are lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.own_network import NoNetworkOfItsOwn, environ_for_inside, run_in_own_network

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

INSIDE = Path(__file__).with_name("inside_own_network.py")


@pytest.mark.long
def test_a_source_whose_answers_are_lost_is_given_up_like_a_dead_one(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", str(INSIDE), "-q", "-p", "no:cacheprovider", "--basetemp"]
    done = run_in_own_network([*command, str(tmp_path / "inside")], environ=environ_for_inside(), seconds=360)
    assert done.returncode == 0, done.stdout


def test_without_a_network_of_its_own_the_test_says_so_and_does_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoNetworkOfItsOwn, match="run this test as root or where users may make namespaces"):
        run_in_own_network(["true"], environ={}, seconds=10)
