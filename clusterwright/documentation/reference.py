"""Every generated page and picture of `docs/reference`, by its name."""

from collections.abc import Callable, Mapping
from pathlib import Path

from clusterwright.documentation.blueprint_keys import blueprint_page
from clusterwright.documentation.catalogue import catalog_page
from clusterwright.documentation.command_help import commands_page
from clusterwright.documentation.costed_examples import examples_page, pictures
from clusterwright.documentation.environment import environment_page
from clusterwright.documentation.explained_numbers import numbers_page
from clusterwright.documentation.http_interface import http_page
from clusterwright.documentation.json_documents import json_page
from clusterwright.documentation.price_feeds import feeds_page
from clusterwright.documentation.rule_codes import codes_page
from clusterwright.documentation.written_files import files_page

#: Of the folder `docs/reference`; the glossary beside them is written by hand.
PAGES: Mapping[str, Callable[[], str]] = {
    "blueprint.md": blueprint_page,
    "catalog.md": catalog_page,
    "codes.md": codes_page,
    "commands.md": commands_page,
    "environment.md": environment_page,
    "examples.md": examples_page,
    "feeds.md": feeds_page,
    "files.md": files_page,
    "http.md": http_page,
    "json.md": json_page,
    "numbers.md": numbers_page,
    **pictures(),
}


def write(folder: Path) -> tuple[str, ...]:
    """Write the pages that are not current; return their names.

    Args:
        folder: `docs/reference` of a checkout; made if missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    changed = []
    for name, make in PAGES.items():
        path, text = folder / name, make()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            changed.append(name)
    return tuple(changed)
