"""The demo of several standbys: each cluster becomes the active one."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from rich.console import Console

from lab.api import Lab
from lab.demo import command
from lab.demo import rehearsal as rehearsals
from lab.demo.options import DemoOptions
from lab.demo.rehearsal import Rehearsal
from lab.demo.standbys import CLUSTERS, StandbysRehearsal
from lab.traffic.app_supervisor import Folders
from lab.traffic.control import Traffic
from lab.traffic.fleet import fleet
from lab.traffic.rates import Rates


def test_each_cluster_becomes_the_active_one_in_turn(tmp_path: Path) -> None:
    lab = Lab(tmp_path, clusters=CLUSTERS)
    rehearsal, active = StandbysRehearsal(lab, DemoOptions(), Console()), ["east"]
    for _ in range(CLUSTERS):
        active.append(rehearsal._target(active[-1]))
    assert sorted(active[1:]) == sorted(lab.settings.names)
    assert active[-1] == active[0]


@pytest.mark.parametrize(
    ("more", "proxied"), [([], False), (["--unplanned"], True), (["--unplanned", "--hang"], False)]
)
def test_only_a_demo_that_splits_a_cluster_off_has_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], proxied: bool
) -> None:
    found: list[Rehearsal] = []

    def rehearse(each: Rehearsal, *, report: Path | None) -> int:
        assert report is None
        found.append(each)
        return 0

    monkeypatch.setattr(rehearsals, "rehearse", rehearse)
    parser = argparse.ArgumentParser()
    command.configure(parser)
    options = parser.parse_args(["--standbys", *more])
    options.home, options.port_base = tmp_path, None
    command.run(options, Console())
    assert found[0]._lab.settings.proxied is proxied


def test_a_second_fleet_has_names_of_its_own_and_the_same_groups(tmp_path: Path) -> None:
    usual, other = fleet(Rates()), fleet(Rates(), suffix="-elsewhere")
    assert other.keys() == {f"{name}-elsewhere" for name in usual} == {each.name for each in other.values()}
    assert [each.group for each in other.values()] == [each.group for each in usual.values()]
    first, second = Traffic(Lab(tmp_path)), Traffic(Lab(tmp_path), suffix="-elsewhere")
    assert first.logs == second.logs
    assert set(first.log_paths).isdisjoint(second.log_paths)
    assert Folders(tmp_path, tmp_path, tmp_path).state != Folders(tmp_path, tmp_path, tmp_path, "-elsewhere").state
