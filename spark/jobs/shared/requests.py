"""What a shared application is asked to do: a list of audits, and where the result of each belongs.

The file is JSON::

    {"side_by_side": 4, "requests": [
      {"audit": "checksum", "flow": "orders.east-to-west", "deadline_seconds": 3600,
       "ended": "/a/folder/orders.json", "arguments": ["--out", "file:///evidence/audits/…"]}
    ]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from kafka_dr.causes import cause
from kafka_dr.errors import Refused
from kafka_dr.json_documents import write_whole

AuditJob = Literal["checksum", "lag"]
_MOST_SIDE_BY_SIDE = 64


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """One audit of one flow.

    :param deadline_seconds: how long it may take, from the moment at which it begins and Spark has started
    :param ended: the file, on this machine, that says how it ended
    :param arguments: of the audit's own command line, without the topology and the flow
    """

    audit: AuditJob
    flow: str
    deadline_seconds: float
    ended: Path
    arguments: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the log calls it."""
        return f"{self.flow} {self.audit}"


@dataclass(frozen=True, slots=True)
class AuditEnded:
    """How one audit ended.

    :param code: of the audit's own command: 0 good, 1 findings, 2 unknown
    :param said: its verdict in one sentence, or why it is unknown
    :param seconds: from its begin to its end; while Spark starts, an audit has begun already
    :param peak_memory_mb: of its process, without Spark's
    """

    code: int
    said: str
    seconds: float
    peak_memory_mb: int = 0

    def write(self, path: Path) -> None:
        """Write the file whole, or not at all."""
        write_whole(path, (json.dumps(asdict(self)) + "\n").encode())

    @classmethod
    def read(cls, path: Path) -> AuditEnded | None:
        """Return what a file says; ``None`` if it does not exist or says something else."""
        try:
            return cls(**json.loads(path.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None


@dataclass(frozen=True, slots=True)
class SharedRequests:
    """All that one application is asked.

    :param side_by_side: how many audits run at the same time
    """

    side_by_side: int
    requests: tuple[AuditRequest, ...]

    def write(self, path: Path) -> None:
        """Write the file that :meth:`read` reads."""
        listed = [asdict(each) | {"ended": str(each.ended)} for each in self.requests]
        content = {"side_by_side": self.side_by_side, "requests": listed}
        path.write_text(json.dumps(content), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> SharedRequests:
        """Read such a file.

        :raises Refused: it cannot be read, or has another form
        """
        try:
            content = json.loads(path.read_bytes())
            found = cls(int(content["side_by_side"]), tuple(_request(each) for each in content["requests"]))
        except OSError as error:
            raise Refused(f"{path} cannot be read: {cause(error)}") from error
        except (ValueError, TypeError, KeyError) as error:
            raise Refused(
                f"{path} is not a list of audits ({cause(error)}): expected side_by_side, and requests with audit, "
                "flow, deadline_seconds, ended and arguments"
            ) from error
        if not 1 <= found.side_by_side <= _MOST_SIDE_BY_SIDE:
            raise Refused(f"{path}: side_by_side is {found.side_by_side}: choose 1 to {_MOST_SIDE_BY_SIDE}")
        if len({each.ended for each in found.requests}) != len(found.requests):
            raise Refused(f"{path}: two requests name the same file under ended: give each its own")
        return found


def _request(found: Mapping[str, Any]) -> AuditRequest:
    audit, arguments, seconds = found["audit"], found.get("arguments", []), float(found["deadline_seconds"])
    if audit not in get_args(AuditJob):
        raise ValueError(f"audit is {audit!r}, not one of {', '.join(get_args(AuditJob))}")
    if not isinstance(arguments, list) or not seconds > 0:
        raise ValueError("arguments is not a list, or deadline_seconds is not positive")
    return AuditRequest(audit, str(found["flow"]), seconds, Path(found["ended"]), tuple(map(str, arguments)))
