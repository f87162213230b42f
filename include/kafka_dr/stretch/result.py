"""What one look at a stretch cluster found: one verdict, one sentence, and everything as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC
from typing import Any, Literal

from kafka_dr.counted import counted
from kafka_dr.stretch.delay import SiteDelay
from kafka_dr.stretch.facts import StretchFacts
from kafka_dr.stretch.findings import StretchFinding
from kafka_dr.stretch.what_if import PartitionFate, SiteLoss

StretchVerdict = Literal["ok", "warning", "failed", "unknown"]
_WORST_FIRST: tuple[StretchVerdict, ...] = ("failed", "unknown", "warning")
#: So many partitions are shown one by one for each site; the counts are of all.
_MOST_ROWS = 500


@dataclass(frozen=True, slots=True)
class StretchLook:
    """What one look found.

    :param losses: of each site
    :param delays: between sites; empty if the topology does not say how to measure them
    :param command: makes the topic that delays are measured with; empty likewise
    """

    facts: StretchFacts
    losses: tuple[SiteLoss, ...]
    findings: tuple[StretchFinding, ...]
    delays: tuple[SiteDelay, ...] = ()
    command: str = ""

    @property
    def verdict(self) -> StretchVerdict:
        """The worst of the findings. Unknown is never good."""
        levels = {each.level for each in self.findings}
        return next((each for each in _WORST_FIRST if each in levels), "ok")

    @property
    def sentence(self) -> str:
        """The answer."""
        name, number = self.facts.name, counted(len(self.facts.partitions), "partition")
        bad = [each for each in self.findings if each.level == self.verdict]
        if self.verdict in ("ok", "warning"):
            return (
                f"Any one site of {name} may be lost: the quorum lives, and each of {number} continues, writes with "
                "acks=all included."
            )
        if all(each.harmless for each in self.losses) and self.verdict == "unknown":
            return (
                f"By its metadata any one site of {name} may be lost, but not everything is known: {bad[0].sentence}."
            )
        first, rest = max(bad, key=lambda each: each.weight), len(bad) - 1
        more = f" {counted(rest, 'more thing')} {'is' if rest == 1 else 'are'} " if rest else ""
        said = first.sentence[:1].upper() + first.sentence[1:]
        return f"{said}.{more}{('wrong' if self.verdict == 'failed' else 'not known') + '.' if rest else ''}"

    @property
    def site_rows(self) -> list[dict[str, Any]]:
        """A row for each site, as the command and the pages show it."""
        return [_site_row(self.facts, each) for each in self.losses]

    def to_json(self, *, whole: bool = True) -> dict[str, Any]:
        """Return what was found as plain values.

        :param whole: with each partition; else with those alone that a loss stops, or that refuse writes then: a report
            is kept each hour, and a cluster may have many thousands
        """
        facts = self.facts
        return {
            "schema_version": 1,
            "cluster": facts.name,
            "cluster_id": facts.cluster_id,
            "at": facts.at.astimezone(UTC).isoformat(),
            "verdict": self.verdict,
            "sentence": self.sentence,
            "sites": self.site_rows,
            "findings": [_finding(each) for each in self.findings],
            "delays": [{**asdict(each), "pair": " → ".join(each.pair)} for each in self.delays],
            "affected": [
                {"site": each.site, **row}
                for each in self.losses
                for row in _fates(facts, [fate for fate in each.fates if fate.outcome != "continues"][:_MOST_ROWS])
            ],
            "if_lost": {each.site: _loss(facts, each, whole=whole) for each in self.losses},
            "follower_fetching": facts.follower_fetching,
            "acks": facts.acks,
        }


def _site_row(facts: StretchFacts, loss: SiteLoss) -> dict[str, Any]:
    refuses, grown = loss.of("refuses"), loss.largest_load
    return {
        "site": loss.site,
        "brokers": [*loss.brokers],
        "controllers": [each.node for each in facts.voters or () if each.site == loss.site],
        "stops": len(loss.of("stops")),
        "refuses": len(refuses),
        "refuses_for_now": sum(each.until == "caught_up" for each in refuses),
        "unknown": len(loss.of("unknown")),
        "leaders_that_move": sum(each.moves for each in loss.fates),
        "quorum": loss.quorum,
        "largest_load": None if grown is None else round(grown, 2),
        "verdict": "ok" if loss.harmless else "unknown" if not _is_bad(loss) else "failed",
    }


def _is_bad(loss: SiteLoss) -> bool:
    return bool(loss.of("stops") or loss.of("refuses") or loss.quorum == "stops" or any(e.loses for e in loss.fates))


def _finding(found: StretchFinding) -> dict[str, Any]:
    return {
        "level": found.level,
        "about": found.about,
        "sentence": found.sentence,
        "partitions": [*map(str, found.partitions[:_MOST_ROWS])],
    }


def _loss(facts: StretchFacts, loss: SiteLoss, *, whole: bool) -> dict[str, Any]:
    fates = sorted(loss.fates, key=lambda each: each.outcome == "continues")
    return {
        "quorum": loss.quorum,
        "voters_lost": loss.voters[0],
        "voters": loss.voters[1],
        "caveats": [*loss.caveats],
        "load": [asdict(each) for each in loss.load],
        **({"partitions": _fates(facts, fates)} if whole else {}),
    }


def _fates(facts: StretchFacts, fates: Iterable[PartitionFate]) -> list[dict[str, Any]]:
    placed = {each.partition: each for each in facts.partitions}
    return [
        {
            "topic": each.partition.topic,
            "partition": each.partition.partition,
            "outcome": each.outcome,
            "until": each.until,
            "leader_before": each.was,
            "leader_after": each.leader,
            "reason": each.reason,
            "loses_records": each.loses,
            "replicas": [*placed[each.partition].replicas],
            "in_sync": [*placed[each.partition].in_sync],
            "min_in_sync": placed[each.partition].min_in_sync,
        }
        for each in fates
    ]
