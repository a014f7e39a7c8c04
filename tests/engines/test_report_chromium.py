"""The cost report in a real browser: no request, no error, every drawing there, no label on another, prints."""

import html
import json
import os
import re
import struct
import subprocess
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterwright.outputs.drawing.charts import PALETTE
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import USD
from clusterwright.plan.text.words import NAME_OF_TARGET, answer_lines

pytestmark = pytest.mark.engine

#: A screen shows one part at a time; measured are all.
ALL_PARTS = "<style>.panel { display: block !important }</style>"
#: Run in the page: labels that leave their drawing or cover another one, by the fonts that are really used.
MEASURE = """
<pre id="found"></pre>
<script>
const found = [];
for (const svg of document.querySelectorAll("svg")) {
  const frame = svg.getBoundingClientRect();
  const labels = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
  for (const [words, box] of labels) {
    if (box.left < frame.left - 1 || box.right > frame.right + 1) found.push("outside: " + words);
    if (box.top < frame.top - 1 || box.bottom > frame.bottom + 1) found.push("outside: " + words);
  }
  labels.forEach(([words, box], index) => {
    for (const [other, its] of labels.slice(index + 1)) {
      const across = Math.min(box.right, its.right) - Math.max(box.left, its.left);
      const down = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top);
      if (across > 1 && down > 4) found.push("overlap: " + words + " / " + other);
    }
  });
}
for (const part of document.querySelectorAll(".scroll")) {
  if (part.scrollWidth > part.clientWidth + 1) found.push("too wide: " + part.textContent.slice(0, 60));
}
document.getElementById("found").textContent = JSON.stringify([document.querySelectorAll("svg text").length, found]);
</script>
"""


#: The report in frames of three widths; each tells what is too wide, where money is, and how its colours differ.
FRAMES = """
<!doctype html><meta charset="utf-8"><style>body { margin: 0 } iframe { border: 0; display: block }</style>
%s
<pre id="found"></pre>
<script>
window.addEventListener("load", () => {
  const found = {};
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, view = frame.contentWindow, width = view.innerWidth;
    const box = element => element.getBoundingClientRect();
    const scrolls = element => element.closest(".scroll, .drawing");
    const wide = [...page.body.querySelectorAll("*")].filter(
      element => !scrolls(element) && box(element).right > width + 1 && box(element).width > 0);
    const clipped = cell => {
      const clip = scrolls(cell).getBoundingClientRect(), own = box(cell);
      return own.width < 1 || own.height < 1 || own.left < clip.left - 1 || own.right > Math.min(clip.right, width) + 1;
    };
    const hidden = [...page.querySelectorAll("td")].filter(cell => /[$][0-9]/.test(cell.textContent)).filter(clipped);
    const light = colour => {
      const [r, g, b] = colour.match(/[0-9.]+/g).map(part => part / 255).map(
        part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = element => {
      for (let at = element; at; at = at.parentElement) {
        const colour = view.getComputedStyle(at).backgroundColor;
        if (!/, 0[)]$/.test(colour)) return colour;
      }
      return "rgb(255, 255, 255)";
    };
    const contrast = [...page.querySelectorAll("p, li, li span, li b, td, th, .detail, a, figcaption")].map(element => {
      const [one, other] = [light(view.getComputedStyle(element).color), light(ground(element))];
      return [(Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05), element.textContent.slice(0, 40)];
    }).sort((one, other) => one[0] - other[0]);
    found[width] = {
      scroll: page.documentElement.scrollWidth, wide: wide.map(e => e.tagName + " " + e.textContent.slice(0, 40)),
      hidden: hidden.map(cell => cell.textContent.trim().slice(0, 40)), money: page.querySelectorAll("td").length,
      compared: [...page.querySelector("table").querySelectorAll("td")].filter(clipped).map(cell => cell.dataset.title),
      answer: box(page.querySelector(".answer")).bottom, tile: box(page.querySelector(".figures li")).bottom,
      tiles: box(page.querySelector(".figures")).bottom, contrast: contrast[0], ground: light(ground(page.body)),
    };
  }
  document.getElementById("found").textContent = JSON.stringify(found);
});
</script>
"""
#: Least contrast of small text (WCAG 2.1, 1.4.3), and the height of a window or phone.
CONTRAST, WINDOW, PHONE = 4.5, 900, 900
#: Sheets of A4 that a report may take.
SHEETS = 8
#: Columns of the comparison that the ways are told apart by.
DECIDING = {"Ranked", "This run", "Share of a run", "Present value", "Days"}


@dataclass(frozen=True, kw_only=True)
class Visit:
    """What a visit of a page left behind: the page's tree, messages on the console, and requests the page made."""

    tree: str
    console: list[str]
    requests: list[str]


@pytest.fixture(scope="module")
def browser(
    require_engine: Callable[..., None], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[str, str]]:
    """Return a function that opens a page in headless Chromium with some switches and returns (stdout, stderr)."""
    require_engine("chromium")

    def browse(page: Path, *switches: str) -> tuple[str, str]:
        profile = tmp_path_factory.mktemp("profile")
        done = subprocess.run(
            [
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--hide-scrollbars",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-default-apps",
                "--disable-extensions",
                "--disable-dev-shm-usage",
                "--host-resolver-rules=MAP * ~NOTFOUND",
                f"--user-data-dir={profile}",
                "--window-size=1280,1600",
                *switches,
                page.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
            env=os.environ | {"HOME": str(profile), "NO_PROXY": "*"},
        )
        return done.stdout, done.stderr

    return browse


def visit(browser: Callable[..., tuple[str, str]], page: Path, log: Path) -> Visit:
    """Open a page, and tell the requests that it made from those of the browser itself, which have no origin."""
    tree, messages = browser(page, "--enable-logging=stderr", f"--log-net-log={log}", "--dump-dom")
    net = json.loads(log.read_text(encoding="utf-8"))
    start = net["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    jobs = [event["params"] for event in net["events"] if event["type"] == start and "url" in event.get("params", {})]
    return Visit(
        tree=tree,
        console=[line for line in messages.splitlines() if "CONSOLE" in line],
        requests=[job["url"] for job in jobs if job["initiator"] != "not an origin"],
    )


def pixels(png: bytes) -> Counter[tuple[int, int, int]]:
    """Return how often each colour occurs in a PNG of 8-bit RGB or RGBA without interlacing."""
    at, data, header = 8, b"", b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        header, data = (body, data) if kind == b"IHDR" else (header, data + body * (kind == b"IDAT"))
        at += length + 12
    width, height, depth, colour = struct.unpack(">IIBB", header[:10])
    assert depth == 8
    size = {2: 3, 6: 4}[colour]
    raw, stride = zlib.decompress(data), width * size
    before, counted = bytearray(stride), Counter[tuple[int, int, int]]()
    for row in range(height):
        kind, line = raw[row * (stride + 1)], bytearray(raw[row * (stride + 1) + 1 : (row + 1) * (stride + 1)])
        unfilter(kind, line, before, size)
        counted.update(zip(line[0::size], line[1::size], line[2::size], strict=True))
        before = line
    return counted


def unfilter(kind: int, line: bytearray, before: bytearray, size: int) -> None:
    """Undo one row's filter (PNG specification, section 9)."""
    for index in range(len(line)):
        left = line[index - size] if index >= size else 0
        up, corner = before[index], before[index - size] if index >= size else 0
        if kind == 1:
            line[index] = (line[index] + left) & 255
        elif kind == 2:
            line[index] = (line[index] + up) & 255
        elif kind == 3:
            line[index] = (line[index] + (left + up) // 2) & 255
        elif kind == 4:
            guess = left + up - corner
            nearest = min((left, up, corner), key=lambda value: abs(guess - value))
            line[index] = (line[index] + nearest) & 255


def test_the_report_opens_without_requests_or_errors(
    browser: Callable[..., tuple[str, str]], report: Path, tmp_path: Path
) -> None:
    """Opening it makes no request and leaves no message on the console; all drawings are in the tree."""
    seen = visit(browser, report, tmp_path / "net.json")
    assert seen.requests == []
    assert seen.console == []
    assert seen.tree.count("<svg") == report.read_text(encoding="utf-8").count("<svg") >= 7


def test_the_policy_stops_and_the_logs_show_what_should_not_be_there(
    browser: Callable[..., tuple[str, str]], report: Path, tmp_path: Path
) -> None:
    """An image from elsewhere is stopped and reported on the console; without the policy the request is seen."""
    source = report.read_text(encoding="utf-8")
    broken = source.replace("<body>", '<body><img src="http://elsewhere.test/x.png"><script>let a = 1;</script>')
    page = tmp_path / "broken.html"
    page.write_text(broken, encoding="utf-8")
    seen = visit(browser, page, tmp_path / "net.json")
    assert seen.requests == []
    assert sum("Content Security Policy" in line for line in seen.console) == 2
    page.write_text(re.sub(r"<meta http-equiv[^>]*>", "", broken), encoding="utf-8")
    assert visit(browser, page, tmp_path / "open.json").requests == ["http://elsewhere.test/x.png"]


def test_labels_are_apart_in_the_browsers_own_fonts(
    browser: Callable[..., tuple[str, str]], report: Path, tmp_path: Path
) -> None:
    """Measured in the page, no label leaves its drawing or covers another, and no table is wider than the page."""
    source = re.sub(r"<meta http-equiv[^>]*>", "", report.read_text(encoding="utf-8"))
    page = tmp_path / "measured.html"
    page.write_text(source.replace("</body>", ALL_PARTS + MEASURE + "</body>"), encoding="utf-8")
    tree, _ = browser(page, "--dump-dom")
    count, found = json.loads(re.search(r'<pre id="found">(.*?)</pre>', tree)[1])  # type: ignore[index]
    assert count > 100
    assert found == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_read_on_a_phone_a_tablet_and_a_desk_by_day_and_night(
    browser: Callable[..., tuple[str, str]], report: Path, tmp_path: Path, scheme: str
) -> None:
    """Nothing is wider than the window, the first page answers, a phone shows all money, and text can be told apart.

    A phone shows all four figures before the sentences of the answer. The window shows the columns that decide without
    scrolling a table sideways.
    """
    widths = (400, 800, 1400)
    text = report.read_text(encoding="utf-8").replace("</head>", ALL_PARTS + "</head>")
    source = html.escape(text, quote=True)
    frames = "".join(f'<iframe width="{width}" height="{WINDOW}" srcdoc="{source}"></iframe>' for width in widths)
    page = tmp_path / "frames.html"
    page.write_text(FRAMES % frames, encoding="utf-8")
    tree, _ = browser(page, f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}", "--dump-dom")
    # The frames' sources are attributes: the measurements are the last element of that name.
    seen = json.loads(re.findall(r'<pre id="found">(.*?)</pre>', tree)[-1])
    assert set(seen) == {str(width) for width in widths}
    for width, found in seen.items():
        assert found["scroll"] <= int(width), width
        assert found["wide"] == [], width
        assert not DECIDING & set(found["compared"]), width
        assert found["contrast"][0] >= CONTRAST, (width, found["contrast"])
        assert (found["ground"] < 0.1) == (scheme == "dark"), width
    assert seen["400"]["hidden"] == []
    assert seen["400"]["money"] > 100
    assert seen["400"]["tile"] < seen["400"]["tiles"] <= PHONE < seen["400"]["answer"]
    assert max(seen[width][part] for width in ("800", "1400") for part in ("answer", "tiles")) <= WINDOW


def test_the_drawings_are_painted(browser: Callable[..., tuple[str, str]], report: Path, tmp_path: Path) -> None:
    """A picture of the top of the page shows the bars in their colours, not an empty sheet."""
    picture = tmp_path / "page.png"
    browser(report, f"--screenshot={picture}")
    seen = pixels(picture.read_bytes())
    assert seen.most_common(1)[0][0] == (255, 255, 255)
    for colour in PALETTE[:3]:
        wanted = (int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16))
        assert seen[wanted] > 200, colour


def test_it_prints(
    browser: Callable[..., tuple[str, str]],
    require_engine: Callable[..., None],
    shipped_plan: Plan,
    report: Path,
    tmp_path: Path,
) -> None:
    """Printed, the memo is a page of its own, the sliders are not there, and every target is named."""
    require_engine("pdftotext")
    paper = tmp_path / "report.pdf"
    browser(report, "--no-pdf-header-footer", f"--print-to-pdf={paper}")
    text = subprocess.run(["pdftotext", str(paper), "-"], capture_output=True, text=True, check=True, timeout=60).stdout
    words = " ".join(text.split())
    for line in answer_lines(shipped_plan, USD):
        assert line[1:] in words
    for option in shipped_plan.options:
        assert words.lower().count(NAME_OF_TARGET[option.target].lower()) >= 3
    assert 5 <= text.count("\f") <= SHEETS
    memo = " ".join(text.partition("\f")[0].split())
    for mark in (
        *answer_lines(shipped_plan, USD),
        "Cheapest in",
        "Risks, the largest first",
        "Still needed",
        "Software:",
    ):
        assert mark[1:] in memo
    assert "Comparison" not in memo
    assert "Back to the plan" not in words
