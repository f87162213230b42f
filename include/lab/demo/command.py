"""``python3 include/lab demo``: its options."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from lab.api import Lab
from lab.demo.options import DemoOptions, Sabotage
from lab.errors import LabError
from lab.layout import DEFAULT_PORT_BASE
from lab.traffic.rates import Rates

#: What fails over, apart from a pair by plan.
_COURSES = ("unplanned", "standbys", "names", "active_active", "hub")
#: Those that no other is joined with.
_ALONE = ("names", "active_active", "hub")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the demo."""
    usual = DemoOptions()
    parser.add_argument("--yes", action="store_true", help="approve without asking")
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="write what was found as JSON; with --observe the page",
    )
    parser.add_argument(
        "--sabotage",
        choices=[each.value for each in Sabotage],
        help="break the run on purpose; the demo must then fail",
    )
    parser.add_argument("--switches", type=int, default=1, metavar="N", help="fail over N times, there and back again")
    parser.add_argument(
        "--unplanned",
        action="store_true",
        help="a disaster instead: kill the active cluster, fail over, fence it on return, rescue, fail back, return",
    )
    parser.add_argument(
        "--hang",
        action="store_true",
        help="with --unplanned or --names: the active cluster hangs instead, its connections open",
    )
    parser.add_argument(
        "--standbys",
        action="store_true",
        help="three clusters instead: planned failovers round all of them, and each standby ends as the same log; "
        "with --unplanned the second one is split off while applications inside write on (--hang: it hangs), and one "
        "standby holds less than the other",
    )
    parser.add_argument(
        "--names",
        action="store_true",
        help="copies with other names instead (MirrorMaker's own policy): a planned failover, the loss of the active "
        "cluster, its late records, and the way back",
    )
    parser.add_argument(
        "--active-active",
        action="store_true",
        help="three clusters that take writes, each from its own clients: those of one leave and come back, another "
        "one is lost, returns, and its clients too",
    )
    parser.add_argument(
        "--hub",
        action="store_true",
        help="two clusters that take writes, and two hubs with copies of both: a report waits until a hub is complete, "
        "readers move from hub to hub and back, and a hub is lost and returns",
    )
    parser.add_argument(
        "--observe",
        action="store_true",
        help="somebody else's MirrorMaker with real faults instead: `kafka_dr observe` has to find each of them",
    )
    parser.add_argument(
        "--stretch",
        action="store_true",
        help="one cluster over three sites instead: one of them is killed under load, and what `kafka_dr stretch` "
        "predicted has to happen",
    )
    parser.add_argument("--keep", action="store_true", help="leave the lab running at the end")
    parser.add_argument(
        "--payments-per-second", type=float, default=usual.rates.payments_per_second, metavar="N", help="load"
    )
    parser.add_argument(
        "--warm-up", type=float, default=usual.warm_up_seconds, metavar="SECONDS", help="load before each failover"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> int:
    """Run the demo.

    :returns: 0 if every invariant held, 1 if not
    :raises LabError: it could not be run
    """
    from lab.demo.active_active import MembersRehearsal  # what these import would slow down every other command
    from lab.demo.disaster import DisasterRehearsal
    from lab.demo.hub import HUB_CLUSTERS, HubRehearsal
    from lab.demo.names import NamesRehearsal
    from lab.demo.rehearsal import Rehearsal, rehearse
    from lab.demo.standbys import CLUSTERS, StandbysDisaster, StandbysRehearsal

    if options.observe or options.stretch:
        return (_stretch if options.stretch else _observe)(options, console)
    if options.switches < 1:
        raise LabError(f"--switches is {options.switches}, and must be at least 1")
    course = next((each for each in (*_ALONE, "standbys") if getattr(options, each)), None)
    _check_together(options, course)
    sabotage = Sabotage(options.sabotage) if options.sabotage else None
    unplanned = options.unplanned or course in _ALONE
    if sabotage is not None and sabotage.is_about_a_disaster is not unplanned:
        whether = "only" if sabotage.is_about_a_disaster else "not"
        raise LabError(f"--sabotage {sabotage} is {whether} for --unplanned and --names")
    wishes = DemoOptions(
        yes=options.yes,
        switches=max(options.switches, CLUSTERS) if course == "standbys" else options.switches,
        sabotage=sabotage,
        unplanned=unplanned,
        hang=options.hang,
        keep=options.keep,
        warm_up_seconds=options.warm_up,
        rates=Rates(payments_per_second=options.payments_per_second),
    )
    pair, several = (DisasterRehearsal, StandbysDisaster) if unplanned else (Rehearsal, StandbysRehearsal)
    split_off = unplanned and not options.hang
    kinds: dict[str | None, tuple[type[Rehearsal], dict[str, Any]]] = {
        None: (pair, {}),
        "standbys": (several, {"clusters": CLUSTERS, "proxied": split_off}),
        "names": (NamesRehearsal, {"naming": "default"}),
        "active_active": (MembersRehearsal, {"clusters": CLUSTERS, "block": "active_active"}),
        "hub": (HubRehearsal, {"clusters": HUB_CLUSTERS, "block": "hub_and_spoke", "proxied": True}),
    }
    kind, made = kinds[course]
    lab = Lab(options.home, port_base=options.port_base, **made)
    return rehearse(kind(lab, wishes, console), report=options.report)


def _check_together(options: argparse.Namespace, course: str | None) -> None:
    """Refuse options that exclude each other."""
    others = [each for each in _COURSES if each != course and getattr(options, each)]
    if course in _ALONE and (others or options.switches != 1):
        said = ", ".join(_option(each) for each in _COURSES if each != course)
        raise LabError(f"{_option(course)} has its own course: leave {said} and --switches out")
    if options.hang and not (options.unplanned or course in _ALONE):
        raise LabError(f"--hang is only for --unplanned, {', '.join(map(_option, _ALONE))}")
    if options.sabotage and course not in {None, "names"}:
        raise LabError(f"--sabotage is for two clusters: leave {_option(str(course))} out")
    _check_folder(options.report)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _check_folder(report: Path | None) -> None:
    if report is not None and not report.absolute().parent.is_dir():
        raise LabError(f"the folder of --report {report} does not exist: make it first")


def _observe(options: argparse.Namespace, console: Console) -> int:
    from lab.demo.observed import screen
    from lab.demo.observed.rehearsal import ObservedRehearsal, ObservedWishes

    _check_alone(options, "--observe")
    wishes = ObservedWishes(
        page=options.report.absolute() if options.report else None,
        keep=options.keep,
        warm_up_seconds=options.warm_up,
        rates=Rates(payments_per_second=options.payments_per_second),
    )
    outcome = ObservedRehearsal(Lab(options.home, port_base=options.port_base), wishes, console).run()
    screen.show(outcome, console)
    if wishes.page is not None:
        console.print(f"Report: {wishes.page}")
    return 0 if outcome.good else 1


def _check_alone(options: argparse.Namespace, own: str) -> None:
    others = ("hang", "sabotage", *_COURSES)
    both = options.observe and options.stretch
    if both or options.switches != 1 or any(getattr(options, each) for each in others):
        out = f"{', '.join(map(_option, others))} and --switches"
        raise LabError(f"{own} fails nothing over, and has its own course: leave {out} out")
    _check_folder(options.report)


def _stretch(options: argparse.Namespace, console: Console) -> int:
    from lab.demo.stretch import screen
    from lab.demo.stretch.rehearsal import StretchRehearsal

    _check_alone(options, "--stretch")
    rehearsal = StretchRehearsal(
        options.home,
        console,
        port_base=options.port_base or DEFAULT_PORT_BASE,
        keep=options.keep,
        warm_up_seconds=options.warm_up,
    )
    outcome = rehearsal.run()
    screen.show(outcome, console)
    if options.report is not None:
        options.report.write_text(json.dumps(asdict(outcome), indent=1) + "\n")
    return 0 if outcome.good else 1
