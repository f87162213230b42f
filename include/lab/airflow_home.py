"""AIRFLOW_HOME: settings, users, connections. All secrets are in files that only their owner can read."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from lab.clients import librdkafka
from lab.context import LabContext
from lab.credentials import AIRFLOW_USERS, NOTES, write_private
from lab.layout import LOOPBACK, PROJECT, Home, Settings
from lab.rights import AUDIT, DRILL, OPERATOR, PROBE, REPLICATOR

#: Where the audits run, as the DAGs name it.
SPARK = "kafka_dr_spark"
#: Airflow's own REST API, through which tasks leave notes on runs.
AIRFLOW_API = "kafka_dr_airflow_api"
#: The key that signs sealed runs, as the topology names it.
SIGNING = "kafka_dr_signing"
#: The key that encrypts kept stranded records, as the topology names it.
ENCRYPTION = "kafka_dr_encryption"
#: Of Airflow's simple auth manager; ``user`` is the least that may edit a run. Who is not named here operates.
_AIRFLOW_ROLES = {"admin": "admin", NOTES: "user"}
ROLES = {"operator": OPERATOR, "probe": PROBE, "audit": AUDIT, "replicator": REPLICATOR, "drill": DRILL}
DAGS = PROJECT / "dags"
#: A DAG as somebody else has it, who wants to know whether a hub is complete.
REPORTS = PROJECT / "include" / "lab" / "demo" / "reports"
_LOCAL_BUNDLE = "airflow.dag_processing.bundles.local.LocalDagBundle"
PLUGINS = PROJECT / "plugins"

#: "Test connection" in Airflow sends 0 for a port that is empty in the form, and refuses what differs from the store.
_NO_PORT = 0
# Airflow looks for a module of this name in `$AIRFLOW_HOME/config`.
_LOCAL_SETTINGS = "from lab.airflow_tuning import create_metadata_engine  # noqa: F401\n"


def write(context: LabContext, *, dags: Path = DAGS) -> None:
    """Write everything that Airflow reads from its folder."""
    home = context.home
    passwords = {user: context.credentials.airflow(user) for user in AIRFLOW_USERS}
    write_private(home.airflow / "airflow.cfg", config(context, dags=dags))
    write_private(passwords_file(home), json.dumps(passwords) + "\n")
    write_private(connections_file(home), json.dumps(connections(context), indent=1) + "\n")
    write_private(home.airflow / "config" / "airflow_local_settings.py", _LOCAL_SETTINGS)


def passwords_file(home: Home) -> Path:
    """Passwords of Airflow's users, in the form of its simple auth manager: ``{"user": "password"}``."""
    return home.airflow / "passwords.json"


def connections_file(home: Home) -> Path:
    """The connections as ``airflow connections import`` reads them."""
    return home.airflow / "connections.json"


def connections(context: LabContext) -> dict[str, dict[str, Any]]:
    """Return a ``kafka`` connection for each cluster and role, an ``http`` one for each Connect worker, and Spark's."""
    wanted: dict[str, dict[str, Any]] = {
        SPARK: _spark(context),
        AIRFLOW_API: {
            "conn_type": "http",
            "description": "Airflow's own REST API, for notes on runs",
            "host": context.settings.host("airflow"),
            "port": context.settings.ports.airflow,
            "schema": "http",
            "login": NOTES,
            "password": context.credentials.airflow(NOTES),
        },
    }
    wanted[SIGNING] = {
        "conn_type": "generic",
        "description": "The key that signs sealed runs",
        "port": _NO_PORT,
        "extra": json.dumps({"private_key": context.credentials.signing_key}),
    }
    wanted[ENCRYPTION] = {
        "conn_type": "generic",
        "description": "The key that encrypts kept stranded records, with its name",
        "port": _NO_PORT,
        "login": "lab-1",
        "password": context.credentials.content_key,
    }
    for cluster in context.clusters:
        for role, principal in ROLES.items():
            wanted[f"kafka_{cluster.name}_{role}"] = {
                "conn_type": "kafka",
                "description": f"Kafka in {cluster.name} as {principal}",
                "port": _NO_PORT,
                "extra": json.dumps(librdkafka(context, cluster, principal, outside=True)),
            }
        wanted[f"connect_{cluster.name}"] = {
            "conn_type": "http",
            "description": f"REST of the Connect worker of {cluster.name}",
            "host": context.settings.host(cluster.connect_name),
            "port": cluster.outside_connect_port(context.settings),
            "schema": "http",
            # "Test connection" asks with HEAD, which Connect answers with 405: it is there, and that is the question.
            "extra": json.dumps({"check_response": False}),
        }
    return wanted


def _spark(context: LabContext) -> dict[str, Any]:
    """Return the connection that alone says where audits run."""
    found = {"conn_type": "spark", "description": "Spark on this machine", "host": "local[*]", "port": _NO_PORT}
    if context.settings.spark_cluster:
        found |= {"description": "The lab's Spark cluster", "host": context.settings.ports.spark_url}
    return found


def _bundles(settings: Settings) -> dict[str, object]:
    """Return where DAGs are if other people have some, too: they wait for what hubs hold."""
    if not settings.hubs:
        return {}
    folders: dict[str, dict[str, object]] = {"dags-folder": {}, "reports": {"path": str(REPORTS)}}
    found = [{"name": name, "classpath": _LOCAL_BUNDLE, "kwargs": kwargs} for name, kwargs in folders.items()]
    return {"dag_bundle_config_list": json.dumps(found)}


def config(context: LabContext, *, dags: Path) -> str:
    """Return Airflow's settings, as ``airflow.cfg`` has them."""
    home, settings, credentials = context.home, context.settings, context.credentials
    url = f"http://{LOOPBACK}:{settings.ports.airflow}"
    users = ",".join(f"{user}:{_AIRFLOW_ROLES.get(user, 'op')}" for user in AIRFLOW_USERS)
    fernet = base64.urlsafe_b64encode(hashlib.sha256(credentials.key("fernet").encode()).digest()).decode()
    sections: dict[str, dict[str, object]] = {
        "core": {
            "dags_folder": dags,
            "plugins_folder": PLUGINS,
            "executor": "LocalExecutor",
            "mp_start_method": "fork",  # a task starts from a worker that has everything loaded
            "parallelism": 8,
            "load_examples": False,
            "dags_are_paused_at_creation": False,
            "simple_auth_manager_users": users,
            "simple_auth_manager_passwords_file": passwords_file(home),
            "execution_api_server_url": f"{url}/execution/",
            "test_connection": "Enabled",
            "fernet_key": fernet,
            "hostname_callable": "socket.gethostname",
            "sensitive_var_conn_names": "ssl.key.pem,sasl.jaas.config",
            "min_serialized_dag_update_interval": 1,
        },
        "api": {
            "host": settings.listen,
            "port": settings.ports.airflow,
            "base_url": url,
            "secret_key": credentials.key("api"),
            "expose_stacktrace": True,  # whoever is refused by the lab's database reads why
        },
        "api_auth": {"jwt_secret": credentials.key("jwt")},
        "database": {"sql_alchemy_conn": f"sqlite:///{home.airflow / 'airflow.db'}"},
        "scheduler": {
            "scheduler_idle_sleep_time": 0.05,
            "scheduler_heartbeat_sec": 1,
            "task_instance_heartbeat_timeout": 60,
            "trigger_timeout_check_interval": 5,
        },
        # A task that starts before the API answers, or while it restarts, waits for it.
        "workers": {
            "execution_api_timeout": 30,
            "execution_api_retries": 30,
            "execution_api_retry_wait_max": 3,
        },
        "dag_processor": {
            "refresh_interval": 5,
            "min_file_process_interval": 120,  # a changed file is read at once
            "parsing_processes": 1,
            "print_stats_interval": 0,
            **_bundles(settings),
        },
        "logging": {"colored_console_log": False, "base_log_folder": home.airflow / "logs"},
        "usage_data_collection": {"enabled": False},
    }
    lines = []
    for section, values in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{name} = {str(value).replace('%', '%%')}" for name, value in values.items()]
        lines.append("")
    return "\n".join(lines)
