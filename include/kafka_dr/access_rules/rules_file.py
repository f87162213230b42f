"""A file with the rules that this project wants on one cluster, for whatever applies rules there.

::

    {
      "schema_version": 1,
      "cluster": "east",
      "revision": 7,
      "groups": {
        "orders": {
          "epoch": 4,
          "rules": [
            {"principal": "User:orders-app", "permission": "DENY", "resource_type": "topic", "name": "orders.",
             "pattern": "prefixed", "operations": ["READ", "WRITE"], "host": "*"}
          ]
        }
      }
    }

Each write raises ``revision``. ``epoch`` is that of the register's record that permitted the last write of a group: a
process with a smaller one writes nothing. Everything else in the file stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_dr.access_rules.port import BeforeEach
from kafka_dr.access_rules.rows import changed_rows, row_of_rules, rules_of_row
from kafka_dr.causes import cause
from kafka_dr.clock import Clock
from kafka_dr.clusters import Acl
from kafka_dr.declared_program import run_program, said_by
from kafka_dr.errors import NeedsPerson, Refused, TryAgain
from kafka_dr.locked_file import FolderNotSynced, LockedFile
from kafka_dr.waiting import PAUSE_SECONDS

SCHEMA_VERSION = 1
#: How often somebody else may change the file while it is being changed here.
_TRIES = 10


@dataclass(frozen=True, slots=True)
class RulesFile:
    """The part of one protection group in the file of one cluster.

    :param path: of the file; it is made when the first rule is written
    :param apply_line: the program that commits and applies the file, with its arguments; empty: none is run
    """

    path: Path
    cluster: str
    group: str
    clock: Clock
    apply_line: tuple[str, ...] = ()
    pause_seconds: float = PAUSE_SECONDS

    @property
    def where(self) -> str:
        """The path."""
        return str(self.path)

    def read(self) -> frozenset[Acl]:
        """Return the group's rules in the file; none if there is no file."""
        rules = self._section(self._document(self._content())).get("rules", [])
        try:
            return frozenset(acl for row in rules for acl in rules_of_row(row).values())
        except ValueError as error:
            raise self._damaged(error) from error

    def change(self, *, adding: frozenset[Acl], removing: frozenset[Acl], before_each: BeforeEach | None) -> None:
        """Write rules under a lock, if the file is still the one that was read: people hold no lock."""
        try:
            with LockedFile(self.path, self.clock).alone():
                for _ in range(_TRIES):
                    if self._changed(adding, removing, before_each):
                        return
        except FolderNotSynced as error:
            raise TryAgain(f"{self.path} was written, and its folder could not be synced ({error})") from error
        except OSError as error:
            raise TryAgain(
                f"{self.path} cannot be written ({cause(error)}): check the folder, its disk and its rights"
            ) from error
        raise TryAgain(
            f"{self.path} was changed by others {_TRIES} times while it was to be changed: see who does that"
        )

    def _changed(self, adding: frozenset[Acl], removing: frozenset[Acl], before_each: BeforeEach | None) -> bool:
        """Try once, and return whether the file is as it should be."""
        content = self._content()
        document = self._document(content)
        section = self._section(document)
        try:
            rules = changed_rows(
                section.get("rules", []), adding=adding, removing=removing, read=rules_of_row, row_of=row_of_rules
            )
        except ValueError as error:
            raise self._damaged(error) from error
        if rules == section.get("rules", []):
            return True
        found = self._number(section, "epoch")
        epoch = found if before_each is None else before_each()
        if epoch < found:
            raise Refused(
                f"{self.path} has the rules of {self.group} of epoch {found}, and this process has epoch {epoch}: "
                f"nothing was written. If no register has a record of {self.group} any more, remove it from the file"
            )
        new = {
            **document,
            "revision": self._number(document, "revision") + 1,
            "groups": {**document.get("groups", {}), self.group: {**section, "epoch": epoch, "rules": rules}},
        }
        text = json.dumps(new, indent=1, ensure_ascii=False) + "\n"
        return LockedFile(self.path, self.clock).replace_unchanged(text, was=content)

    def apply(self, *, seconds: float) -> None:
        """Run the declared program: it commits and applies the file, or triggers that."""
        if not self.apply_line:
            return
        more = {
            "KAFKA_DR_CLUSTER": self.cluster,
            "KAFKA_DR_PROTECTION_GROUP": self.group,
            "KAFKA_DR_RULES_FILE": str(self.path),
        }
        # Two of them in one working tree would be in each other's way.
        with LockedFile(Path(f"{self.path}.apply"), self.clock, lock_seconds=seconds).alone():
            answer = run_program(self.apply_line, seconds=seconds, folder=self.path.parent, more=more)
        if answer.code:
            raise TryAgain(
                f"{self.apply_line[0]} ended with code {answer.code} and did not apply {self.path}: {said_by(answer)}"
            )

    def waits_for(self) -> str:
        """Nothing is known of what happens to the file."""
        return ""

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise TryAgain(f"{self.path} cannot be read ({cause(error)}): check its disk and its rights") from error

    def _document(self, content: bytes) -> Mapping[str, Any]:
        if not content:
            return {"schema_version": SCHEMA_VERSION, "cluster": self.cluster}
        try:
            document = json.loads(content)
        except ValueError as error:
            raise self._damaged(error) from error
        if not isinstance(document, dict) or document.get("schema_version") != SCHEMA_VERSION:
            raise self._damaged(f"expected one JSON object with schema_version {SCHEMA_VERSION}")
        if document.get("cluster") != self.cluster:
            raise NeedsPerson(
                f"{self.path} says that it is of the cluster {document.get('cluster')!r}, and the topology gives it to "
                f"{self.cluster}: nothing was written; correct the topology or the file"
            )
        return document

    def _section(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        groups = document.get("groups", {})
        section = groups.get(self.group, {}) if isinstance(groups, dict) else None
        if not isinstance(section, dict) or not isinstance(section.get("rules", []), list):
            raise self._damaged(f'key {self.group} must be an object with a list "rules"')
        return section

    def _number(self, part: Mapping[str, Any], key: str) -> int:
        found = part.get(key, 0)
        if not isinstance(found, int) or isinstance(found, bool):
            raise self._damaged(f"{key} is {found!r}, expected a whole number")
        return found

    def _damaged(self, why: object) -> NeedsPerson:
        return NeedsPerson(
            f"{self.path} cannot be understood ({why}): nothing was written. Restore it from its repository"
        )
