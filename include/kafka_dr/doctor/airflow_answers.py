"""Airflow, asked from outside by its REST API, and what its own tasks have kept of how they see the set-up."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.parse import urlencode

from kafka_dr.airflow_api import CONNECTION, ERRORS, PEOPLE, AirflowRestApi, advice
from kafka_dr.doctor.finding import SetUpFinding, of_check
from kafka_dr.durations import age_of
from kafka_dr.errors import KafkaDrError
from kafka_dr.outcomes import Check
from kafka_dr.quoting import address
from kafka_dr.readiness.judge import ASKED, verbs_in
from kafka_dr.readiness.model import ReadinessCheck, ReadinessUnreadable
from kafka_dr.readiness_checks import airflow_checks
from kafka_dr.readiness_checks.look import SEEN, seen_here
from kafka_dr.runs.clients import Clients
from kafka_dr.set_up.airflow_options import SETTINGS
from kafka_dr.watch_results import KeptResult, WatchResultStore

_ABOUT = "airflow"
#: Asks every worker that takes the task; its result says how that worker is set.
_ASK = "airflow dags trigger dr_readiness"
_OPTIONS = {option.check: option for option in SETTINGS}


def examine_airflow(clients: Clients) -> Iterator[SetUpFinding]:
    """Ask Airflow, if the connection to it is there; what only its tasks can say, is read from what they kept."""
    yield from _by_api(clients)
    yield from _from_within(clients)


def _by_api(clients: Clients) -> Iterator[SetUpFinding]:
    try:
        endpoint = clients.endpoint(CONNECTION)
    except KafkaDrError as error:
        said = f"Airflow was not asked for its version, its DAGs and its people: {error}"
        yield SetUpFinding(_ABOUT, "api", "unknown", f"{said}. Where there is no Airflow, say --without airflow")
        return
    try:
        api = AirflowRestApi.logged_in(endpoint)
    except ERRORS as error:
        refused = isinstance(error, HTTPError) and error.code in (401, 403)
        show = f"curl -sS {shlex.quote(f'{address(endpoint.base_url)}/api/v2/version')}"
        said = f"nobody could log in to Airflow. {advice(error)}"
        user = f"airflow users reset-password --username {shlex.quote(endpoint.username or '')}"
        yield SetUpFinding(
            _ABOUT, "api", "failed" if refused else "unknown", said, commands=(user if refused else show,)
        )
        return
    for check in airflow_checks.answers(api):
        yield of_check(_ABOUT, check, *check.facts.get(airflow_checks.COMMANDS, ()))
    yield _notes(api)
    yield from _people(clients, api)


def _notes(api: AirflowRestApi) -> SetUpFinding:
    """Ask for the note of a run that does not exist: who may write it learns that, and nothing is written."""
    try:
        api.ask("PATCH", "/api/v2/dags/dr_readiness/dagRuns/doctor?update_mask=note", {"note": "doctor"})
    except ERRORS as error:
        if isinstance(error, HTTPError) and error.code == 404:
            return SetUpFinding(_ABOUT, "notes", "ok", f"the user of {CONNECTION} may write notes on runs")
        command = "airflow roles add-perms kafka-dr-bot -r 'DAG Runs' DAGs -a can_read can_edit"
        said = f"no run gets a note that says where its question is answered. {advice(error)}"
        return SetUpFinding(_ABOUT, "notes", "failed", said, commands=(command,))
    return SetUpFinding(_ABOUT, "notes", "unknown", "Airflow took a note on a run that does not exist")


def _people(clients: Clients, api: AirflowRestApi) -> Iterator[SetUpFinding]:
    groups = clients.topology.protection_groups.values()
    named = [("name", each) for group in groups for each in group.approvers]
    named += [("role", each) for group in groups for each in group.approver_roles]
    for kind, each in dict.fromkeys(named):
        try:
            known = api.ask("GET", f"{PEOPLE}?{urlencode({kind: each})}")["people"]
        except ERRORS as error:
            absent = isinstance(error, HTTPError) and error.code == 404
            plugin = "Airflow has no page of this project: point plugins_folder of its API server at plugins/"
            said = plugin if absent else f"it is not known who the approvers are. {advice(error)}"
            yield SetUpFinding(_ABOUT, "approvers", "failed" if absent else "unknown", said)
            return
        if known:
            continue
        if kind == "name":
            said = f"Airflow knows nobody called {each}, who is among approvers in the topology: correct the name"
            yield SetUpFinding(_ABOUT, "approvers", "failed", said, commands=("airflow users list",))
        else:
            said = f"nobody in Airflow has the role {each}, which the topology names in approver_roles"
            command = f"airflow users add-role --role {shlex.quote(each)} --username NAME"
            yield SetUpFinding(_ABOUT, "approvers", "failed", f"{said}: give it to the approvers", commands=(command,))
    yield SetUpFinding(_ABOUT, "people", "ok", "Airflow says who the approvers are")


def _from_within(clients: Clients) -> Iterator[SetUpFinding]:
    """Return how the worker that asked for readiness last is set, and whether it sees what this machine sees."""
    found = list(WatchResultStore(clients.evidence_root).read_round(ASKED).values())
    newest = max(found, key=lambda each: each.looked_at, default=None)
    if newest is None:
        said = f"only Airflow's own tasks know its settings, and none has kept them at {clients.evidence_root}"
        more = "trigger dr_readiness; if that is green and this stays, this machine and Airflow see different evidence"
        yield _ask_again(f"{said}: {more}")
        return
    age = clients.clock.now() - newest.looked_at
    if age > newest.good_for:
        yield _ask_again(f"its settings were kept {age_of(age)}, which is too old: see why dr_readiness does not run")
        return
    try:
        checks = {check.name: check for verb in verbs_in(newest.facts) for check in verb.checks}
    except ReadinessUnreadable as error:
        yield _ask_again(f"{error}: trigger dr_readiness")
        return
    for name, option in _OPTIONS.items():
        kept = checks.get(name) or ReadinessCheck(name, "unknown", f"the task kept nothing of {option.variable}")
        correct = f"export {option.variable}={shlex.quote(option.good)}"
        yield of_check(_ABOUT, Check(name, kept.outcome, kept.detail), correct)
    yield from _seen_alike(clients, newest)


def _ask_again(said: str) -> SetUpFinding:
    return SetUpFinding(_ABOUT, "settings", "unknown", said, commands=(_ASK,))


def _seen_alike(clients: Clients, newest: KeptResult) -> Iterator[SetUpFinding]:
    there, here = newest.facts.get(SEEN), seen_here(newest.group, clients)
    for what, correct in _SHARED.items():
        value = there.get(what) if isinstance(there, dict) else None
        if value is None:
            said = f"the last task of dr_readiness did not keep which {what} it sees: trigger it"
            yield SetUpFinding(_ABOUT, f"shares {what}", "unknown", said, commands=(_ASK,))
        elif value != here[what]:
            said = f"a worker of Airflow and this machine see different contents of the {what}: {correct}"
            yield SetUpFinding(_ABOUT, f"shares {what}", "failed", said, commands=(_ASK,))
        else:
            said = f"the worker of Airflow that asked last and this machine see the same {what}"
            yield SetUpFinding(_ABOUT, f"shares {what}", "ok", said)


#: What every executor has to see alike, and what to do where it does not. They see the same evidence, or nothing of
#: this would have been read.
_SHARED = {
    "topology": "let KAFKA_DR_TOPOLOGY name the same file on both, and put the newest one there",
    "route": "keep it on a disk that both share; if a run has just moved the group, trigger dr_readiness and ask again",
}
