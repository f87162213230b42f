"""``bench``: a benchmark for each kind of work. Every one brings its lab up and down by itself."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from lab.bench import audit, config, failover, metrics, offsets, page, question, switch, watch


def configure(parser: argparse.ArgumentParser, *, options: Sequence[argparse.ArgumentParser]) -> None:
    """Add the benchmarks to the lab's command line.

    :param options: the options that say where the lab is
    """
    benches = parser.add_subparsers(dest="bench", required=True, metavar="WHAT")
    of_audit = benches.add_parser(
        "audit", parents=list(options), help="the checksum audit next to count, join and consumers"
    )
    of_audit.add_argument(
        "--records", type=int, default=3_000_000, metavar="N", help="of 200 B on each cluster; a tenth as many of 2 KB"
    )
    of_audit.add_argument(
        "--cores",
        metavar="N,N…",
        help="only an audit on a Spark cluster, with each of these numbers of cores, and its throughput",
    )
    of_audit.add_argument("--report", type=Path, required=True, metavar="FILE", help="where the figures go, as JSON")
    of_audit.set_defaults(run=audit.run)
    of_offsets = benches.add_parser(
        "offsets", parents=list(options), help="groups translated, committed on the target and read back"
    )
    of_offsets.add_argument("--groups", type=int, default=1_000, metavar="N", help="how many groups move")
    of_offsets.add_argument("--partitions", type=int, default=100, metavar="N", help="that each of them reads")
    of_offsets.add_argument("--records", type=int, default=200_000, metavar="N", help="in all partitions together")
    of_offsets.add_argument("--report", type=Path, required=True, metavar="FILE", help="where the figures go, as JSON")
    of_offsets.set_defaults(run=offsets.run)
    config.configure(benches, options=options)
    question.configure(benches, options=options)
    switch.configure(benches, options=options)
    failover.configure(benches, options=options)
    watch.configure(benches, options=options)
    metrics.configure(benches, options=options)
    page.configure(benches, options=options)
