"""The Markdown that the site is built from: `docs/`, and the pages that a checkout keeps elsewhere.

Links within the documentation stay links. One that leads to another file of the repository, which a site does not hold,
becomes the file's path. `python -m clusterwright.documentation.site FOLDER` writes it; `make docs` then runs MkDocs.
"""

import argparse
import posixpath
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from clusterwright import assets

#: Pages beside `docs/` that the site has, by their path in it.
ELSEWHERE: Mapping[str, str] = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "catalog/README.md": "reference/catalog-files.md",
    "pricing/README.md": "reference/price-points.md",
    "stacks/README.md": "project/stacks-of-each-cloud.md",
}
#: A link or a picture, with its text, address and place in a page.
_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<path>[^)#:\s]*)(?P<place>#[^)\s]*)?\)")
_FENCE = "```"
#: What is neither a page nor shown on one.
_LEFT_OUT = (".csv",)


def stage(root: Path, folder: Path) -> tuple[str, ...]:
    """Write the site's Markdown and pictures.

    Args:
        root: of a checkout.
        folder: emptied first.

    Returns:
        paths of the pages below the folder.
    """
    shutil.rmtree(folder, ignore_errors=True)
    places = dict(ELSEWHERE)
    for path in sorted((root / "docs").rglob("*")):
        if path.is_file() and path.suffix not in _LEFT_OUT:
            places[path.relative_to(root).as_posix()] = path.relative_to(root / "docs").as_posix()
    for source, place in places.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".md":
            text = (root / source).read_text(encoding="utf-8")
            target.write_text(_relinked(text, root, source, place, places), encoding="utf-8")
        else:
            shutil.copyfile(root / source, target)
    return tuple(place for place in places.values() if place.endswith(".md"))


def _relinked(text: str, root: Path, source: str, place: str, places: Mapping[str, str]) -> str:
    """Return a page whose links hold at its place in the site."""

    def link(found: re.Match[str]) -> str:
        if not found["path"]:
            return found[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found["path"]))
        if target in places:
            address = posixpath.relpath(places[target], posixpath.dirname(place))
            return f"{found['picture']}[{found['text']}]({address}{found['place'] or ''})"
        # A link that leads nowhere stays one, so that building the site fails.
        return _path_of(target, found["text"]) if (root / target).exists() else found[0]

    fenced = False
    lines = []
    for line in text.splitlines():
        fenced ^= line.startswith(_FENCE)
        lines.append(line if fenced else _LINK.sub(link, line))
    return "\n".join(lines) + "\n"


def _path_of(target: str, text: str) -> str:
    """Return what stands for a link to a file of the repository."""
    plain = text.strip("`")
    return f"`{target}`" if plain in (target, posixpath.basename(target)) else f"{text} (`{target}`)"


def main() -> None:
    """Write the folder that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder to write, emptied first")
    stage(assets.root(), parser.parse_args().folder)


if __name__ == "__main__":
    main()
