"""What a reader sees of a page when it has loaded: without what is folded, hidden, or only for a screen reader."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser

_NOT_SHOWN = {"style", "script", "noscript", "head"}
#: They have no end tag.
_VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}


def visible_words(page: str) -> list[str]:
    """Return the words that are visible without a click, in order."""
    reader = _Visible()
    reader.feed(page)
    return " ".join(reader.found).split()


@dataclass(frozen=True)
class _Element:
    tag: str
    hidden: bool
    #: It shows its summary alone.
    folded: bool

    def hides(self, tag: str) -> bool:
        return self.hidden or (self.folded and tag != "summary")


class _Visible(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open = [_Element("", hidden=False, folded=False)]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        given = dict(attrs)
        own = tag in _NOT_SHOWN or "hidden" in given or {"unseen", "skip"} & set((given.get("class") or "").split())
        hidden = bool(own) or self._open[-1].hides(tag)
        self._open.append(_Element(tag, hidden, folded=tag == "details" and "open" not in given))

    def handle_endtag(self, tag: str) -> None:
        while len(self._open) > 1 and self._open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not self._open[-1].hides(""):
            self.found.append(data)
