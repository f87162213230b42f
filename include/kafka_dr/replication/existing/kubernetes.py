"""The API of a Kubernetes cluster, as far as one custom resource and a ConfigMap need it. Every call has a deadline.

An object is replaced as a whole, with the ``resourceVersion`` that was read: if somebody else has changed it since, the
API refuses (409), and the change is made again on what is there now.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx

from kafka_dr.errors import OutcomeUnknown, Refused, TryAgain
from kafka_dr.replication.endpoint import ConnectEndpoint

Document = dict[str, Any]
#: How often a change is made again on a newer version of the object.
_TRIES = 5


class KubernetesUnreachable(TryAgain):
    """The API server did not answer, or others kept changing the object."""


class KubernetesRefused(Refused):
    """The API server understood the request and will not do it."""


class KubernetesApi:
    """Reads and replaces objects.

    :param endpoint: the address of the API server, and the token or certificate of a service account
    :param request_seconds: the deadline of one call
    """

    def __init__(self, endpoint: ConnectEndpoint, *, request_seconds: float = 10.0) -> None:
        self.endpoint = endpoint
        self._seconds = request_seconds
        self._http = httpx.Client(
            base_url=endpoint.base_url.rstrip("/"),
            auth=(endpoint.username, endpoint.password or "") if endpoint.username else None,
            headers=endpoint.headers,
            verify=endpoint.tls_context() or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            trust_env=False,
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def read(self, path: str) -> Document | None:
        """Return an object; ``None`` if there is none.

        :raises KubernetesUnreachable: the API server does not answer
        :raises KubernetesRefused: it may not be read
        """
        response = self._send("GET", path)
        return None if response.status_code == 404 else self._object(response, f"read {path}")

    def change(self, path: str, change: Callable[[Document], Document]) -> Document:
        """Read an object, change it, and replace it; again if somebody else was faster.

        :param change: returns the changed object, or an equal one if there is nothing to do; it must not change its
            argument
        :returns: the object as it is now
        :raises Refused: there is no such object
        """
        for _ in range(_TRIES):
            found = self.read(path)
            if found is None:
                raise KubernetesRefused(f"there is no {path} on {self.endpoint.base_url}: correct existing_replication")
            wanted = change(found)
            if wanted == found:
                return found
            response = self._send("PUT", path, wanted)
            if response.status_code != 409:
                return self._object(response, f"change {path}")
        raise KubernetesUnreachable(f"{path} was changed by somebody else {_TRIES} times in between: try again")

    def put(self, collection: str, name: str, wanted: Mapping[str, Any]) -> None:
        """Create an object, or replace what it holds.

        :param collection: the path of objects of its kind
        :param wanted: the object without its name
        """
        path = f"{collection}/{quote(name, safe='')}"
        found = self.read(path)
        named = {**wanted, "metadata": {"name": name}}
        if found is None:
            self._object(self._send("POST", collection, named), f"create {path}")
            return
        self.change(path, lambda now: {**now, **{key: value for key, value in wanted.items() if key != "metadata"}})

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> httpx.Response:
        where = self.endpoint.base_url
        try:
            return self._http.request(method, path, json=body, timeout=self._seconds)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise KubernetesUnreachable(f"the API server {where} cannot be reached ({error})") from error
        except httpx.HTTPError as error:
            if method == "GET":
                raise KubernetesUnreachable(f"the API server {where} gave no answer ({error})") from error
            raise OutcomeUnknown(
                f"{path} was sent to the API server {where}, and no answer came ({error}): read it before anything else"
            ) from error

    def _object(self, response: httpx.Response, doing: str) -> Document:
        where, status = self.endpoint.base_url, response.status_code
        if response.is_success:
            found = response.json()
            if isinstance(found, dict):
                return found
            raise KubernetesRefused(f"could not {doing}: {where} answered with no object")
        said = f"could not {doing}: the API server {where} answered {status} ({_message(response)})"
        if status in (401, 403):
            raise KubernetesRefused(f"{said}: check the token in its Airflow connection, and the roles of its account")
        if status == 429 or status >= 500:
            raise KubernetesUnreachable(f"{said}: try again")
        raise KubernetesRefused(said)


def _message(response: httpx.Response) -> str:
    """Return what a ``Status`` object says, or else the reason of the answer."""
    try:
        found = response.json()
    except ValueError:
        return response.reason_phrase
    return str(found.get("message", response.reason_phrase)) if isinstance(found, dict) else response.reason_phrase
