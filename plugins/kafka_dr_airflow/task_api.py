"""Airflow's own REST API, as a task uses it: with the login of an Airflow connection of type ``http``."""

from __future__ import annotations

from airflow.sdk.exceptions import AirflowException, AirflowRuntimeError

from kafka_dr import airflow_api
from kafka_dr.airflow_api import CONNECTION, AirflowRestApi

#: Errors of a connection that cannot be read, of an address where no Airflow answers, and of a refusal.
ERRORS = (*airflow_api.ERRORS, AirflowException, AirflowRuntimeError)


def task_api() -> AirflowRestApi:
    """Log in with the connection.

    :raises AirflowNotFoundException: there is no such connection
    :raises Exception: one of :data:`ERRORS`
    """
    from kafka_dr.connections.meaning import connect_endpoint
    from kafka_dr_airflow.hooks.connections import airflow_connection

    return AirflowRestApi.logged_in(connect_endpoint(airflow_connection(CONNECTION)))
