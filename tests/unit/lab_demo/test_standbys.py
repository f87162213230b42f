"""The demo of several standbys: each cluster becomes the active one, and options that do not fit are refused."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from rich.console import Console

from lab.api import Lab
from lab.demo.command import configure, run
from lab.demo.options import DemoOptions
from lab.demo.standbys import CLUSTERS, StandbysRehearsal
from lab.errors import LabError


def test_each_cluster_becomes_the_active_one_in_turn(tmp_path: Path) -> None:
    lab = Lab(tmp_path, clusters=CLUSTERS)
    rehearsal, active = StandbysRehearsal(lab, DemoOptions(), Console()), ["east"]
    for _ in range(CLUSTERS):
        active.append(rehearsal._target(active[-1]))
    assert sorted(active[1:]) == sorted(lab.settings.names)
    assert active[-1] == active[0]


@pytest.mark.parametrize(
    "more", [["--sabotage", "no_fence"], ["--unplanned", "--sabotage", "stranded_dropped"], ["--observe"]]
)
def test_what_it_does_not_do_is_refused(more: list[str], tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    configure(parser)
    options = parser.parse_args(["--standbys", *more])
    options.home, options.port_base = tmp_path, None
    with pytest.raises(LabError, match="--standbys"):
        run(options, Console())
