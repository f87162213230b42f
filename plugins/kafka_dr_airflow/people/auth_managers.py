"""Asks the auth manager of this Airflow for people by name and by role. Only the API server can: it runs there.

Airflow compares the id of the person who answers with the ids that were asked. Of the simple auth manager the id is
the name; of FAB it is a number; of Keycloak it is the subject of the token.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from airflow.configuration import conf

from kafka_dr.causes import cause
from kafka_dr.errors import Refused
from kafka_dr.people import Person

_SECONDS = 5.0
#: How many people with a role are asked at most: more is no list of approvers.
_MOST = 100


@dataclass(frozen=True, slots=True)
class Directory:
    """How people are found.

    :param by_name: returns the active person with a name; ``None`` if there is none
    :param by_role: returns the active people with a role, also through a group
    """

    by_name: Callable[[str], Person | None]
    by_role: Callable[[str], Iterable[Person]]


def find(directory: Directory, *, names: Collection[str], roles: Collection[str]) -> tuple[Person, ...]:
    """Return everybody who has one of the names or one of the roles, each person once, in the order of the names."""
    found = [person for name in names if (person := directory.by_name(name)) is not None]
    for role in roles:
        found += sorted(directory.by_role(role))[:_MOST]
    return tuple({person.id: person for person in reversed(found)}.values())[::-1]


def directory_of(manager: Any) -> Directory:
    """Return how the people of an auth manager are found.

    :param manager: the auth manager, by its class or a class that it extends
    :raises Refused: it is none of those that this project knows
    """
    for kind in type(manager).__mro__:
        if (make := _DIRECTORIES.get(kind.__name__)) is not None:
            return make(manager)
    raise Refused(
        f"the auth manager {type(manager).__name__} is not known here, so nobody can be asked: use the simple one, FAB "
        "or Keycloak"
    )


def _simple(manager: Any) -> Directory:
    users = {user.username: user.role for user in manager.get_users()}
    return Directory(
        lambda name: Person(name, name) if name in users else None,
        lambda role: (Person(name, name) for name, held in users.items() if held == role),
    )


def _fab(_: Any) -> Directory:
    """FAB keeps people in Airflow's database. Its own REST API gives no ids."""
    from airflow.providers.fab.auth_manager.models import Group, Role, User
    from airflow.utils.session import create_session
    from sqlalchemy import or_, select

    def people(condition: Any) -> list[Person]:
        with create_session() as session:
            rows = session.scalars(select(User).where(User.active, condition)).unique().all()
            return [Person(user.username, str(user.id)) for user in rows]

    return Directory(
        lambda name: next(iter(people(User.username == name)), None),
        lambda role: people(
            or_(User.roles.any(Role.name == role), User.groups.any(Group.roles.any(Role.name == role)))
        ),
    )


def _keycloak(manager: Any) -> Directory:
    """Keycloak's admin API, with the client that Airflow logs in with; it needs the role ``view-users``."""
    client = manager.get_keycloak_client()
    token = client.token(grant_type="client_credentials")["access_token"]
    section = "keycloak_auth_manager"
    server, realm = conf.get(section, "server_url"), conf.get(section, "realm")
    users = f"{str(server).rstrip('/')}/admin/realms/{quote(str(realm), safe='')}"

    def ask(path: str) -> list[Mapping[str, Any]]:
        return _get(f"{users}/{path}", token=token)

    def people(rows: Iterable[Mapping[str, Any]]) -> list[Person]:
        return [Person(str(row["username"]), str(row["id"])) for row in rows if row.get("enabled")]

    def by_name(name: str) -> Person | None:
        exact = urlencode({"username": name, "exact": "true"})
        return next((person for person in people(ask(f"users?{exact}")) if person.name == name), None)

    return Directory(by_name, lambda role: people(ask(f"roles/{quote(role, safe='')}/users?max={_MOST}")))


def _get(url: str, *, token: str) -> list[Mapping[str, Any]]:
    if not url.startswith(("http://", "https://")):
        raise Refused("the address of Keycloak does not begin with http or https: fix server_url")
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as reply:  # noqa: S310
            answer = json.loads(reply.read())
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return []
        raise Refused(
            f"Keycloak does not say who its users are (status {error.code}): give the client of Airflow the role "
            "view-users of realm-management"
        ) from error
    except (OSError, ValueError) as error:
        raise Refused(f"Keycloak does not answer ({cause(error)}): look at server_url") from error
    return answer if isinstance(answer, list) else []


_DIRECTORIES: Mapping[str, Callable[[Any], Directory]] = {
    "SimpleAuthManager": _simple,
    "FabAuthManager": _fab,
    "KeycloakAuthManager": _keycloak,
}
