"""The lab's command line."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.table import Table

from lab import gate, jars, proxy, rooms, size, vantage
from lab.api import Lab
from lab.bench.command import configure as configure_bench
from lab.demo.command import configure as configure_demo
from lab.errors import LabError
from lab.layout import DEFAULT_HOME, DEFAULT_PORT_BASE, KAFKA_VERSION, LOOPBACK, NAMES, PROJECT, Ports
from lab.processes import INTERRUPTS
from lab.spark_cluster import MASTER
from lab.status import LabStatus


def main(arguments: Sequence[str]) -> int:
    """Run one command.

    :returns: the exit code: 0 done, 1 something is not as it should be, 2 it could not be done.
    """
    ours, of_pytest = (arguments[:1], arguments[1:]) if arguments[:1] == ["test"] else (arguments, [])
    options = _parser(of_pytest).parse_args(ours)
    console = Console(highlight=False)
    _listen()
    try:
        return int(options.run(options, console))
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.filename is None:  # not about a file: a mistake of ours, to be seen whole
            raise
        print(
            f"lab: {error.filename}: {error.strerror}; make room or allow it, or choose another --home", file=sys.stderr
        )
        return 2
    except KeyboardInterrupt:
        for number in INTERRUPTS:  # it ends as it is: one more would only hide the exit code
            signal.signal(number, signal.SIG_IGN)
        print(f"lab: interrupted; {_left(options)}", file=sys.stderr)
        return 130


def _left(options: argparse.Namespace) -> str:
    """Say what an interrupted command has left."""
    with suppress(LabError):
        if getattr(options, "keep", False) and _lab(options).status().in_use:
            return "its applications are stopped, and the lab continues because of --keep: end it with `down`"
    return "what this command had started is stopped again"


def _listen() -> None:
    """Take every way to be ended as Ctrl-C: it leaves no half-started lab either."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    terminals = [stream.fileno() for stream in (sys.stdout, sys.stderr) if stream.isatty()]

    def hung_up(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a shell sends it, and the system once more when the shell ends
        with Path(os.devnull).open("w") as nowhere:
            for terminal in terminals:
                os.dup2(nowhere.fileno(), terminal)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, hung_up)


def _parser(of_pytest: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 include/lab",
        description="Secured Kafka datacenters with Connect and Airflow on this machine: two, unless you ask for more.",
    )
    lab_options = argparse.ArgumentParser(add_help=False)
    lab_options.add_argument("--home", type=Path, default=DEFAULT_HOME, help="folder of all its state (default: .lab)")
    lab_options.add_argument(
        "--port-base",
        type=int,
        metavar="N",
        help=f"first of its ports on the loopback, 100 for each cluster and 100 more (default: {DEFAULT_PORT_BASE}, or "
        "as the lab was made)",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    up = commands.add_parser("up", parents=[lab_options], help="start what does not run; ends when everything answers")
    up.add_argument("--brokers", type=int, metavar="N", help="brokers in each cluster (default: 1, or as it was made)")
    up.add_argument(
        "--clusters", type=int, metavar="N", help=f"datacenters, at most {len(NAMES)} (default: 2, or as it was made)"
    )
    up.add_argument(
        "--kafka", choices=jars.BROKERS, help=f"version of the brokers (default: {KAFKA_VERSION}, or as it was made)"
    )
    up.add_argument("--no-airflow", action="store_true", help="only brokers and Connect")
    up.add_argument(
        "--spark-cluster", action="store_true", help="audits run on a Spark cluster of a master and two workers"
    )
    up.add_argument("--proxied", action="store_true", help="a proxy before each cluster, which `link` cuts off")
    up.set_defaults(run=_up)

    link = commands.add_parser("link", parents=[lab_options], help="cut a cluster off from who is outside of it")
    link.add_argument("cluster", metavar="CLUSTER")
    link.add_argument("what", nargs="+", metavar="cut | heal | delay MS", help="delay: milliseconds, each way")
    link.set_defaults(run=_link)

    down = commands.add_parser("down", parents=[lab_options], help="stop every process of the lab")
    down.add_argument("--delete", action="store_true", help="remove its state, too")
    down.set_defaults(run=_down)

    status = commands.add_parser("status", parents=[lab_options], help="what runs, and where it answers")
    status.add_argument("--json", action="store_true", help="the same for programs; paths of credentials, never values")
    status.set_defaults(run=_status)

    logs = commands.add_parser("logs", parents=[lab_options], help="show the log of a process, e.g. east-broker-1")
    logs.add_argument("name", metavar="NAME")
    logs.add_argument("-f", "--follow", action="store_true", help="print new lines as they are written")
    logs.set_defaults(run=_logs)

    traffic = commands.add_parser(
        "traffic", parents=[lab_options], help="the demo's applications alone, which follow the route until stopped"
    )
    traffic.add_argument("what", choices=["start", "stop"])
    traffic.set_defaults(run=_traffic)

    test = commands.add_parser(
        "test",
        usage="python3 include/lab test [pytest arguments]",
        help="format, lint, types and tests; with arguments: pytest with these",
    )
    test.set_defaults(run=lambda _options, console: gate.run(of_pytest, console))

    of_size = commands.add_parser("size", help="how many lines the project has, by folder")
    of_size.add_argument("folder", type=Path, nargs="?", default=PROJECT, help="another version of the project")
    of_size.set_defaults(run=_size)

    of_rooms = commands.add_parser("rooms", help="what each room of the core owns, and what it imports")
    of_rooms.add_argument("folder", type=Path, nargs="?", default=PROJECT, help="another version of the project")
    of_rooms.set_defaults(run=_rooms)

    demo = commands.add_parser("demo", parents=[lab_options], help="a planned failover under load, and what it did")
    configure_demo(demo)

    bench = commands.add_parser("bench", help="the cost of the project's work next to costs that everybody knows")
    configure_bench(bench, options=[lab_options])
    return parser


def _lab(options: argparse.Namespace) -> Lab:
    return Lab(
        options.home,
        port_base=options.port_base,
        brokers=getattr(options, "brokers", None),
        clusters=getattr(options, "clusters", None),
        spark_cluster=getattr(options, "spark_cluster", False),
        kafka=getattr(options, "kafka", None),
        proxied=getattr(options, "proxied", False),
    )


def _up(options: argparse.Namespace, console: Console) -> int:
    status = _lab(options).up(
        airflow=not options.no_airflow,
        report=lambda what, seconds: console.print(f"[green]✓[/] {what} [dim]{seconds:.1f} s[/]"),
    )
    console.print(_table(status))
    if not options.no_airflow:
        console.print(f"Airflow: {status.airflow.url}, users {', '.join(status.airflow.users)}", soft_wrap=True)
        console.print(f"passwords: {status.airflow.passwords}", soft_wrap=True)
    console.print(f"ready in {status.ready_seconds} s")
    return 0


def _link(options: argparse.Namespace, console: Console) -> int:
    proxy.control(_lab(options).settings, options.cluster, *options.what)
    console.print(f"{options.cluster}: {' '.join(options.what)}")
    return 0


def _down(options: argparse.Namespace, console: Console) -> int:
    _lab(options).down(delete=options.delete)
    console.print("nothing of the lab runs" + (", and its state is removed" if options.delete else ""))
    return 0


def _status(options: argparse.Namespace, console: Console) -> int:
    status = _lab(options).status()
    if options.json:
        print(json.dumps(status.as_json(), indent=1))
    else:
        console.print(_table(status))
    return 0 if status.running else 1


def _logs(options: argparse.Namespace, _console: Console) -> int:
    lab = _lab(options)
    log = lab.supervisor.log(options.name)
    if not log.exists():
        known = ", ".join(path.stem for path in sorted(lab.home.logs.glob("*.log"))) or "none yet"
        raise LabError(f"there is no log of {options.name!r}; logs that there are: {known}")
    sys.stdout.flush()
    argv = ["tail", "-n", "+1", *(["-f"] if options.follow else []), str(log)]
    os.execvp("tail", argv)  # noqa: S606, S607


def _traffic(options: argparse.Namespace, console: Console) -> int:
    from lab.traffic.control import Traffic  # what it imports would slow down every other command

    lab = _lab(options)
    if options.what == "stop":
        Traffic(lab).stop(drain_seconds=1.0)
        console.print("no application runs")
        return 0
    if not lab.home.route.exists():
        raise LabError(f"no application knows where to write: {lab.home.route} is missing; trigger DR 8: adopt first")
    Traffic(lab).start()
    console.print(f"applications write and read; their logs: {Traffic(lab).logs}", soft_wrap=True)
    return 0


def _size(options: argparse.Namespace, console: Console) -> int:
    console.print(size.table(options.folder))
    return 0


def _rooms(options: argparse.Namespace, console: Console) -> int:
    console.print(rooms.table(options.folder))
    return 0


def _table(status: LabStatus) -> Table:
    answers_at = {f"{cluster.name}-connect": cluster.connect_url for cluster in status.clusters}
    answers_at[MASTER] = Ports(status.port_base).spark_url
    for cluster in status.clusters:
        for number, address in enumerate(cluster.bootstrap_servers.split(","), start=1):
            answers_at[f"{cluster.name}-broker-{number}"] = address
    answers_at["airflow-api-server"] = status.airflow.url
    answers_at[vantage.NAME] = f"http://{LOOPBACK}:{Ports(status.port_base).vantage}/CLUSTER"
    table = Table("process", "state", "pid", "answers at", title=f"lab in {status.home}", title_justify="left")
    for process in status.processes:
        state = "[green]running[/]" if process.running else "[red]dead[/]"
        table.add_row(process.name, state, str(process.pid or ""), answers_at.get(process.name, ""))
    return table
