"""Audits of many groups and observed flows in one Spark application: one task, one submit, one result for each."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowTaskTimeout

from kafka_dr.causes import mistake
from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.parallel import ask_all
from kafka_dr.quoting import line
from kafka_dr_airflow.links import AuditLink, audit_url
from kafka_dr_airflow.operators.audited_group import AuditedGroup, audited_group
from kafka_dr_airflow.operators.ended_audits import EndedAudits, LeftAudits
from kafka_dr_airflow.operators.flow_audit import (
    TOOK,
    FlowAudit,
    chosen_flow,
    is_present,
    is_whole,
    part_arguments,
    watch_of,
)
from kafka_dr_airflow.operators.kept_results import LookResult, kept_result
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.operators.shared_requests import SharedFolder
from kafka_dr_airflow.operators.spark_job import SparkJobOperator
from kafka_dr_airflow.topology_file import TOPOLOGY

if TYPE_CHECKING:
    from kafka_dr.runs.clients import Clients

#: How many groups are prepared at the same time: one whose register does not answer holds up few others.
_AT_ONCE = 8
#: How the provider says that spark-submit failed.
_EXIT_CODE = re.compile(r"\(exit code (-?\d+)\)")
#: An audit may take so many times as long as the last one of its flow, and never less than the least limit.
_TIMES_THE_LAST = 4
#: How long the registers and the storage may take for what is left when the application has ended.
_REST_SECONDS = 120.0


class SharedAuditsOperator(SparkJobOperator):
    """Submits the audits of some groups' flows as one Spark application, and judges each by itself.

    Each audit is a process of its own with a deadline of its own; all use the same JVM, which starts once. As soon as
    an audit has ended, what it has filed is journaled, its report is judged, and its result is kept: neither another
    audit nor the end of the application or of this task takes that away.

    The task is green if it has a result for every group, whatever the results are: *unknown* is one. It leaves them for
    the task that collects those of all applications, each time that one is added.

    :param protection_groups: the groups and observed flows; if the run names a flow, only that of this flow is audited
    :param audit: ``checksum`` or ``lag``
    :param each: how long one audit may take at least once Spark has started; more if the last one of its flow took long
    :param longest: the most that it may take; the limit of one that somebody asked for, or that reads everything
    :param side_by_side: how many audits run at the same time
    """

    operator_extra_links = (AuditLink(),)

    def __init__(
        self,
        *,
        protection_groups: Sequence[str],
        audit: str,
        each: timedelta = timedelta(minutes=20),
        longest: timedelta = timedelta(hours=6),
        side_by_side: int = 4,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("name", f"kafka-dr {audit} audits of {counted(len(protection_groups), 'group')}")
        super().__init__(job="shared_audits", **kwargs)
        self.protection_groups = list(protection_groups)
        self.audit = audit
        self.each, self.longest = each, longest
        self.side_by_side = side_by_side
        self._results: dict[str, AuditedGroup] = {}
        self._ended: set[str] = set()
        #: Whose result is the newest proof of the group, and not an answer to another question.
        self._kept: set[str] = set()
        self._good: list[tuple[FlowAudit, str]] = []
        self._lock = Lock()

    @property
    def share(self) -> str:
        """Which groups these are, in a few words."""
        first, *others = self.protection_groups
        return f"{first} and {len(others)} more" if others else first

    @fails_plainly
    def execute(self, context: Any) -> list[AuditedGroup]:
        """Audit the flows, judge each report, and keep each result, unless a part or another flow was asked for."""
        from kafka_dr_airflow.task_clients import open_clients

        if is_whole(context["params"]) and not context["params"].get("flow"):
            self._kept.update(self.protection_groups)
        with plain_errors(), open_clients() as clients:
            clients.share_reads()
            found = ask_all(
                lambda group: self._begun(context, group, clients), self.protection_groups, at_most=_AT_ONCE
            )
            begun = [one for one in found.values() if one is not None]
            if begun:
                with tempfile.TemporaryDirectory(prefix="kafka-dr-audits-") as folder:
                    self._audited(context, begun, SharedFolder(Path(folder)), clients)
        for one, at in self._good if is_whole(context["params"]) else ():
            for alias in self.outlets:
                context["outlet_events"][alias].add(one.asset(), extra={"at": at})
        if len(self.protection_groups) == 1:
            self.report_path = str(next(iter(self._results.values()))["facts"].get("report") or "")
        return self._leave(context)

    def at_its_limit(self) -> str:
        """Say which groups have a result all the same, and what to do about the others."""
        over, others = len(self._ended), sorted(set(self.protection_groups) - self._ended)
        return (
            f"its Spark application ({self.name}) was ended. {over} of {len(self.protection_groups)} audits had ended, "
            f"and their results count. Nothing was judged of {', '.join(others)}: look at the load of this worker and "
            "of Spark, and at what the log above shows last of them. The next run asks again"
        )

    def _begun(self, context: Any, group: str, clients: Clients) -> FlowAudit | None:
        """Prepare the audit of a group. A group that cannot be audited now is a result, and harms no other."""
        from kafka_dr_airflow.secrets_file import kafka_entry

        try:
            with plain_errors():
                flow = chosen_flow(group, context["params"].get("flow"), clients, audit=self.audit)
                for end in flow.ends:
                    kafka_entry(end.connection)
                one = FlowAudit.of(flow, self.audit, context)
                one.drop_unrecorded(clients, self.log)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is about this group alone
            self._close(context, group, error)
            return None
        return one

    def _audited(self, context: Any, begun: Sequence[FlowAudit], folder: SharedFolder, clients: Clients) -> None:
        requests = folder.write(
            begun,
            part_arguments(context["params"]),
            seconds=lambda one: self._seconds(context["params"], one),
            side_by_side=self.side_by_side,
        )
        self.application_args = ["--topology", os.environ[TOPOLOGY], "--requests", str(requests)]
        connections = dict.fromkeys(each for one in begun for each in one.connections)
        ended = EndedAudits(begun, folder.has_ended, lambda one: self._finish(context, one, folder, None, clients))
        try:
            with ended.watched(), self.reachable(connections):
                problem = self.submit(context)
        except BaseException as error:
            self.on_kill()
            left = ended.rest(_REST_SECONDS)
            for one in (*left.running, *left.late):
                self._close(context, one.declared.subject, error)
            raise
        self._close_rest(context, ended.rest(_REST_SECONDS), folder, problem, clients)

    def _close_rest(
        self, context: Any, left: LeftAudits, folder: SharedFolder, problem: str | None, clients: Clients
    ) -> None:
        """Deal with audits of an application that stopped without recording a result, and those that take too long."""
        # They may have filed something.
        said = _in_short(problem)
        wordless = EndedAudits(
            left.running, lambda _: True, lambda one: self._finish(context, one, folder, said, clients)
        ).rest(_REST_SECONDS)
        for one in (*left.late, *wordless.late):
            said = f"its result was not journaled within {duration(_REST_SECONDS)} of the end: look at the registers"
            self._close(context, one.declared.subject, AirflowFailException(said))

    def _seconds(self, params: Mapping[str, Any], one: FlowAudit) -> float:
        """Return how long an audit may take: several times what the last one took, whether or not that one ended.

        One that somebody asked for, or that reads everything, may take longer.
        """
        long = bool(params.get("flow") or params.get("full")) or not is_whole(params)
        with suppress(OSError):
            long = long or one.begins_again()
        each, longest = self.each.total_seconds(), self.longest.total_seconds()
        return longest if long else min(longest, max(each, _TIMES_THE_LAST * (one.last_took() or 0.0)))

    def _finish(self, context: Any, one: FlowAudit, folder: SharedFolder, of_all: str | None, clients: Clients) -> None:
        """Journal what an audit has filed, judge its report, and keep its result; whatever goes wrong is a result.

        :param of_all: what is wrong with the whole application
        """
        group, problem, ended = one.declared.subject, folder.problem(one, of_all), folder.ended(one)
        seconds = ended.seconds if ended else None
        if is_whole(context["params"]) and group not in self._kept and is_present(one.declared, clients):
            self._kept.add(group)
        try:
            with self._keeping(context, group) as kept:
                one.record(clients)
                try:
                    found = one.judge(problem, kept, self.log)
                finally:
                    kept.facts = {**kept.facts, **({TOOK: seconds} if seconds else {})}
            self.log.info("%s: its report: %s", line(group), audit_url(found["report"]))
            self._good.append((one, found["at"]))
        except AirflowException as error:
            self.log.error("%s", line(error))
        except Exception as error:
            self.log.exception("%s: what its audit found could not be dealt with", one.name)
            self._close(context, group, error)
        self._ended.add(group)
        self._leave(context)

    def _close(self, context: Any, group: str, error: BaseException) -> None:
        """Keep why a group has no result of an audit."""
        with suppress(AirflowException, AirflowTaskTimeout), self._keeping(context, group):
            self.log.info("%s: %s", line(group), line(error))
            if isinstance(error, AirflowException | AirflowTaskTimeout):
                raise error
            raise AirflowFailException(mistake(error))
        self._leave(context)

    @contextmanager
    def _keeping(self, context: Any, group: str) -> Iterator[LookResult]:
        """Yield what becomes the result of a group: whatever ends the block, it is kept and handed on."""
        found, keeps = LookResult(), group in self._kept
        try:
            watch = watch_of(self.audit)
            with kept_result(self.log, context, group=group, watch=watch, keeps=keeps) as found:
                yield found
        finally:
            self._results[group] = audited_group(group, found, kept=keeps)

    def _leave(self, context: Any) -> list[AuditedGroup]:
        """Leave the results so far for the task that collects them: they are there if this task is killed, too."""
        with self._lock:
            left = [each for _, each in sorted(self._results.items())]
            try:
                context["ti"].xcom_push(key="return_value", value=left)
            except Exception as error:  # noqa: BLE001 - what is returned at the end has all of them
                self.log.warning("The results so far could not be left for the next task: %s", line(error))
        return left


def _in_short(problem: str | None) -> str | None:
    """Return what is wrong with an application without its last lines, which are about other audits."""
    if problem is None or (code := _EXIT_CODE.search(problem)) is None:
        return problem
    return (
        f"its Spark application ended (exit code {code[1]}) before this audit did, and nothing was judged: look at "
        "what the log of this task shows last, and at the memory of the worker; the next run asks again"
    )
