"""etcd by its JSON gateway (API version 3): one request to the first member that answers, with a login that lasts."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx

from kafka_dr.clock import Clock
from kafka_dr.errors import KafkaDrError
from kafka_dr.http_endpoint import HttpEndpoint, connection_problem, unanswered

#: What etcd answers if a token has expired or is unknown, or rights have changed since it was issued.
_TOKEN_ENDED = ("invalid auth token", "revision of auth store is old")


class EtcdRefused(KafkaDrError):
    """etcd answered that it does not do that; nothing was changed."""


class EtcdUnanswered(KafkaDrError):
    """No member gave a usable answer.

    :ivar sent: whether a member may have done what was asked
    """

    def __init__(self, sentence: str, *, sent: bool) -> None:
        super().__init__(sentence)
        self.sent = sent


class EtcdApi:
    """Asks the members of one etcd. Tokens are the same for all of them, and renewed once when they have ended.

    :param endpoint: the first member; its login, if it has one, is a user of etcd
    """

    def __init__(self, endpoint: HttpEndpoint) -> None:
        self.endpoint = endpoint
        self._token = ""
        # Without HTTPS no certificate is checked, and loading the system's authorities is slow: none are trusted.
        context = endpoint.tls_context() or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._http = httpx.Client(verify=context, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def ask(
        self, what: str, body: Mapping[str, Any], *, further: tuple[str, ...], seconds: float, clock: Clock
    ) -> Mapping[str, Any]:
        """Return the answer of the first member that gives one.

        :param what: the method, such as ``kv/range``
        :param further: addresses of further members
        :param seconds: the deadline for all of them; each has an equal part of what is left
        :raises EtcdRefused: a member refused it
        :raises EtcdUnanswered: no member answered
        """
        ends, sent, problem = clock.monotonic() + seconds, False, ""
        urls = [self.endpoint.base_url, *(replace(self.endpoint, base_url=each).base_url for each in further)]
        for number, url in enumerate(urls):
            limit = (ends - clock.monotonic()) / (len(urls) - number)
            if limit <= 0:
                break
            try:
                answer = self._with_token(url, what, body, limit)
            except httpx.HTTPError as error:
                sent |= not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                problem = connection_problem(error) or unanswered(error)
                continue
            if answer.is_server_error:
                sent, problem = True, f"it answered {answer.status_code}"
                continue
            return self._understood(answer)
        raise EtcdUnanswered(
            f"etcd gave no answer at {', '.join(urls)}, the last because {problem}: see whether its members run and "
            "have a leader, and check the addresses",
            sent=sent,
        )

    def _with_token(self, url: str, what: str, body: Mapping[str, Any], limit: float) -> httpx.Response:
        login = {"name": self.endpoint.username, "password": self.endpoint.password or ""}
        for again in (False, True):
            if self.endpoint.username and (again or not self._token):
                # A login that shows a token that has ended is refused.
                self._token = ""
                answer = self._post(url, "auth/authenticate", login, limit)
                if not answer.is_success:
                    return answer
                self._token = str(self._understood(answer).get("token", ""))
            answer = self._post(url, what, body, limit)
            if not (answer.is_client_error and any(each in answer.text for each in _TOKEN_ENDED)):
                break
        return answer

    def _post(self, url: str, what: str, body: Mapping[str, Any], limit: float) -> httpx.Response:
        headers = {"Authorization": self._token} if self._token else {}
        return self._http.post(f"{url.rstrip('/')}/v3/{what}", json=body, headers=headers, timeout=limit)

    def _understood(self, answer: httpx.Response) -> Mapping[str, Any]:
        user = self.endpoint.username or "who has no login"
        if answer.status_code == 403:
            raise EtcdRefused(f"etcd does not permit it to {user}: grant this user's role readwrite on the key")
        if answer.is_client_error:
            raise EtcdRefused(
                f"etcd answered {answer.status_code} to {user}: check login and password of its connection, whether "
                "etcd has logins enabled, and that this is etcd 3.4 or later"
            )
        try:
            found = answer.json()
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise EtcdRefused("what answered is not etcd: correct the address in its connection")
        return found
