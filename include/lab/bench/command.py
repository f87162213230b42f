"""``bench``: a benchmark for each kind of work. Every one brings its lab up and down by itself."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from lab.bench import config


def configure(parser: argparse.ArgumentParser, *, place: Sequence[argparse.ArgumentParser]) -> None:
    """Add the benchmarks to the lab's command line.

    :param place: the options that say where a lab lies
    """
    benches = parser.add_subparsers(dest="bench", required=True, metavar="WHAT")
    config.configure(benches, place=place)
