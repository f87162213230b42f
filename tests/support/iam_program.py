"""A program that denies and permits on a cluster whose rules only it can see: as one for a cloud's IAM would be.

It changes the ACLs of a real broker, with a login of its own. The project under test knows it only by its standard
input and output, and shares no code with it.

    python -m support.iam_program CONFIG.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main(path: Path) -> None:
    """Answer one document."""
    config = json.loads(path.read_text("utf-8"))
    asked = json.load(sys.stdin)
    kept = Path(config["kept"])
    documents = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    rows = documents.setdefault(asked["group"], [])
    wanted = {_key(row, operation) for row in asked["denies"] for operation in row["operations"]}
    if asked["action"] == "list":
        json.dump({"denies": rows}, sys.stdout)
        return
    # Importing it takes longer than anything else.
    from support.acl_reconciler import Pipeline, Rule

    left = [row for row in _single(rows) if _key(row, row["operations"][0]) not in wanted]
    documents[asked["group"]] = left + (_single(asked["denies"]) if asked["action"] == "add" else [])
    kept.write_text(json.dumps(documents), "utf-8")
    own: set[Rule] = {tuple(rule) for rule in json.loads(Path(config["own_rules"]).read_text("utf-8"))}
    spared = tuple(config.get("spared", ()))
    denied = {
        (
            row["resource_type"],
            row["name"],
            row["pattern"],
            row["principal"],
            row["host"],
            row["operations"][0].lower(),
            "deny",
        )
        for found in documents.values()
        for row in _single(found)
        if row["principal"] not in spared
    }
    Pipeline(json.loads(Path(config["settings"]).read_text("utf-8")), tuple(config["scope"])).apply(own | denied)
    json.dump({}, sys.stdout)


def _single(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "operations": [operation]} for row in rows for operation in row["operations"]]


def _key(row: dict[str, Any], operation: str) -> tuple[str, ...]:
    return row["resource_type"], row["name"], row["pattern"], row["principal"], operation


if __name__ == "__main__":
    main(Path(sys.argv[1]))
