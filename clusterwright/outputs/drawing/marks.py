"""The few SVG marks that the technical drawings are made of."""

from html import escape

FONT = 'font-family="DejaVu Sans, Helvetica, Arial, sans-serif"'
INK = "#1f2933"
FAINT = "#9aa5b1"
PAPER = "#ffffff"
#: Fill by role; light enough for black text, and distinguished by colour-blind readers (after Okabe and Ito).
FILLS = {
    "compute": "#a9d3ee",
    "leaf": "#f6d38b",
    "spine": "#f0b088",
    "core": "#e39b9b",
    "network": "#f6d38b",
    "storage": "#a8dcc6",
    "management": "#e3bcd6",
    "ethernet": "#d9dde2",
}


def number(value: float) -> str:
    """Return a coordinate without needless digits."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def text(
    x: float, y: float, words: str, *, size: float = 11, anchor: str = "start", weight: str = "normal", fill: str = INK
) -> str:
    """Return a text; `anchor` is `start`, `middle` or `end`."""
    return (
        f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" text-anchor="{anchor}" '
        f'font-weight="{weight}" fill="{fill}">{escape(words)}</text>'
    )


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    fill: str,
    stroke: str = INK,
    title: str = "",
    round_by: float = 0,
) -> str:
    """Return a rectangle with a tooltip."""
    tip = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
        f'rx="{number(round_by)}" fill="{fill}" stroke="{stroke}" stroke-width="0.7">{tip}</rect>'
    )


def line(
    x1: float, y1: float, x2: float, y2: float, *, stroke: str = FAINT, width: float = 1.0, title: str = ""
) -> str:
    """Return a straight line with a tooltip."""
    tip = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" stroke="{stroke}" '
        f'stroke-width="{number(width)}">{tip}</line>'
    )


def page(width: float, height: float, *, title: str, description: str, marks: list[str]) -> str:
    """Return the SVG document, on white, with a title and a description for readers that cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" height="{number(height)}" '
        f'viewBox="0 0 {number(width)} {number(height)}" {FONT} role="img">\n'
        f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>\n"
        f'<rect width="100%" height="100%" fill="{PAPER}"/>\n' + "\n".join(marks) + "\n</svg>\n"
    )
