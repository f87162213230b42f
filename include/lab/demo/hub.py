"""Hub and spoke: two clusters take writes, and two hubs hold copies of both for readers.

A report waits until a hub is complete: not for a spoke that nobody writes to, but for one that is cut off. Readers of
one hub move to the other and back; the other hub is lost, and its readers continue on the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from lab import airflow_home
from lab.api import Lab
from lab.clusters import PROTECTION_GROUP, clients_of
from lab.demo.active_active import MembersRehearsal
from lab.demo.airflow_rest import AirflowApi, new_run
from lab.demo.asked import asked, written_files
from lab.demo.disaster import CANARY
from lab.demo.failover_run import FailoverRun
from lab.demo.options import DemoOptions
from lab.errors import LabError

HUB_CLUSTERS = 4
AUDIT, REPORT = "dr_checksum_audit", "report_of_the_day"
_ASK_SECONDS, _AUDIT_SECONDS, _REPORT_SECONDS = 60.0, 600.0, 120.0


class HubRehearsal(MembersRehearsal):
    """Runs the demonstration of hub and spoke in one lab."""

    dags: tuple[str, ...] = (*MembersRehearsal.dags, AUDIT, REPORT)

    def __init__(self, lab: Lab, wishes: DemoOptions, console: Console) -> None:
        super().__init__(lab, wishes, console)
        lab.spark_niceness = 0  # somebody waits for these audits

    def _fail_over(
        self, operator: AirflowApi, approvers: Sequence[AirflowApi]
    ) -> tuple[tuple[FailoverRun, ...], str | None]:
        """Let a report wait for the spokes, then move readers, and lose a hub."""
        self._report(operator)
        return super()._fail_over(operator, approvers)

    def _report(self, operator: AirflowApi) -> None:
        """Trigger a report while one spoke is silent and another one cut off.

        :raises LabError: it does not wait for the one that is cut off, or waits for the silent one
        """
        hub = self._lab.settings.hubs[0]
        cut_off, silent = (name for name in self._lab.settings.names if name not in self._lab.settings.hubs)
        for spoke in (cut_off, silent):
            self._audit(operator, spoke, hub, expected="success")
        self._say(f"A report on {hub}: nobody writes to {silent} any more, and {cut_off} is cut off")
        self._fleets[silent].stop(drain_seconds=1.0)
        self._lab.cut(cut_off)
        try:
            wanted = datetime.now(UTC)
            run = new_run()
            operator.trigger(REPORT, run, {"hub": hub, "up_to": wanted.isoformat()})
            self._canaries(operator, silent, cut_off, hub)
            self._audit(operator, silent, hub, expected="success")
            self._audit(operator, cut_off, hub, expected="failed")
            if (known := self._complete(hub, wanted)) != {silent}:
                raise LabError(f"{hub} is complete up to {wanted} for {sorted(known)}, and not for {silent} alone")
            if (state := operator.run_state(REPORT, run)) != "running":
                raise LabError(f"the report was {state} although {cut_off} was cut off")
            self._did(f"the report waits for {cut_off}")
        finally:
            self._lab.heal(cut_off)
        self._say(f"{cut_off} can be reached again")
        self._audit(operator, cut_off, hub, expected="success")
        state = operator.wait_for_end(REPORT, run, seconds=_REPORT_SECONDS)
        if state != "success":
            raise LabError(f"the report ended as {state}: see {operator.page(REPORT, run)}")
        self._complete(hub, wanted)
        self._did(f"the report of {wanted:%H:%M:%S} UTC has run")
        self._fleets[silent].start()

    def _canaries(self, operator: AirflowApi, silent: str, cut_off: str, hub: str) -> None:
        """Show what the canary says of either spoke: by it one knows one from the other."""
        self._watch(operator)
        self._did(f"{CANARY} of {silent}: {self._canary(silent, hub)}")
        self._did(f"{CANARY} of {cut_off}: {self._canary(cut_off, hub)}")

    def _canary(self, spoke: str, hub: str) -> str:
        said, _ = self._ask("status", "--group", clients_of(spoke))
        (found,) = said["groups"]
        lines = {line["name"]: line for line in found.get("standbys", ())}
        return str(lines[hub]["canary"]) if hub in lines else "not known"

    def _audit(self, operator: AirflowApi, spoke: str, hub: str, *, expected: str) -> None:
        """Audit what a hub holds of a spoke."""
        flow = f"{clients_of(spoke)}.{spoke}-to-{hub}"
        state, page = operator.run_to_end(AUDIT, {"flow": flow}, seconds=_AUDIT_SECONDS)
        if state != expected:
            raise LabError(f"{AUDIT} of {flow} ended as {state}, not {expected}: see {page}")
        self._did(f"{AUDIT} {flow} [dim]{state}[/]")

    def _complete(self, hub: str, wanted: datetime) -> set[str]:
        """Return the spokes for which a hub is complete up to a time, as the command says it."""
        rows, _ = self._ask("complete", PROTECTION_GROUP, hub)
        for row in rows:
            at = row["complete_up_to"] or f"a time that is not known ({row['why_not_known']})"
            self._did(f"{hub} is complete up to {at} for {row['spoke']}")
        known = {row["spoke"]: row["complete_up_to"] for row in rows}
        return {spoke for spoke, at in known.items() if at and datetime.fromisoformat(at) >= wanted}

    def _ask(self, *arguments: str) -> Any:
        files = written_files(self._lab.environ["KAFKA_DR_TOPOLOGY"], airflow_home.connections_file(self._lab.home))
        return asked(*arguments, environ=self._lab.environ | files, seconds=_ASK_SECONDS)
