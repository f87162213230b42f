"""How well text and drawings of a page are seen, as Chromium computes their colours: the ratios of WCAG 2.2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from support.browser import Page

#: For people of all eyes, level AA: of text, of large text, and of what is drawn and means something.
TEXT, LARGE, DRAWN = 4.5, 3.0, 3.0
#: What a page may be shown on: the medium, and whether its reader prefers a dark screen. Paper is white for everybody.
SHOWN_ON = {
    "light": ("screen", "light"),
    "dark": ("screen", "dark"),
    "paper": ("print", "light"),
    "paper, of a dark screen": ("print", "dark"),
}
_LOW = f"""(() => {{
  const paper = matchMedia("print").matches;
  const rgba = colour => {{
    const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a];
  }};
  const over = (top, under) => [0, 1, 2].map(n => top[n] * top[3] + under[n] * (1 - top[3])).concat(1);
  const light = colour => {{
    const [r, g, b] = colour.slice(0, 3).map(each => each / 255).map(
      each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }};
  const ratio = (one, other) => {{
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  }};
  const ancestors = element => element ? [...ancestors(element.parentElement), element] : [];
  // Of paper a browser leaves out every background that does not say that it must be there.
  const ground = element => ancestors(element).filter(
    each => !paper || getComputedStyle(each).printColorAdjust === "exact"
  ).reduce((under, each) => over(rgba(getComputedStyle(each).backgroundColor), under),
    [...(matchMedia("(prefers-color-scheme: dark)").matches && !paper ? [18, 18, 18] : [255, 255, 255]), 1]);
  const low = (element, colour, under, least) => {{
    const found = ratio(over(rgba(colour), under), under);
    return found >= least ? [] : [`${{found.toFixed(2)}} of ${{least}}: ${{element.outerHTML.slice(0, 160)}}`];
  }};
  const seen = element => element.checkVisibility({{opacityProperty: true, visibilityProperty: true}})
    && !element.closest(".unseen, .skip, :disabled");
  const texts = [...document.querySelectorAll("body *")].filter(each => seen(each) && (
    each.matches("select, textarea, input")
    || [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim())
  )).flatMap(each => {{
    const style = getComputedStyle(each), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    return each.closest("svg") ? [] : low(each, style.color, ground(each), large ? {LARGE} : {TEXT});
  }});
  const drawn = [...document.querySelectorAll("svg rect:not(.incident, .value), svg polyline, svg line")].filter(seen)
    .flatMap(each => {{
      const style = getComputedStyle(each), under = ground(each.closest("svg"));
      return low(each, each.matches("rect") ? style.fill : style.stroke, under, {DRAWN});
    }});
  const edges = [...document.querySelectorAll("button, input, select, textarea, .act")].filter(seen).flatMap(each => {{
    const style = getComputedStyle(each), under = ground(each.parentElement);
    const filled = ratio(ground(each), under) >= {DRAWN};
    return filled ? [] : low(each, style.borderTopColor, under, {DRAWN});
  }});
  return [...texts, ...drawn, ...edges];
}})()"""


@contextmanager
def shown_on(page: Page, medium: str) -> Iterator[None]:
    """Show the page on a screen or on paper, by its name in :data:`SHOWN_ON`."""
    media, scheme = SHOWN_ON[medium]
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.call("Emulation.setEmulatedMedia", media=media, features=features)
    try:
        yield
    finally:
        page.call("Emulation.setEmulatedMedia", media="", features=[])


def hard_to_see(page: Page) -> list[str]:
    """Return each text, drawing and edge of a control with too little contrast: the ratio, and the element."""
    return list(page.ask(_LOW))
