"""A real Chromium without a window, spoken to by its own DevTools protocol: what a person sees and clicks in Airflow.

The client of web sockets is the one that Airflow's own server brings.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import connect

_START_SECONDS = 60.0
_ANSWER_SECONDS = 60.0
_LOOK_SECONDS = 0.1
#: Keys that do something else than to write need their code, and Enter writes a line.
_KEYS: dict[str, dict[str, Any]] = {
    "Tab": {"windowsVirtualKeyCode": 9},
    "Escape": {"windowsVirtualKeyCode": 27},
    "Enter": {"windowsVirtualKeyCode": 13, "text": "\r"},
    " ": {"windowsVirtualKeyCode": 32, "text": " "},
}
#: Leads here and is no secure context, as a server is that is reached by plain http.
PLAIN = "plain.test"
_MOST_STOPS = 300
_FOCUSED = """(() => {
  const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect();
  const number = at === document.body ? -1 : [...document.querySelectorAll("*")].indexOf(at);
  const shown = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 && box.width > 1 && box.height > 1;
  return [number, shown, `${at.tagName} ${at.innerText || at.getAttribute("aria-label") || at.name || ""}`];
})()"""
#: Where the middle of an element is, in the window; null where a click would meet something else.
_MIDDLE = """element => {
  if (!element) return null;
  element.scrollIntoView({block: "center", inline: "nearest", behavior: "instant"});
  const box = element.getClientRects()[0];
  if (!box) return null;
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2], met = document.elementFromPoint(x, y);
  return met && (element.contains(met) || met.contains(element)) ? [x, y] : null;
}"""
_QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    f"--host-resolver-rules=MAP {PLAIN} 127.0.0.1",
    *("--remote-debugging-port=0", "--remote-allow-origins=*", "--hide-scrollbars"),
)


def program() -> str:
    """Return where Chromium is.

    :raises AssertionError: it is missing
    """
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, "Chromium is missing, and forms are submitted in a real browser: apt-get install chromium"
    return found


def _no_haste() -> list[str]:
    """Return what begins the command of a browser that root starts.

    Chromium takes precedence over every other process if it may, and what it shows comes from brokers and an Airflow.
    """
    setpriv = shutil.which("setpriv")
    return [setpriv, "--bounding-set", "-sys_nice"] if setpriv and os.geteuid() == 0 else []


def link(text: str) -> str:
    """Return the expression of JavaScript for the first link with this text."""
    return f"[...document.querySelectorAll('a')].find(each => each.innerText.trim() === {json.dumps(text)})"


def button(text: str) -> str:
    """Return the expression of JavaScript for the first button with this text."""
    return f"[...document.querySelectorAll('button')].find(each => each.innerText.trim() === {json.dumps(text)})"


@contextmanager
def chromium(folder: Path, *, width: int = 1200, height: int = 1000) -> Iterator[Page]:
    """Start a browser, and give one page of it.

    :param folder: for its profile; nothing else may be in it
    :param width: of the window, in CSS pixels; 390 is a telephone
    """
    profile = folder / "profile"
    command = [
        *_no_haste(),
        program(),
        *_QUIET,
        f"--user-data-dir={profile}",
        f"--window-size={width},{height}",
        "about:blank",
    ]
    with (
        (folder / "chromium.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True) as process,
    ):
        try:
            port = _port(profile / "DevToolsActivePort", process, folder / "chromium.log")
            with ExitStack() as end:
                tabs = _Tabs(f"127.0.0.1:{port}", end)
                page = tabs.attach(*tabs.ids())
                page.resize(width, height)
                yield page
        finally:
            # With its children, which would continue to write to the profile.
            os.killpg(process.pid, signal.SIGKILL)


def _port(told: Path, process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + _START_SECONDS
    while not (told.exists() and told.read_text().strip()):
        running = process.poll() is None and time.monotonic() < deadline
        assert running, f"Chromium did not start: {log.read_text(errors='replace')[-2000:]}"
        time.sleep(_LOOK_SECONDS)
    return told.read_text().splitlines()[0]


@dataclass(frozen=True, slots=True)
class _Tabs:
    """The tabs of a browser.

    :param address: of its protocol, without a scheme
    :param end: closes what speaks to the tabs
    """

    address: str
    end: ExitStack

    def ids(self) -> set[str]:
        """Return the ids of the tabs that are open."""
        found = httpx.get(f"http://{self.address}/json/list", timeout=_ANSWER_SECONDS).json()
        return {str(each["id"]) for each in found if each["type"] == "page"}

    def attach(self, tab: str) -> Page:
        """Speak to a tab."""
        address = f"ws://{self.address}/devtools/page/{tab}"
        # Nobody reads what a tab says after its last question, so its farewell would be waited for in vain.
        socket = connect(address, max_size=None, proxy=None, ping_interval=None, close_timeout=0)
        return Page(self.end.enter_context(socket), self)


@dataclass(frozen=True, slots=True)
class Stop:
    """Where the Tab key has put the focus.

    :param number: the element's number among all elements of the page, in the order of their text
    :param shown: whether the focus can be seen: the element has a size and an outline around it
    """

    number: int
    shown: bool
    name: str


class LeftMeanwhile(AssertionError):
    """The page was left for another one while it was asked, so nobody answered."""


class Page:
    """One page of a browser."""

    def __init__(self, socket: Any, tabs: _Tabs) -> None:
        self._socket = socket
        self._tabs = tabs
        self._sent = 0
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command of the protocol and return its result."""
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": params}))
        while (said := json.loads(self._socket.recv(timeout=_ANSWER_SECONDS))).get("id") != self._sent:
            pass  # events, which nobody waits for
        if "navigated or closed" in str(said.get("error")):
            raise LeftMeanwhile(f"{method}: {said['error']}")
        assert "error" not in said, f"{method}: {said['error']}"
        result: dict[str, Any] = said["result"]
        return result

    def log_in(self, url: str, token: str) -> None:
        """Be the user whose token this is."""
        self.call("Network.setCookie", name="_token", value=token, url=url)

    def resize(self, width: int, height: int) -> None:
        """Be as wide and high as this; as narrow as a telephone, be one."""
        mobile = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def go(self, url: str) -> None:
        """Open an address. First the page that is open is stopped: if it reloaded itself now, that would win."""
        with suppress(LeftMeanwhile):
            self.ask("window.stop()")
        self.call("Page.navigate", url=url)

    def show(self, html: str) -> None:
        """Show a page that no server has."""
        frame = self.call("Page.getFrameTree")["frameTree"]["frame"]["id"]
        self.call("Page.setDocumentContent", frameId=frame, html=html)

    def ask(self, script: str) -> Any:
        """Return what an expression of JavaScript is in the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, script: str, *, seconds: float = 60) -> None:
        """Wait until an expression is true; show what the page says where it never is."""
        deadline = time.monotonic() + seconds
        while not self._holds(script):
            assert time.monotonic() < deadline, f"never true: {script}; the page says: {self.text()[-3000:]}"
            time.sleep(_LOOK_SECONDS)

    def _holds(self, script: str) -> bool:
        try:
            return bool(self.ask(f"Boolean({script})"))
        except LeftMeanwhile:
            return False

    def picture(self, path: Path) -> None:
        """Keep what a person sees, as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def unfold(self) -> None:
        """Open everything that is folded, as a person does by clicks."""
        self.ask("document.querySelectorAll('details').forEach(each => { each.open = true })")

    def text(self) -> str:
        """Return what a person reads."""
        return str(self.ask("document.body ? document.body.innerText : ''"))

    def click(self, element: str) -> None:
        """Wait for an element that does not move, and click into its middle with the mouse.

        :param element: as an expression of JavaScript
        """
        self.wait(element)
        deadline = time.monotonic() + _ANSWER_SECONDS
        while (place := self.ask(f"({_MIDDLE})({element})")) is None or self.ask(f"({_MIDDLE})({element})") != place:
            assert time.monotonic() < deadline, f"something covers or moves it: {element}"
            time.sleep(_LOOK_SECONDS)
        for kind, button in (("mouseMoved", "none"), ("mousePressed", "left"), ("mouseReleased", "left")):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button=button, clickCount=1)

    def click_to(self, element: str, path: str) -> Page:
        """Click a link, and return the page that it leads to, in this tab or in one of its own.

        :param path: how the address ends that is opened
        """
        before = self._tabs.ids()
        self.click(element)
        opened: Page = self
        deadline = time.monotonic() + _ANSWER_SECONDS
        while not str(opened.ask("location.pathname + location.search + location.hash")).endswith(path):
            assert time.monotonic() < deadline, f"{element} leads to {opened.ask('location.href')} and not to {path}"
            time.sleep(_LOOK_SECONDS)
            if opened is self and (new := self._tabs.ids() - before):
                opened = self._tabs.attach(*new)
        opened.wait("document.readyState === 'complete' && document.body && document.body.innerText")
        return opened

    def type(self, selector: str, text: str, *, chosen: bool = False) -> None:
        """Write into a field as a keyboard does.

        :param chosen: the field is a list, and this one is chosen of it
        """
        self.wait(f"document.querySelector({json.dumps(selector)})")
        field = f"document.querySelector({json.dumps(selector)})"
        # The field of a list is hidden; the one to write in is before it.
        self.ask(f"({field}.type === 'hidden' ? {field}.parentElement.querySelector('input') : {field}).focus()")
        self.call("Input.insertText", text=text)
        if chosen:
            self.press("Enter")

    def press(self, key: str) -> None:
        """Press a key that is no letter."""
        given = _KEYS.get(key, {})
        for kind in ("keyDown" if "text" in given or not given else "rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, **given)

    def walk(self) -> list[Stop]:
        """Press Tab until the page is left or begins again, and return where the focus was, in this order.

        :raises AssertionError: the focus does not come out of the page
        """
        found: list[Stop] = []
        for _ in range(_MOST_STOPS):
            self.press("Tab")
            number, shown, name = self.ask(_FOCUSED)
            if number < 0 or (found and number == found[0].number):
                return found
            found.append(Stop(number, bool(shown), str(name)))
        raise AssertionError(f"{_MOST_STOPS} times Tab, and still in the page: {found[-3:]}")
