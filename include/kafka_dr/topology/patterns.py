"""Topics by regular expression: the part of the syntax that Python and Java read alike, and that cannot run away.

A pattern matches whole names. ACLs know none, so the names that it matches are looked up on the clusters, and each gets
ACLs of its own; only what is looked up can be fenced. So a prefix is better wherever one will do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from kafka_dr.causes import cause

#: How long a pattern may be, and how much it may leave open. Each open part multiplies what a search may try; within
#: these limits the longest name of a topic takes milliseconds.
MOST_CHARACTERS = 200
_MOST_OPEN, _MOST_OPTIONAL, _MOST_GROUPS = 3, 5, 5
_TOKEN = re.compile(
    r"(?P<text>[A-Za-z0-9_-]|\\[.\-_])|(?P<kind>\\[dw]|\.)|(?P<set>\[\^?(?:[A-Za-z0-9_.-]|\\[.\-dw])+\])"
    r"|(?P<begin>\((?!\?)|\(\?:)|(?P<end>\))|(?P<or>\|)|(?P<many>[*+])|(?P<maybe>\?)|(?P<times>\{\d{1,3}\})"
)
_TAKEN = "names, dots (\\.), . [ ] ( ) | * + ? {3} \\d and \\w"


def problem(pattern: str) -> str:
    """Return why a pattern cannot be used, and what to do, as one sentence; empty if it can."""
    if len(pattern) > MOST_CHARACTERS:
        return f"it has {len(pattern)} characters, and at most {MOST_CHARACTERS} are read; write several patterns"
    if "^" in pattern.replace("[^", "") or "$" in pattern:
        return "a pattern matches whole names: leave out ^ and $"
    before, counted, depth = "", {"open": 0, "optional": 0, "groups": 0}, 0
    for kind, text in _tokens(pattern):
        if kind == "other":
            return f"{text!r} is not read the same by this project and by MirrorMaker: use only {_TAKEN}"
        if kind in ("many", "maybe", "times") and (said := _quantified(kind, before)):
            return said
        depth += {"begin": 1, "end": -1}.get(kind, 0)
        if depth < 0:
            return "a ) closes nothing: count the brackets"
        for name, key in (("many", "open"), ("maybe", "optional"), ("begin", "groups")):
            counted[key] += kind == name
        before = kind
    return _unsound(pattern, counted, depth)


def _tokens(pattern: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(pattern):
        found = _TOKEN.match(pattern, at)
        if found is None:
            yield "other", pattern[at : at + 2] if pattern[at] in "\\(" else pattern[at]
            return
        yield str(found.lastgroup), found[0]
        at = found.end()


def _quantified(kind: str, before: str) -> str:
    """Return what is wrong with a quantifier, by what it comes after; empty if nothing is."""
    if before in ("many", "maybe", "times"):
        return "two quantifiers follow one another: keep one"
    if before == "end" and kind != "maybe":
        return "a group that is repeated could be tried for ever: repeat a set such as [a-z.] instead"
    return "" if before in ("text", "kind", "set", "end") else "a quantifier has nothing before it to repeat"


def _unsound(pattern: str, counted: dict[str, int], depth: int) -> str:
    """Return what is wrong with a pattern as a whole; empty if nothing is."""
    if depth:
        return "a ( is not closed: count the brackets"
    for key, most, word in (
        ("open", _MOST_OPEN, "* and +"),
        ("optional", _MOST_OPTIONAL, "?"),
        ("groups", _MOST_GROUPS, "groups"),
    ):
        if counted[key] > most:
            return f"it has {counted[key]} of {word}, and a search may try every combination: use at most {most}"
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        return f"it is not a regular expression ({cause(error)})"
    return "it matches the empty name: name what its topics have in common" if compiled.fullmatch("") else ""


def fixed_beginning(pattern: str) -> str:
    """Return how every name begins that a sound pattern matches, as far as the pattern says so at its begin."""
    found, tokens = "", list(_tokens(pattern))
    if any(kind == "or" for kind, _ in _outside_groups(tokens)):
        return ""
    for number, (kind, text) in enumerate(tokens):
        following = tokens[number + 1][0] if number + 1 < len(tokens) else ""
        if kind != "text" or following in ("many", "maybe", "times"):
            break
        found += text[-1]
    return found


def _outside_groups(tokens: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    depth = 0
    for kind, text in tokens:
        depth += {"begin": 1, "end": -1}.get(kind, 0)
        if depth == 0:
            yield kind, text


def is_name(pattern: str) -> bool:
    """Return whether a pattern is meant as one name: its only sign is a dot, escaped or not."""
    return all(kind == "text" or text == "." for kind, text in _tokens(pattern))


def is_prefix(pattern: str) -> bool:
    """Return whether a pattern is a beginning and then anything, which a prefix says, too; also ``.*`` alone."""
    begin, rest = pattern[:-2], pattern[-2:]
    return rest in (".*", ".+") and (not begin or (not begin.endswith("\\") and is_name(begin)))


def matched(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a whole name matches one of some sound patterns."""
    return any(_matches(pattern, name) for pattern in patterns)


@lru_cache(maxsize=65_536)
def _matches(pattern: str, name: str) -> bool:
    return _compiled(pattern).fullmatch(name) is not None


@lru_cache(maxsize=1_024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
