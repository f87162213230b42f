"""Kafka Connect's REST API: connectors, their state and their offsets. Every call has a deadline."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import quote

import httpx

from kafka_dr.causes import java_cause
from kafka_dr.clock import Clock
from kafka_dr.durations import duration
from kafka_dr.errors import ConnectionMistake, KafkaDrError, OutcomeUnknown, Refused, TryAgain
from kafka_dr.http_endpoint import HttpEndpoint, connection_problem, unanswered
from kafka_dr.replication.connector_status import ConnectorState, ConnectorStatus, TaskStatus, failure_in, state_in
from kafka_dr.replication.flow import FlowNotFound
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until

#: Connect's answer while its resources are not registered yet. For a missing connector the answer names it.
_NOT_YET = "HTTP 404 Not Found"
#: How a worker's 500 begins that could not read the newest configuration in time, and so has not begun what was asked.
_NOT_BEGUN = "Failed to read to end of config topic before "
#: What a worker's 500 names that cannot fence the tasks of a connector, because it never had any (Connect 4.3.1, a
#: NullPointerException in DistributedHerder.doFenceZombieSourceTasks).
_NO_TASKS_EVER = "taskConfigGeneration"


class ConnectUnreachable(TryAgain):
    """Connect did not answer, or is rebalancing and cannot accept requests at the moment."""


class ConnectorNotFound(FlowNotFound):
    """There is no connector of that name."""


class ConnectRefused(Refused):
    """Connect understood the request and will not do it."""


class ConnectorNeverRan(OutcomeUnknown):
    """Connect cannot change the offsets of a connector that was stopped again before it ever had a task."""


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """One entry of a source connector's offsets.

    :param offset: what the connector keeps for that partition; ``None`` removes it
    """

    partition: Mapping[str, object]
    offset: Mapping[str, object] | None


class ConnectClient:
    """Asks one Connect cluster.

    A request that Connect turns down because it is rebalancing was not carried out: it is sent again until the
    deadline. A change that was sent and not answered is an :class:`OutcomeUnknown`.

    :param endpoint: where it is
    :param clock: for deadlines
    :param request_seconds: the deadline of one call
    """

    def __init__(self, endpoint: HttpEndpoint, *, clock: Clock, request_seconds: float = 10.0) -> None:
        self.endpoint = endpoint
        self._clock = clock
        self._seconds = request_seconds
        auth = (endpoint.username, endpoint.password or "") if endpoint.username else None
        self._http = httpx.Client(
            base_url=endpoint.base_url.rstrip("/"),
            auth=auth,
            headers=endpoint.headers,
            # Without HTTPS no certificate is checked, and loading the system's authorities is slow: none are trusted.
            verify=endpoint.tls_context() or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            trust_env=False,
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> ConnectClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def connectors(self) -> tuple[str, ...]:
        """Return the names of all connectors."""
        return tuple(sorted(self._ask("GET", "/connectors", "list the connectors")))

    def config(self, name: str) -> dict[str, str] | None:
        """Return a connector's configuration, or ``None`` where there is no such connector."""
        try:
            found = self._ask("GET", _path(name, "/config"), f"read the configuration of {name}")
        except ConnectorNotFound:
            return None
        return {key: str(value) for key, value in found.items()}

    def status(self, name: str) -> ConnectorStatus:
        """Return the state of a connector and its tasks; state ``absent`` where there is none.

        A worker may report the state of a deleted connector once more, so a state alone does not prove that the
        connector exists.
        """
        try:
            expected = len(self._ask("GET", _path(name), f"count the tasks of {name}")["tasks"])
            found = self._ask("GET", _path(name, "/status"), f"read the state of {name}")
        except ConnectorNotFound:
            return ConnectorStatus(name, "absent")
        tasks = (
            TaskStatus(int(task["id"]), state_in(task), str(task.get("worker_id", "")), failure_in(task))
            for task in found.get("tasks", ())
        )
        connector = found["connector"]
        return ConnectorStatus(name, state_in(connector), tuple(tasks), failure_in(connector), expected)

    def refused_settings(self, kind: str, config: Mapping[str, str]) -> dict[str, str]:
        """Return what a worker has against a configuration, by setting; empty if it would take it. Nothing is created.

        :param kind: the class of the connector
        """
        path = f"/connector-plugins/{quote(kind, safe='')}/config/validate"
        found = self._ask("PUT", path, f"ask about the configuration of {config['name']}", dict(config))
        values = (each["value"] for each in found["configs"])
        return {str(each["name"]): java_cause(str(each["errors"][0])) for each in values if each["errors"]}

    def create(self, name: str, config: Mapping[str, str], *, stopped: bool = True) -> None:
        """Create a connector.

        :param stopped: create it without tasks, so that its offsets can be set before it moves anything
        :raises ConnectRefused: it exists already, or its configuration is wrong
        """
        body = {"name": name, "config": dict(config), "initial_state": "STOPPED" if stopped else "RUNNING"}
        self._ask("POST", "/connectors", f"create {name}", body)

    def update(self, name: str, config: Mapping[str, str]) -> None:
        """Replace the configuration of a connector; it stays stopped if it was stopped."""
        self._ask("PUT", _path(name, "/config"), f"update {name}", dict(config))

    def stop(self, name: str) -> None:
        """Ask for a connector to be stopped. It is when :meth:`wait_for` says so; its tasks need a moment to end."""
        self._ask("PUT", _path(name, "/stop"), f"stop {name}")

    def resume(self, name: str) -> None:
        """Ask for a connector to run."""
        self._ask("PUT", _path(name, "/resume"), f"resume {name}")

    def pause(self, name: str) -> None:
        """Ask for a connector to be paused: it keeps its tasks and copies nothing."""
        self._ask("PUT", _path(name, "/pause"), f"pause {name}")

    def restart_failed(self, name: str) -> None:
        """Restart the connector and those of its tasks that failed; what runs is left alone."""
        path = _path(name, "/restart?includeTasks=true&onlyFailed=true")
        self._ask("POST", path, f"restart the failed tasks of {name}")

    def delete(self, name: str) -> None:
        """Delete a connector. Its offsets stay. One that is not there is no error."""
        try:
            self._ask("DELETE", _path(name), f"delete {name}")
        except ConnectorNotFound:
            return

    def offsets(self, name: str) -> tuple[SourceOffset, ...]:
        """Return the offsets of a source connector; with exactly-once these are the committed ones.

        :raises ConnectorNotFound: there is none
        """
        found = self._ask("GET", _path(name, "/offsets"), f"read the offsets of {name}")
        return tuple(SourceOffset(entry["partition"], entry["offset"]) for entry in found.get("offsets", ()))

    def set_offsets(self, name: str, offsets: Iterable[SourceOffset]) -> None:
        """Set offsets of a stopped connector; entries that are not named stay.

        :raises ConnectRefused: the connector is not stopped
        :raises OutcomeUnknown: Connect failed twice
        """
        wanted = tuple(offsets)
        body = {"offsets": [{"partition": dict(o.partition), "offset": o.offset and dict(o.offset)} for o in wanted]}
        path, doing = _path(name, "/offsets"), f"set the offsets of {name}"
        if not wanted:
            return
        try:
            self._ask("PATCH", path, doing, body)
        except OutcomeUnknown:
            # Exactly once, Connect sets them in one transaction of its own. That may have been aborted.
            if not self._holds(name, wanted):
                self._ask("PATCH", path, doing, body)

    def _holds(self, name: str, wanted: Iterable[SourceOffset]) -> bool:
        held = {frozenset(each.partition.items()): each.offset for each in self.offsets(name)}
        return all(held.get(frozenset(each.partition.items())) == each.offset for each in wanted)

    def forget_offsets(self, name: str) -> None:
        """Remove every offset of a stopped connector. One that is not there is no error.

        :raises ConnectRefused: the connector is not stopped
        """
        try:
            self._ask("DELETE", _path(name, "/offsets"), f"remove the offsets of {name}")
        except ConnectorNotFound:
            return

    def wait_for(self, name: str, state: ConnectorState, *, deadline_seconds: float) -> ConnectorStatus:
        """Wait until a connector has settled in a state.

        :returns: the status seen last: that state, or ``failed`` where ``running`` was waited for
        :raises TryAgain: it had not settled there when the deadline passed
        """
        status = wait_until(
            lambda: self.status(name),
            lambda found: found.need_not_be_waited_for(state),
            clock=self._clock,
            seconds=deadline_seconds,
            pause_seconds=SHORT_PAUSE_SECONDS,
        )
        if not status.need_not_be_waited_for(state):
            tasks = ", ".join(f"{task.number} {task.state}" for task in status.tasks) or "none"
            why = f" ({status.failure})" if status.failure else ""
            raise TryAgain(
                f"{name} is {status.state} (tasks: {tasks}) after {duration(deadline_seconds)}, expected {state}{why}: "
                "look at the Connect worker's log"
            )
        return status

    def _ask(self, method: str, path: str, doing: str, body: object = None) -> Any:
        """Send a request, again while Connect is rebalancing, and return what it answers."""
        deadline = self._clock.monotonic() + self._seconds
        where = self.endpoint.base_url
        earlier: tuple[httpx.Response, KafkaDrError] | None = None

        def send() -> tuple[httpx.Response, KafkaDrError | None]:
            nonlocal earlier
            left = max(0.1, deadline - self._clock.monotonic())
            try:
                response = self._send(method, path, doing, body, left)
            except ConnectUnreachable:
                # What it answered before says more than its silence in the moment that was left.
                if earlier is None:
                    raise
                return earlier
            if response.is_success:
                return response, None
            error = answered(method, response.status_code, _message(response), doing=doing, where=where)
            earlier = response, error
            return earlier

        response, error = wait_until(
            send,
            lambda found: not isinstance(found[1], TryAgain),
            clock=self._clock,
            seconds=self._seconds - SHORT_PAUSE_SECONDS,
            pause_seconds=SHORT_PAUSE_SECONDS,
        )
        if error is not None:
            raise error
        return response.json() if response.content else None

    def _send(self, method: str, path: str, doing: str, body: object, seconds: float) -> httpx.Response:
        where = self.endpoint.base_url
        try:
            return self._http.request(method, path, json=body, timeout=seconds)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            if problem := connection_problem(error):
                raise ConnectionMistake(f"could not {doing}: Connect at {where} cannot be asked: {problem}") from error
            raise ConnectUnreachable(
                f"could not {doing}: Connect at {where} cannot be reached, because {unanswered(error)}: check that its "
                "worker runs"
            ) from error
        except httpx.HTTPError as error:
            if problem := connection_problem(error):
                raise ConnectionMistake(f"could not {doing}: Connect at {where} cannot be asked: {problem}") from error
            within = f"within {duration(self._seconds)}, because {unanswered(error)}"
            if method == "GET":
                raise ConnectUnreachable(f"could not {doing}: Connect at {where} gave no answer {within}") from error
            raise OutcomeUnknown(
                f"asked Connect at {where} to {doing} and got no answer {within}: read the connector's state before "
                "anything else"
            ) from error


def answered(method: str, status: int, message: str, *, doing: str, where: str) -> KafkaDrError:
    """Return the error for an answer of Connect that is no success.

    :param message: what Connect said
    :param doing: what was asked for, as it continues "could not …"
    """
    sentence = f"could not {doing}: Connect at {where} answered {status} ({message})"
    match status:
        case 409 if "already exists" in message:
            return ConnectRefused(sentence)
        case 409:
            return ConnectUnreachable(f"{sentence}: it is rebalancing, try again")
        case 404 if message != _NOT_YET:
            return ConnectorNotFound(sentence)
        case 401 | 403:
            return ConnectionMistake(f"{sentence}: check the login or token in its connection, and its rights")
        case 404 | 503:
            return ConnectUnreachable(f"{sentence}: it is starting, try again")
        case _ if status >= 500 and (method == "GET" or message.startswith(_NOT_BEGUN)):
            return ConnectUnreachable(sentence)
        case _ if status >= 500:
            kind = ConnectorNeverRan if _NO_TASKS_EVER in message else OutcomeUnknown
            return kind(f"{sentence}: read the connector's state before anything else")
        case _:
            return ConnectRefused(sentence)


def _path(name: str, rest: str = "") -> str:
    return f"/connectors/{quote(name, safe='')}{rest}"


def _message(response: httpx.Response) -> str:
    try:
        return java_cause(str(response.json()["message"]))
    except (ValueError, KeyError, TypeError):
        # A worker that starts, or a proxy, answers with a page in HTML, which is for browsers.
        page = not response.text or response.text.lstrip().startswith("<")
        return f"HTTP {response.status_code} {response.reason_phrase}" if page else java_cause(response.text[:200])
