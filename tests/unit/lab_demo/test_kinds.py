"""What a kind of demo does not do is refused before anything starts."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from rich.console import Console

from lab.demo.command import configure, run
from lab.errors import LabError


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("--names", ["--standbys"]),
        ("--names", ["--unplanned"]),
        ("--names", ["--switches", "2"]),
        ("--names", ["--sabotage", "no_fence"]),
        ("--names", ["--observe"]),
        ("--standbys", ["--sabotage", "no_fence"]),
        ("--standbys", ["--unplanned", "--sabotage", "stranded_dropped"]),
        ("--standbys", ["--observe"]),
    ],
)
def test_options_that_do_not_fit_a_kind_are_refused_by_its_name(kind: str, more: list[str], tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    configure(parser)
    options = parser.parse_args([kind, *more])
    options.home, options.port_base = tmp_path, None
    with pytest.raises(LabError, match=kind):
        run(options, Console())
