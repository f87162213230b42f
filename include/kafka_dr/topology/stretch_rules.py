"""What must hold between the keys of a stretch cluster."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_dr.topology.document import Document, Path
from kafka_dr.topology.mistakes import Mistake


def stretch_mistakes(document: Document) -> Iterator[Mistake]:
    """Yield everything that contradicts something else in the stretch clusters."""
    for name in document.keys("stretch_clusters"):
        here: Path = ("stretch_clusters", name)
        for section, called in (("protection_groups", "a protection group"), ("observed_flows", "an observed flow")):
            if name in document.keys(section):
                seen = f"{called} is called {name!r}, too"
                yield document.mistake(here, seen, "give the stretch cluster another name: results are kept by name")
        yield from _given_twice(document, (*here, "sites"), "rack", "a rack is in one site")
        yield from _given_twice(document, (*here, "controllers"), "controller", "a controller is in one site")
        sites = document.keys(*here, "sites")
        for site in document.keys(*here, "controllers"):
            if sites and site not in sites:
                expected = f"name one of the sites: {', '.join(sites)}"
                yield document.mistake((*here, "controllers", site), f"{site!r} is not a site", expected)
        if len(sites) == 1:
            seen = "only one site is declared"
            yield document.mistake((*here, "sites"), seen, "add the racks of the other sites, or remove sites")
        written = document.at(*here, "delay", "connection")
        if isinstance(written, str) and written == document.at(*here, "connection"):
            seen = f"{written!r} is also the connection of the cluster"
            expected = "who judges needs no WRITE: give the delay a principal of its own"
            yield document.mistake((*here, "delay", "connection"), seen, expected)


def _given_twice(document: Document, path: Path, what: str, expected: str) -> Iterator[Mistake]:
    first: dict[object, str] = {}
    for site in document.keys(*path):
        listed = document.at(*path, site)
        for number, each in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(each, (str, int)) and first.setdefault(each, site) != site:
                seen = f"the {what} {each!r} is already in {first[each]}"
                yield document.mistake((*path, site, number), seen, expected)
