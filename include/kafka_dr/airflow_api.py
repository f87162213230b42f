"""Airflow's own REST API, with a login: nothing of Airflow is needed where it is asked."""

from __future__ import annotations

import json
import ssl
import urllib.request
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError

from kafka_dr.causes import cause
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.quoting import line

#: The connection to it, of type ``http``.
CONNECTION = "kafka_dr_airflow_api"
#: Where the plugin says who Airflow's auth manager knows.
PEOPLE = "/kafka-dr/people"
#: How long each request may take. No run waits longer for its note, or for the names of its approvers.
_SECONDS = 5.0
#: Errors of a connection that cannot be read, of an address where no Airflow answers, and of a refusal.
ERRORS = (KafkaDrError, HTTPException, OSError, ValueError, KeyError, TypeError)


def did_not_answer(error: BaseException) -> bool:
    """Return whether a request got no answer in time. What it asked for may have been done, or will be done."""
    return isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError)


def advice(error: BaseException) -> str:
    """Say what was seen of the API, and what to do.

    :param error: one of :data:`ERRORS`
    """
    if did_not_answer(error):
        return (
            f"Airflow's API did not answer within {duration(_SECONDS)}. Its server may be overloaded: look at its "
            f"load. Only if it never answers, check the address in connection {CONNECTION}"
        )
    if isinstance(error, HTTPError) and error.code in (401, 403):
        said = "the login" if error.code == 401 else "the rights of the user"
        return f"Airflow's API did not accept it ({line(cause(error))}). Check {said} in connection {CONNECTION}"
    if isinstance(error, HTTPError) and error.code >= 500:
        return f"Airflow's API failed ({line(cause(error))}). See the log of Airflow's API server"
    return f"Airflow's API did not accept it ({line(cause(error))}). Check connection {CONNECTION}"


@dataclass(frozen=True, slots=True)
class AirflowRestApi:
    """The API, logged in.

    :param base_url: of Airflow, without a slash at the end
    :param tls: how its certificate is checked, if it is reached over HTTPS
    """

    base_url: str
    token: str = field(repr=False)
    tls: ssl.SSLContext | None = None

    @classmethod
    def logged_in(cls, endpoint: HttpEndpoint) -> AirflowRestApi:
        """Log in.

        :param endpoint: what the connection says
        :raises Exception: one of :data:`ERRORS`
        """
        login = {"username": endpoint.username, "password": endpoint.password}
        tls = endpoint.tls_context()
        token = _ask("POST", f"{endpoint.base_url}/auth/token", login, tls=tls)["access_token"]
        return cls(endpoint.base_url, token, tls)

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its answer.

        :param path: below the address of Airflow
        :raises Exception: one of :data:`ERRORS`
        """
        return _ask(method, f"{self.base_url}{path}", body, token=self.token, tls=self.tls)


def _ask(
    method: str, url: str, body: dict[str, Any] | None = None, *, token: str = "", tls: ssl.SSLContext | None = None
) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url.partition('://')[0]} is not a scheme of a REST API: expected http or https")
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers=headers, method=method)  # noqa: S310
    # Airflow is asked directly: a proxy of the environment is for addresses outside.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls))
    with opener.open(request, timeout=_SECONDS) as reply:
        answer = json.loads(reply.read())
    return answer if isinstance(answer, dict) else {}
