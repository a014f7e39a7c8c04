"""How texts of the report are read: amounts stay on one line, and addresses in the words of a source are links."""

import re

from markupsafe import Markup, escape

#: The blank between a number and what it counts: `$1.24 M`, `54 %`.
_WITHIN_AN_AMOUNT = re.compile(r"(?<=\d) (?=(?:M|%)(?!\w))")
#: A host with or without a path, as sources are written down; names of files and instances end in none of these.
_ADDRESS = re.compile(
    r"(?<![\w@.-])(?:https?://)?(?P<place>(?:[a-z0-9-]+\.)+(?:ai|co|com|dev|fm|gov|io|jp|net|org)\b(?:/[\w./?=&%~+-]*\w)?)",
    re.ASCII | re.IGNORECASE,
)


def unbroken(value: object) -> object:
    r"""Return a text whose amounts stay on one line; what is no plain text is returned as it is.

    >>> unbroken("$1.06 to 1.47 M, 54 % of 3 Mbit")
    '$1.06 to 1.47\xa0M, 54\xa0% of 3 Mbit'
    """
    return _WITHIN_AN_AMOUNT.sub("\N{NO-BREAK SPACE}", value) if type(value) is str else value


def linked(text: str) -> Markup:
    """Return a text as HTML, its addresses as links; everything else is escaped.

    >>> linked("A tracker (github.com/a/b), 00a")
    Markup('A tracker (<a href="https://github.com/a/b" rel="noreferrer">github.com/a/b</a>), 00a')
    >>> linked("<b> p5.48xlarge pricing.yml")
    Markup('&lt;b&gt; p5.48xlarge pricing.yml')
    """
    parts, at = [], 0
    for found in _ADDRESS.finditer(text):
        link = Markup('<a href="https://{place}" rel="noreferrer">{words}</a>')
        parts += [escape(text[at : found.start()]), link.format(place=found["place"], words=found[0])]
        at = found.end()
    return Markup("").join([*parts, escape(text[at:])])
