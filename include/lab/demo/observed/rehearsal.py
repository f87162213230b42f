"""The demo of an observed flow from end to end: a lab, somebody else's replication, faults, a report, a judgement."""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from kafka_dr.clusters import ClientSettings, KafkaCluster
from kafka_dr.errors import KafkaDrError
from kafka_dr.routing import FileRouter, Route
from lab.api import Lab
from lab.clusters import EAST, PROTECTION_GROUP, WEST
from lab.credentials import ADMIN
from lab.demo.observed.course import TOPICS, CourseOfFaults
from lab.demo.observed.judge import JudgedFault, judge, judge_spark
from lab.demo.observed.observer import FLOW, ObserverFiles, observe
from lab.demo.observed.others_flow import OBSERVER, OthersFlow
from lab.demo.observed.spark_audits import audit_by_spark
from lab.demo.observed.truth import Truth, lines
from lab.demo.observed.unchanged import differences, quiet
from lab.errors import LabError
from lab.layout import Settings
from lab.processes import uninterrupted
from lab.traffic.control import Traffic
from lab.traffic.logbook import Logbook
from lab.traffic.rates import Rates


@dataclass(frozen=True, slots=True)
class ObservedWishes:
    """What this demo is asked for.

    :param page: the file of the report; ``None``: it is kept as long as the lab
    :param keep: leave the lab running
    :param warm_up_seconds: how long applications work before MirrorMaker starts
    """

    page: Path | None = None
    keep: bool = False
    warm_up_seconds: float = 8.0
    rates: Rates = field(default_factory=Rates)


@dataclass(frozen=True, slots=True)
class ObservedOutcome:
    """What it found.

    :param judged: every fault, and what the report said of it
    :param changed: what changed on the clusters while the flow was observed
    :param sentence: the report's
    """

    judged: tuple[JudgedFault, ...]
    changed: tuple[str, ...]
    sentence: str

    @property
    def good(self) -> bool:
        """Whether each fault was found, nothing else was claimed, and nothing was changed."""
        return all(each.equal for each in self.judged) and not self.changed


class ObservedRehearsal:
    """Runs this demo in one lab, which it makes, and removes at the end.

    :param lab: there is none in its folder yet: faults that another run has left would be found, too
    """

    def __init__(self, lab: Lab, wishes: ObservedWishes, console: Console) -> None:
        self._lab = lab
        self._wishes = wishes
        self._console = console
        self._traffic = Traffic(lab, rates=wishes.rates)

    def run(self) -> ObservedOutcome:
        """Everything, in order.

        :raises LabError: a part of it could not be done at all
        """
        if Settings.read(self._lab.home) is not None:
            raise LabError(
                f"there is a lab in {self._lab.home.root}, and this demo needs a new one: choose another --home, or "
                "run `down --delete` first"
            )
        log = logging.getLogger("kafka_dr")
        with ExitStack() as last:
            last.callback(log.setLevel, log.level)
            log.setLevel(logging.ERROR)  # a busy machine is slow, and here that is no news
            last.callback(self._stop)
            self._up()
            source, target = (last.enter_context(self._reach(each.name)) for each in (EAST, WEST))
            try:
                return self._observed(source, target)
            except KafkaDrError as error:
                raise LabError(str(error)) from error

    def _stop(self) -> None:
        with uninterrupted(), ExitStack() as last:
            if not self._wishes.keep:
                last.callback(self._lab.down, delete=True)
            last.callback(self._traffic.stop)

    def _up(self) -> None:
        self._say("Two clusters, and nothing else of this project: no Connect, no Airflow")
        self._lab.up(
            airflow=False,
            connect=False,
            report=lambda what, seconds: self._did(f"{what} [dim]{seconds:.1f} s[/]"),
        )

    def _observed(self, source: KafkaCluster, target: KafkaCluster) -> ObservedOutcome:
        flow = OthersFlow(self._lab)
        flow.admit()
        self._say(f"Applications on {EAST.name}, and somebody else's dedicated MirrorMaker from there to {WEST.name}")
        self._start_traffic()
        truth = self._course(flow, source, target).run()
        self._note(truth)
        self._say(f"Observed as {OBSERVER}, who may READ, DESCRIBE and DESCRIBE_CONFIGS, and nothing else")
        ends = source, target
        before = [quiet(each) for each in ends]
        folder = self._lab.home.observed
        files = ObserverFiles.written(flow, folder, topics=TOPICS)
        began = time.monotonic()
        audits = audit_by_spark(self._lab, files)
        read = audits.checksum["records_read"]
        self._did(f"Spark has compared {read:,} records [dim]{time.monotonic() - began:.1f} s[/]")
        report = observe(files, page=self._wishes.page or folder / "report.html")
        after = [quiet(each) for each in ends]
        changed = tuple(
            f"{each.name}: {what}"
            for each, old, new in zip(ends, before, after, strict=True)
            for what in differences(old, new)
        )
        self._did(f"{FLOW}: {escape(report['verdict'])}")
        judged = (*judge(truth, report), *judge_spark(truth, audits))
        return ObservedOutcome(judged, changed, report["sentence"])

    def _start_traffic(self) -> None:
        route = Route(PROTECTION_GROUP, EAST.name, EAST.bootstrap(self._lab.settings), 1, datetime.now(UTC))
        FileRouter(self._lab.home.route).switch(expected_epoch=None, route=route)
        self._traffic.start()
        self._did(f"{len(self._traffic.log_paths)} applications write and read")
        time.sleep(self._wishes.warm_up_seconds)

    def _course(self, flow: OthersFlow, source: KafkaCluster, target: KafkaCluster) -> CourseOfFaults:
        return CourseOfFaults(
            flow,
            source,
            target,
            rest=self._traffic.stop,
            bootstrap=WEST.bootstrap(self._lab.settings),
            java_client=self._lab.home.java_client(WEST.name, ADMIN),
            did=self._did,
        )

    def _note(self, truth: Truth) -> None:
        """Keep the truth before anybody looks."""
        with Logbook(self._lab.home.observed / "truth.jsonl", now=time.time) as log:
            for fact in lines((*truth.records, *truth.settings, *truth.groups)):
                log.write("put_in", **fact)

    def _reach(self, cluster: str) -> KafkaCluster:
        return KafkaCluster(cluster, ClientSettings.from_librdkafka(self._lab.client_settings(cluster, ADMIN)))

    def _say(self, what: str) -> None:
        self._console.print(f"\n[bold]{escape(what)}[/]")

    def _did(self, what: str) -> None:
        self._console.print(f"[green]✓[/] {what}")
