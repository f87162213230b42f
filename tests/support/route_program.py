"""A program that keeps routes: as one for a gateway or a load balancer would be. It shares no code with the project.

python -m support.route_program KEPT.json [nonsense | fails | hangs]
"""

from __future__ import annotations

import fcntl
import json
import sys
import time
from pathlib import Path


def main(kept: Path, behaves: str = "") -> None:
    """Answer one document.

    :param behaves: ``nonsense``: no route is read; ``fails``: it does what it is asked for and ends with an error;
        ``hangs``: the same, and it does not end
    """
    asked = json.load(sys.stdin)
    with kept.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        routes = json.loads(file.read() or "{}")
        found = routes.get(asked["group"])
        if asked["action"] == "read":
            json.dump({"route": "the east" if behaves == "nonsense" else found}, sys.stdout)
            return
        if asked["action"] == "switch" and found == asked["expected"]:
            routes[asked["group"]] = asked["route"]
        if asked["action"] == "remove":
            routes.pop(asked["group"], None)
        file.truncate(0)
        file.write(json.dumps(routes))
        file.flush()
    if behaves == "fails":
        sys.exit("the gateway has gone")
    if behaves == "hangs":
        time.sleep(60)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
