"""The process that keeps the applications running; the lab starts it as ``traffic``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import get_args

from lab.layout import Home, Role
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
    parser.add_argument("--role", choices=get_args(Role))
    parser.add_argument("--route", type=Path, required=True)
    parser.add_argument("--suffix", default="")
    options = parser.parse_args(arguments)
    home = Home(options.home)
    rates = Rates(payments_per_second=options.payments_per_second, slow_per_second=options.slow_per_second)
    folders = Folders(route=options.route, clients=home.clients, logs=options.logs, suffix=options.suffix)
    folders.logs.mkdir(parents=True, exist_ok=True)
    jobs = fleet(rates, copies=options.copies, role=options.role, suffix=options.suffix)
    AppSupervisor(jobs, folders, follow=options.role is not None).run()


if __name__ == "__main__":
    main(sys.argv[1:])
