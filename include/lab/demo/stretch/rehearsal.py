"""The demo of a stretch cluster from end to end: a cluster, writers, a prediction, the loss of a site, a judgement."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from lab.credentials import ADMIN
from lab.demo.stretch.happened import ClusterNow, GroupCommits, PartitionNow
from lab.demo.stretch.judge import JudgedPartition, losses, outcome, wrong_leaders, wrong_load
from lab.demo.stretch.placed import DELAY, PREFIX, WELL, DemoTopic, topics_for
from lab.demo.stretch.product import ALL, OBSERVER, PROBE, RIGHTS, WELL_PLACED, WRITER, Product
from lab.demo.stretch.writers import Partition, Writers
from lab.errors import LabError
from lab.processes import uninterrupted
from lab.stretch import StretchedCluster

_NOTICED_SECONDS, _BACK_SECONDS = 90.0, 180.0
#: How long writers are watched, once the cluster knows of the loss: what continues has acknowledged again by then.
_WATCHED_SECONDS, _LAST_SECONDS = 12.0, 5.0


@dataclass(frozen=True, slots=True)
class StretchOutcome:
    """What it found.

    :param judged: every partition that somebody writes to
    :param wrong: everything else that was not as predicted
    :param delays: between sites, as the product measured them
    """

    lost: str
    judged: tuple[JudgedPartition, ...]
    wrong: tuple[str, ...]
    delays: tuple[Mapping[str, Any], ...]

    @property
    def good(self) -> bool:
        """Whether every prediction was right."""
        return bool(self.judged) and not self.wrong and all(each.right for each in self.judged)


@dataclass(frozen=True, slots=True)
class _Aftermath:
    """What was seen while the site was lost."""

    partitions: Mapping[Partition, PartitionNow]
    tried: Mapping[Partition, str]
    since: float
    until: float


class StretchRehearsal:
    """Runs this demo in a folder of its own, and removes everything at the end.

    :param keep: leave the cluster running
    :param warm_up_seconds: how long writers work before the site is killed
    """

    def __init__(
        self, folder: Path, console: Console, *, port_base: int, keep: bool = False, warm_up_seconds: float = 8.0
    ) -> None:
        principals = (OBSERVER, PROBE, WRITER)
        self._cluster = StretchedCluster.prepare(folder, port_base=port_base, principals=principals)
        self._console, self._keep, self._warm_up = console, keep, warm_up_seconds
        self._folder = self._cluster.context.home.root / "stretch"
        settings = {name: self._cluster.client_settings(name) for name in (*principals, ADMIN)}
        self._now = ClusterNow(settings[ADMIN])
        self._writer_settings = settings[WRITER]
        self._product = Product(self._folder, settings)
        self._wrong: list[str] = []

    def run(self) -> StretchOutcome:
        """Everything, in order.

        :raises LabError: a part of it could not be done at all
        """
        if self._cluster.supervisor.names():
            raise LabError(
                f"there is a lab in {self._cluster.context.home.root}, and this demo needs a new one: choose another "
                "--home, or run `down --delete` first"
            )
        with ExitStack() as last:
            last.callback(self._stop)
            self._say("One cluster over three sites, with two brokers and one controller in each")
            began = time.monotonic()
            self._cluster.start(RIGHTS)
            self._did("6 brokers answer", began)
            lost = self._controllers_site()
            topics = topics_for({site: [n.number for n in nodes] for site, nodes in self._cluster.sites.items()}, lost)
            self._now.create(topics)
            self._did(f"{len(topics)} topics, some placed badly on purpose; {lost} has the active controller")
            return self._course(lost, topics, last)

    def _course(self, lost: str, topics: tuple[DemoTopic, ...], last: ExitStack) -> StretchOutcome:
        written = [(topic.name, number) for topic in topics if topic.name != DELAY for number in _numbers(topic)]
        commits = GroupCommits(self._writer_settings, f"{PREFIX}readers", (WELL, 0))
        self._check("a consumer group commits", commits.commit(1, seconds=60))
        writers = Writers.of(written, self._writer_settings, self._folder / "acknowledged.jsonl")
        last.callback(writers.stop)
        writers.start()
        time.sleep(self._warm_up)
        self._did(f"{len(written)} writers, each to one partition, with acks=all and idempotence")

        self._say("The prediction, by `kafka_dr stretch` as a principal that may only look")
        self._product.write()
        before, well = self._product.asked(ALL), self._product.asked(WELL_PLACED)
        predicted = before["if_lost"][lost]
        self._did(before["sentence"])
        self._check("what is placed well is green", well["exit_code"] == 0)
        self._check("what is placed badly is not", before["exit_code"] == 1)

        after = self._killed(lost, written, writers)
        self._judge_cluster(lost, predicted, after, commits)
        self._back(lost, before)
        writers.stop()
        contents = self._now.contents(written)
        self._did(f"{sum(map(len, contents.values())):,} records read from the logs")
        rows = {(row["topic"], row["partition"]): row for row in predicted["partitions"]}
        judged = []
        for partition in written:
            writer, row, now = writers.each[partition], rows[partition], after.partitions[partition]
            recent = writer.acknowledged_in(after.until - _LAST_SECONDS, after.until)
            missing, doubled = losses(writer.acknowledged, contents[partition])
            judged.append(
                JudgedPartition(
                    partition,
                    row["outcome"],
                    outcome(now, after.tried.get(partition, "not tried"), recent),
                    row["leader_after"],
                    now.leader,
                    writer.longest_gap(after.since, after.until),
                    len(writer.acknowledged),
                    missing,
                    doubled,
                )
            )
        return StretchOutcome(lost, tuple(judged), tuple(self._wrong), tuple(before["delays"]))

    def _killed(self, lost: str, written: list[Partition], writers: Writers) -> _Aftermath:
        self._say(f"{lost} is killed under load")
        dead = {node.number for node in self._cluster.sites[lost]}
        since = time.monotonic()
        self._cluster.kill(lost)

        def noticed() -> bool:
            up, partitions = self._now.seen()
            return not up & dead and all(each.leader not in dead for each in partitions.values())

        self._wait(noticed, _NOTICED_SECONDS, "the cluster did not notice the loss")
        self._did("no lost broker leads any more", since)
        time.sleep(_WATCHED_SECONDS)
        until = time.monotonic()
        _, partitions = self._now.seen()
        led = [each for each in written if partitions[each].leader is not None]
        tried = self._now.tried(led)
        acknowledged = sum(each.acknowledged_in(since, until) for each in writers.each.values())
        self._did(f"{acknowledged:,} records were acknowledged without {lost}")
        return _Aftermath(partitions, tried, since, until)

    def _judge_cluster(self, lost: str, predicted: Mapping[str, Any], after: _Aftermath, commits: GroupCommits) -> None:
        self._wrong += wrong_leaders(predicted, after.partitions) + wrong_load(predicted, after.partitions)
        lives = self._quorum_lives(lost)
        self._check("the quorum is as predicted", lives == (predicted["quorum"] == "lives"))
        self._check("the consumer group still commits", commits.commit(2, seconds=30))
        down = self._product.asked(WELL_PLACED)
        self._check("the product says that brokers are down", down["exit_code"] == 1)

    def _quorum_lives(self, lost: str) -> bool:
        """Only a controller with a majority creates a topic."""
        left = [nodes[0].number for site, nodes in self._cluster.sites.items() if site != lost]
        try:
            self._now.create([DemoTopic(f"{PREFIX}made-without-{lost}", 2, (tuple(left),))])
        except LabError:
            return False
        return True

    def _back(self, lost: str, before: Mapping[str, Any]) -> None:
        self._say(f"{lost} comes back")
        began = time.monotonic()
        self._cluster.bring_back(lost)

        def whole() -> bool:
            _, partitions = self._now.seen()
            return all({*each.in_sync} == {*each.replicas} and each.leader for each in partitions.values())

        self._wait(whole, _BACK_SECONDS, "not every replica is in sync again")
        self._did("every replica is in sync again", began)
        well, again = self._product.asked(WELL_PLACED), self._product.asked(ALL)
        self._check("what is placed well is green again", well["exit_code"] == 0)
        made = {each["sentence"] for each in again["findings"] if each["about"] == "replicas"}
        was = {each["sentence"] for each in before["findings"] if each["about"] == "replicas"}
        self._check("nothing new is wrong with replicas", made == was)

    def _controllers_site(self) -> str:
        """The site with the active controller: its loss is the hardest, because the quorum has to elect as well."""
        active = self._now.active_controller()
        return next(site for site, nodes in self._cluster.sites.items() if active in {n.number for n in nodes})

    def _wait(self, holds: Callable[[], bool], seconds: float, otherwise: str) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                raise LabError(f"{otherwise} within {seconds:.0f} s")
            time.sleep(0.5)

    def _check(self, what: str, holds: bool) -> None:
        if holds:
            self._did(what)
        else:
            self._wrong.append(f"not so: {what}")

    def _stop(self) -> None:
        if not self._keep:
            with uninterrupted():
                self._cluster.stop(delete=True)

    def _say(self, what: str) -> None:
        self._console.print(f"\n[bold]{escape(what)}[/]")

    def _did(self, what: str, began: float | None = None) -> None:
        took = "" if began is None else f" [dim]{time.monotonic() - began:.1f} s[/]"
        self._console.print(f"[green]✓[/] {escape(what)}{took}", soft_wrap=True)


def _numbers(topic: DemoTopic) -> range:
    return range(len(topic.replicas))
