"""The round of health: it looks at every group, judges readiness again, and then listens for half of the minute."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import AssetAlias

from kafka_dr.quoting import line
from kafka_dr_airflow.operators.kept_results import results_of
from kafka_dr_airflow.operators.open_runs import list_ended_runs
from kafka_dr_airflow.operators.readiness_again import judge_readiness_again
from kafka_dr_airflow.operators.rounds import RUN_ENDED, RoundOperator
from kafka_dr_airflow.operators.run_types import is_scheduled

if TYPE_CHECKING:
    from kafka_dr.runs.at_rest import WatchResult
    from kafka_dr.topology.model import Topology
    from kafka_dr.watch_results import KeptResult

#: Facts that people have to hear of when they change.
_NEWS = ("silent", "fence_missing", "phase", "run", "open_checks")


class HealthRound(RoundOperator):
    """Checks that each cluster is in the role that the register says. Fences a cluster that returned.

    A scheduled run that found nothing new then asks each cluster every few seconds whether it still answers, and looks
    again at the groups of one that fell silent, or returned. So people see both within a minute.

    Its outlets are updated by each run, but an alias only if the clusters have to be asked again for readiness.
    """

    watch, look = "health", "kafka_dr.rounds.looks:health"
    seconds = 50.0

    def due(self, topology: Topology, context: Any) -> list[str]:
        """Return every group: a cluster that returns is fenced within a minute, whatever the pace of its groups is."""
        return sorted(topology.protection_groups)

    def looked_and_kept(
        self, topology: Topology, groups: Collection[str], context: Any, *, seconds: float | None = None
    ) -> Mapping[str, WatchResult]:
        """Look, judge readiness again, and look once more if a cluster changes soon after."""
        list_ended_runs(self.log)
        began, before = datetime.now(UTC), results_of(self.log, topology, self.watch)
        found = super().looked_and_kept(topology, groups, context, seconds=seconds)
        outdated = self._judge(context)
        if outdated or not is_scheduled(context["dag_run"]) or _has_news(before, found.values()):
            return found
        if not (changed := self._changed(topology, found, context, began)):
            return found
        left = self.seconds - (datetime.now(UTC) - began).total_seconds()
        self.log.info("%s changed since the look, so their groups are looked at again", ", ".join(sorted(changed)))
        theirs = [name for name in groups if changed.intersection(topology.group(name).clusters)]
        again = super().looked_and_kept(topology, theirs, context, seconds=left)
        self._judge(context)
        return {**found, **again}

    def _judge(self, context: Any) -> tuple[str, ...]:
        """Judge readiness again with what was found: people are notified of it within a minute."""
        outdated = judge_readiness_again(self.log)
        for alias in (each for each in self.outlets if outdated and isinstance(each, AssetAlias)):
            context["outlet_events"][alias].add(RUN_ENDED, extra={"groups": outdated})
        return outdated

    def _changed(
        self, topology: Topology, found: Mapping[str, WatchResult], context: Any, began: datetime
    ) -> frozenset[str]:
        """Return the clusters that fall silent or return while this run listens. What it cannot hear is no change."""
        from kafka_dr.health import between_looks
        from kafka_dr.rounds.looks import BETWEEN, CHANGED

        seconds = between_looks.seconds_to_listen(began, datetime.now(UTC))
        asked = between_looks.one_of_each(topology, found)
        if seconds < between_looks.LEAST_SECONDS or not asked:
            return frozenset()
        known, limit = between_looks.heard_in(found.values()), seconds + between_looks.LAST_ANSWER_SECONDS
        heard = self.looked_at(
            self.round_of(topology, asked, context, look=BETWEEN, seconds=limit, settings=known), asked
        )
        for each in heard.values():
            if each.outcome != "ok":
                self.log.warning("Whether clusters still answer is not known: %s", line(each.summary))
        return frozenset(name for each in heard.values() for name in each.facts.get(CHANGED, ()))


def _has_news(before: Mapping[str, KeptResult], found: Iterable[WatchResult]) -> bool:
    """Return whether a look found anything that nobody knew: people hear of it as soon as the task has ended."""
    return any(_is_news(before.get(each.group), each) for each in found)


def _is_news(before: KeptResult | None, now: WatchResult) -> bool:
    from kafka_dr.rounds.looks import PROPOSES

    if before is None or before.outcome != now.outcome or now.facts.get(PROPOSES):
        return True
    return any(before.facts.get(key) != now.facts.get(key) for key in _NEWS)
