"""Takes the pictures of the README and the guide, on a lab that runs, is well, and has moved its group.

``PYTHONPATH=include:plugins:tests python3 -m support.pictures LAB_HOME``, for example after ``include/lab demo --yes
--keep``.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_dr.watch_results import WatchResultStore, read_status
from kafka_dr_airflow.links import question_url
from lab.api import Lab
from lab.layout import PROJECT
from support.airflow_lab import AirflowSession
from support.browser import Page, chromium
from support.small_png import small_png

PICTURES = PROJECT / "include" / "screenshots"
GROUP, MOVE = "orders", "dr_planned_failover"
#: What has to have looked once before the page can be green; then readiness judges what these found.
FIRST = ("flows", "canary", "checksum_audit", "lag_audit", "config_sync", "offsets", "offset_syncs", "health")
WELL = "document.querySelector('.verdict')?.innerText === 'WELL'"
LOADED = "!window.before && document.readyState === 'complete' && document.querySelector('main')"


def main(folder: Path) -> None:
    """Let every watch look, wait until all is well, ask for a failover, and keep what a person sees."""
    lab, evidence = Lab(folder), Lab(folder).home.root / "evidence"
    health = read_status([GROUP], WatchResultStore(evidence), datetime.now(UTC))[0].of("health").result
    assert health is not None
    read_everything(lab, str(health.facts["active"]))
    admin, alice = AirflowSession(lab, "admin"), AirflowSession(lab, "alice")
    for dag in (f"dr_{name}" for name in (*FIRST, "readiness")):
        assert admin.ended(dag, run := admin.trigger(dag)) == "success", admin.why(dag, run)
    moved = max(path.parent.name for path in evidence.glob(f"runs/{GROUP}/*/*-start_reverse_flow.*.json"))
    reports = evidence.glob(f"audits/{GROUP}/checksum/*/*/report.json")
    audit = max((path.parent for path in reports), key=lambda path: path.name).relative_to(evidence)
    with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as page:
        page.log_in(str(alice.http.base_url), alice.token)
        shown = {"status": "status", "phone": "status"}
        _taken(page, alice, shown, wait=WELL)
        shown = {
            "run": f"evidence/{GROUP}/{moved}?reload=false",
            "readiness": f"results/{GROUP}/readiness",
            "audit": quote(str(audit)),
        }
        _taken(page, alice, shown)
        run = admin.trigger(MOVE, protection_group=GROUP, reason="the racks of the active cluster get new power")
        admin.question(MOVE, run)
        _taken(page, alice, {"approval": question_url(MOVE, GROUP, run).partition("/kafka-dr/")[2]})
        assert alice.answer(MOVE, run, "Reject", {"reason": "these were only pictures"}).is_success


def read_everything(lab: Lab, active: str) -> None:
    """Put every consumer group at the end of its topics, where a demonstration has left some in the middle."""
    settings = lab.client_settings(active, "admin")
    client, ends = AdminClient(settings), Consumer({**settings, "group.id": "pictures"})
    names = [each.group_id for each in client.list_consumer_groups().result().valid]
    for name in (each for each in names if each.startswith((GROUP, "billing"))):
        (asked,) = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)]).values()
        found = asked.result().topic_partitions
        at_end = [TopicPartition(each.topic, each.partition, ends.get_watermark_offsets(each)[1]) for each in found]
        (done,) = client.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(name, at_end)]).values()
        done.result()
    ends.close()


def _taken(page: Page, session: AirflowSession, pages: Mapping[str, str], *, wait: str = LOADED) -> None:
    """Keep a picture of each of these pages, by its name; no higher than the page is."""
    for name, path in pages.items():
        width, most = (390, 760) if name == "phone" else (900, 760)
        page.resize(width, most)
        page.ask("window.before = true")
        page.go(f"{session.http.base_url}/kafka-dr/{path}")
        page.wait(LOADED)
        page.wait(wait)
        page.resize(width, min(most, int(page.ask("document.querySelector('main').getBoundingClientRect().bottom"))))
        page.picture(PICTURES / f"{name}.png")
        (PICTURES / f"{name}.png").write_bytes(small_png((PICTURES / f"{name}.png").read_bytes()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
