"""The process that keeps the applications running; the lab starts it as ``traffic``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lab.layout import Home
from lab.traffic.app_supervisor import AppSupervisor, Folders
from lab.traffic.fleet import fleet
from lab.traffic.rates import Rates


def main(arguments: list[str]) -> None:
    """Run the fleet of the lab in ``--home``."""
    usual = Rates()
    parser = argparse.ArgumentParser(prog="lab.traffic")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--logs", type=Path, required=True)
    parser.add_argument("--payments-per-second", type=float, default=usual.payments_per_second)
    parser.add_argument("--slow-per-second", type=float, default=usual.slow_per_second)
    parser.add_argument("--copies", action="store_true")
    parser.add_argument("--of-member", action="store_true")
    parser.add_argument("--route", type=Path, required=True)
    parser.add_argument("--suffix", default="")
    options = parser.parse_args(arguments)
    home = Home(options.home)
    rates = Rates(payments_per_second=options.payments_per_second, slow_per_second=options.slow_per_second)
    folders = Folders(route=options.route, clients=home.clients, logs=options.logs, suffix=options.suffix)
    folders.logs.mkdir(parents=True, exist_ok=True)
    jobs = fleet(rates, copies=options.copies, of_member=options.of_member, suffix=options.suffix)
    AppSupervisor(jobs, folders, follow=options.of_member).run()


if __name__ == "__main__":
    main(sys.argv[1:])
