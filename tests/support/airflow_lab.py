"""A lab with Airflow in it, and a user's session at its REST API."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import ClientSettings, KafkaCluster
from kafka_dr.register import KafkaRegister, RegisterState
from lab import airflow_home, rights
from lab.airflow_services import PROCESSES, SCHEDULER
from lab.api import Lab
from lab.layout import MECHANISM

_PARKING_SECONDS = 3.0
#: Between two questions whether a run has ended: they are a good part of the work of Airflow's API.
_ASKING_SECONDS = 1.0
#: Between two questions of somebody who wants to be quick.
_QUICK_SECONDS = 0.05
_ENDED = {"success", "failed"}
_ONLY_ON_REQUEST = {"AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False"}
#: Sections of the lab's ``airflow.cfg`` that make Airflow quick, and options of other sections that do.
_TUNED = ("scheduler", "workers", "dag_processor")
_TUNED_TOO = (("core", "parallelism"), ("core", "min_serialized_dag_update_interval"))


class QuickLab(Lab):
    """A lab whose approvals expire soon enough to wait for it, and where a test can hold up a switch."""

    expiry_seconds = 25
    #: How long the scheduler sleeps when it has nothing to do. That of a lab takes an eighth of a core to be quicker.
    idle_seconds = 0.5
    #: A fence waits that long for an open transaction. No test leaves one open that does not want to hold it up.
    grace_seconds = 30
    #: Tests wait for audits, and next to three other labs one that steps back does not end in minutes.
    spark_niceness = 0

    @property
    def environ(self) -> dict[str, str]:
        """The lab's environment, with a topology of its own; a test triggers what it looks at, on no schedule.

        Runs of a schedule would start Spark every few minutes, and a test's run of the same DAG would wait for them.
        """
        declared = self._quick_topology(super().environ["KAFKA_DR_TOPOLOGY"])
        idle = {"AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": str(self.idle_seconds)}
        return {**super().environ, **idle, **_ONLY_ON_REQUEST, "KAFKA_DR_TOPOLOGY": str(declared)}

    def state(self, cluster: str, group: str) -> RegisterState | None:
        """Read a cluster's register."""
        with self._register(cluster) as register:
            return register.read(group)

    def facts(self, cluster: str, group: str, run: str) -> dict[str, Any]:
        """Return what a run has journaled in a cluster's register."""
        with self._register(cluster) as register:
            return register.facts(group, run)

    @contextmanager
    def _register(self, cluster: str) -> Iterator[KafkaRegister]:
        settings = ClientSettings.from_librdkafka(self.client_settings(cluster, rights.OPERATOR))
        with KafkaCluster(cluster, settings) as reached:
            yield KafkaRegister(reached, SystemClock())

    def lose_airflow(self) -> None:
        """Let the scheduler die with the tasks that it runs, then the rest of Airflow and all that it remembers."""
        for name in (SCHEDULER, *(name for name in PROCESSES if name != SCHEDULER)):
            self.kill(name)
        for database in self.home.airflow.glob("airflow.db*"):
            database.unlink()

    @contextmanager
    def proposing(self, vantage: str) -> Iterator[None]:
        """Declare for a while that disasters are proposed without a person, seen from elsewhere, too, and soon.

        :param vantage: the address of who looks from elsewhere
        """
        disaster = {"auto_propose": True, "probe_seconds": 2.0, "vantages": {"office": vantage}}
        # The proposal is looked at for longer than other tests want to wait for an approval to expire.
        with self.declaring({"confirm_seconds": 1, "approval_expiry_seconds": 900}, disaster=disaster):
            yield

    @contextmanager
    def declaring(self, timing: Mapping[str, object], **settings: object) -> Iterator[None]:
        """Declare other settings of each group for a while, some of them of its timing."""
        with self.declaring_also({}) as declared:
            for group in declared["protection_groups"].values():
                group |= settings
                group["timing"] |= timing
            replace_file(self.home.root / "topology.yaml", yaml.safe_dump(declared))
            yield

    @contextmanager
    def declaring_also(self, sections: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        """Declare more sections of the topology for a while, and yield all of it."""
        path = self.home.root / "topology.yaml"
        before = path.read_text("utf-8")
        declared = {**yaml.safe_load(before), **sections}
        replace_file(path, yaml.safe_dump(declared))
        try:
            yield declared
        finally:
            replace_file(path, before)

    def _quick_topology(self, declared: str) -> Path:
        path = self.home.root / "topology.yaml"
        if not path.exists():
            text = Path(declared).read_text("utf-8")
            assert "approval_expiry_seconds: 900" in text
            path.parent.mkdir(parents=True, exist_ok=True)
            quick = text.replace("approval_expiry_seconds: 900", f"approval_expiry_seconds: {self.expiry_seconds}")
            for name, before, after in (
                ("transaction_grace_seconds", "0.2", self.grace_seconds),
                ("write_outage_seconds", "5", 2 * self.grace_seconds),
            ):
                assert f"{name}: {before}\n" in quick
                quick = quick.replace(f"{name}: {before}\n", f"{name}: {after}\n")
            quick = quick.replace(f"sasl_mechanism: {MECHANISM}", f"sasl_mechanism: {self.settings.mechanism}")
            path.write_text(quick, "utf-8")
        return path


class UntunedLab(QuickLab):
    """A lab whose Airflow is as quick and as patient as Airflow's defaults say: what the lab tunes does not count."""

    #: As slow as Airflow may be here, an answer is older when it is used.
    expiry_seconds = 180

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a lab for tests, in which the defaults replace what the lab's ``airflow.cfg`` sets."""
        tuned = ConfigParser(interpolation=None)
        tuned.read_string(airflow_home.config(self._context(), dags=airflow_home.DAGS))
        named = [*((section, name) for section in _TUNED for name in tuned[section]), *_TUNED_TOO]
        defaults = {f"AIRFLOW__{section}__{name}".upper(): _default(section, name) for section, name in named}
        return {**super().environ, **defaults, **_ONLY_ON_REQUEST}


def _default(section: str, name: str) -> str:
    from airflow.configuration import conf

    return str(conf.get_default_value(section, name))


def replace_file(path: Path, text: str) -> None:
    """Replace a file at once, for those who read it at any moment."""
    draft = path.with_suffix(".draft")
    draft.write_text(text, "utf-8")
    draft.replace(path)


class AirflowSession:
    """What a user sees and does in Airflow."""

    def __init__(self, lab: Lab, user: str) -> None:
        self._lab = lab
        status = lab.status().airflow
        password = json.loads(status.passwords.read_text())[user]
        self.http = httpx.Client(base_url=status.url, timeout=60)
        token = self._json("POST", "/auth/token", {"username": user, "password": password})["access_token"]
        self.token = str(token)
        self.http.headers["Authorization"] = f"Bearer {token}"

    def trigger(self, dag: str, **conf: object) -> str:
        """Start a run and return its id."""
        run = f"test-{uuid.uuid4().hex[:8]}"
        self._json("POST", f"/api/v2/dags/{dag}/dagRuns", {"dag_run_id": run, "logical_date": None, "conf": conf})
        return run

    def asked_for(self, dag: str, run: str) -> dict[str, Any]:
        """Return the parameters that a run was triggered with."""
        return dict(self._json("GET", f"/api/v2/dags/{dag}/dagRuns/{run}")["conf"] or {})

    def choices(self, dag: str, field: str) -> list[object]:
        """Return what a field of a DAG's form offers."""
        found = self._json("GET", f"/api/v2/dags/{dag}/details")["params"][field]
        return list(found["schema"]["enum"])

    def end(self, dag: str, run: str) -> None:
        """End a run where it is."""
        self._json("PATCH", f"/api/v2/dags/{dag}/dagRuns/{run}", {"state": "failed"})

    def runs(self, dag: str) -> dict[str, str]:
        """Return the state of every run of a DAG."""
        found = self._json("GET", f"/api/v2/dags/{dag}/dagRuns?limit=100")["dag_runs"]
        return {str(each["dag_run_id"]): str(each["state"]) for each in found}

    def ended(self, dag: str, run: str, *, seconds: float = 400) -> str:
        """Wait for the end of a run and return its state."""
        deadline = time.monotonic() + seconds
        while (state := self._json("GET", f"/api/v2/dags/{dag}/dagRuns/{run}")["state"]) not in _ENDED:
            assert time.monotonic() < deadline, (
                f"{run} of {dag} is {state} after {seconds} s: {self.tasks(dag, run)}; {self._scheduler()}"
            )
            time.sleep(_ASKING_SECONDS)
        return str(state)

    def tasks(self, dag: str, run: str) -> dict[str, str | None]:
        """Return the state of each task of a run."""
        found = self._json("GET", f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances")["task_instances"]
        return {each["task_id"]: each["state"] for each in found}

    def mapped(self, dag: str, run: str, task: str) -> set[int]:
        """Return the numbers of a mapped task's instances."""
        found = self._json("GET", f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances")["task_instances"]
        return {each["map_index"] for each in found if each["task_id"] == task}

    def note(self, dag: str, run: str) -> str | None:
        """Return the note on a run, as lists of runs show it."""
        found: str | None = self._json("GET", f"/api/v2/dags/{dag}/dagRuns/{run}")["note"]
        return found

    def why(self, dag: str, run: str) -> str:
        """Say how the tasks of a run ended, and what the failed ones wrote."""
        tasks = self.tasks(dag, run)
        return "\n".join(
            [str(tasks), *(self.log(dag, run, task) for task, state in tasks.items() if state == "failed")]
        )

    def question(self, dag: str, run: str, *, seconds: float = 120) -> Mapping[str, Any]:
        """Wait until a run asks for its approval, and return what it asks."""
        deadline = time.monotonic() + seconds
        while (state := self.tasks(dag, run).get("approval")) != "awaiting_input":
            assert state not in {"failed", "upstream_failed", "skipped"}, self.why(dag, run)
            assert time.monotonic() < deadline, (
                f"{run} does not ask after {seconds} s: {self.tasks(dag, run)}; {self._scheduler()}"
            )
            time.sleep(0.5)
        self._wait_until_noticed(deadline)
        found: Mapping[str, Any] = self._json("GET", f"/api/v2/dags/{dag}/dagRuns/{run}/hitlDetails")["hitl_details"][0]
        return found

    def parks(self, dag: str, run: str, *, seconds: float = 120) -> None:
        """Return as soon as the approval waits for an answer: Airflow may not have noticed yet."""
        deadline = time.monotonic() + seconds
        while (state := self.tasks(dag, run).get("approval")) != "awaiting_input":
            assert time.monotonic() < deadline, f"{run} does not ask after {seconds} s: {state}"
            time.sleep(_QUICK_SECONDS)

    def tries(self, dag: str, run: str, task: str, *, mapped: int = -1) -> int:
        """Return how often Airflow has tried a task."""
        path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}"
        return int(self._json("GET", path if mapped < 0 else f"{path}/{mapped}")["try_number"])

    def fields(self, dag: str, run: str) -> dict[str, object]:
        """Return what the form of a question is filled in with."""
        (found,) = self._json("GET", f"/api/v2/dags/{dag}/dagRuns/{run}/hitlDetails")["hitl_details"]
        return {name: field["value"] for name, field in found["params"].items()}

    def _scheduler(self) -> str:
        """Say whether the scheduler runs, and what it wrote last: it may be why nothing happens."""
        runs = self._lab.supervisor.find(SCHEDULER) is not None
        log = self._lab.home.logs / f"{SCHEDULER}.log"
        last = log.read_text("utf-8", "replace").splitlines()[-40:] if log.exists() else []
        return "\n".join((f"the scheduler {'runs' if runs else 'is gone'}, and wrote last:", *last))

    def _wait_until_noticed(self, deadline: float) -> None:
        """Wait until the task's process is gone and the scheduler has gone round since.

        Before that Airflow would fail a task that is answered. Between two new heartbeats there is one whole round.
        """
        time.sleep(_PARKING_SECONDS)
        seen = {self._heartbeat()}
        while len(seen) <= 2:
            assert time.monotonic() < deadline, f"the scheduler's last heartbeats are those of {sorted(seen)}"
            time.sleep(0.5)
            seen.add(self._heartbeat())

    def _heartbeat(self) -> str:
        return str(self._json("GET", "/api/v2/monitor/health")["scheduler"]["latest_scheduler_heartbeat"])

    def answer(
        self, dag: str, run: str, option: str, fields: Mapping[str, object], *, mapped: int = -1
    ) -> httpx.Response:
        """Answer, and return what Airflow says to it.

        :param mapped: which of the mapped tasks asks
        """
        path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/approval/{mapped}/hitlDetails"
        return self.http.patch(path, json={"chosen_options": [option], "params_input": dict(fields)})

    def unpause(self, dag: str) -> int:
        """Say that a DAG runs on its schedule, as it does, and return the status of the answer."""
        return self.http.patch(f"/api/v2/dags/{dag}", json={"is_paused": False}).status_code

    def clear(self, dag: str, run: str, tasks: Collection[str]) -> None:
        """Have tasks of a run done again."""
        wanted = {"dry_run": False, "dag_run_id": run, "task_ids": list(tasks), "only_failed": False}
        self._json("POST", f"/api/v2/dags/{dag}/clearTaskInstances", wanted)

    def mark(self, dag: str, run: str, task: str, state: str) -> None:
        """Set the state of a task by hand."""
        path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}"
        self._json("PATCH", path, {"new_state": state})

    def fail(self, dag: str, run: str) -> None:
        """Mark a whole run as failed by hand."""
        self._json("PATCH", f"/api/v2/dags/{dag}/dagRuns/{run}", {"state": "failed"})

    def log(self, dag: str, run: str, task: str, *, attempt: int = 1, map_index: int = -1) -> str:
        """Return what a task wrote.

        :param map_index: which of a mapped task's; -1 for one that is not mapped
        """
        path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}/logs/{attempt}"
        return json.dumps(self._json("GET", f"{path}?full_content=true&map_index={map_index}"))

    def attempts(self, dag: str, run: str, task: str) -> int:
        """Return how often a task was tried; one that is answered within seconds may be tried again."""
        return int(self._json("GET", f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}")["try_number"])

    def result(self, dag: str, run: str, task: str, *, map_index: int = -1) -> Any:
        """Return what a task left for others (XCom)."""
        path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}/xcomEntries/return_value"
        return self._json("GET", f"{path}?map_index={map_index}&deserialize=true")["value"]

    def links(self, dag: str, run: str, task: str, *, map_index: int = -1) -> dict[str, str]:
        """Return where the buttons of a task lead to, of those that can be pressed."""
        path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}/links?map_index={map_index}"
        found = self._json("GET", path)["extra_links"]
        return {str(name): str(address) for name, address in found.items() if address}

    def asset_events(self, dag: str, run: str) -> list[str]:
        """Return the addresses of the assets that a run said something new about."""
        found = self._json("GET", f"/api/v2/assets/events?source_dag_id={dag}&source_run_id={run}")["asset_events"]
        return [str(event["uri"]) for event in found]

    def _json(self, method: str, path: str, body: object = None) -> Any:
        reply = self.http.request(method, path, json=body)
        assert reply.is_success, f"{method} {path}: {reply.status_code} {reply.text[:500]}"
        return reply.json()
