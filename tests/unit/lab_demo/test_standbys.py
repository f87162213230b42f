"""The demo of several standbys: each cluster becomes the active one."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from lab.api import Lab
from lab.demo.options import DemoOptions
from lab.demo.standbys import CLUSTERS, StandbysRehearsal


def test_each_cluster_becomes_the_active_one_in_turn(tmp_path: Path) -> None:
    lab = Lab(tmp_path, clusters=CLUSTERS)
    rehearsal, active = StandbysRehearsal(lab, DemoOptions(), Console()), ["east"]
    for _ in range(CLUSTERS):
        active.append(rehearsal._target(active[-1]))
    assert sorted(active[1:]) == sorted(lab.settings.names)
    assert active[-1] == active[0]
