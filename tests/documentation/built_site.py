"""The documentation site, built strictly by the MkDocs of its own environment."""

import os
import subprocess
from pathlib import Path

from clusterwright.documentation.site import stage
from tests.documentation.console import ROOT

MKDOCS = Path(os.environ.get("CLUSTERWRIGHT_DOCS_VENV", ROOT / ".venv-docs")) / "bin" / "mkdocs"
#: Why there is no site without it.
NOT_INSTALLED = f"MkDocs is not installed in {MKDOCS.parents[1].name} (make .venv-docs/installed)"


def build(folder: Path) -> Path:
    """Stage the pages in a folder, build the site there, and return the site's folder."""
    staged = stage(ROOT, folder / "source")
    assert len(staged) > 80
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    configuration = configuration.replace("docs_dir: build/site-source", f"docs_dir: {folder / 'source'}")
    (folder / "mkdocs.yml").write_text(configuration.replace("site_dir: build/site", f"site_dir: {folder / 'site'}"))
    done = subprocess.run(
        [MKDOCS, "build", "--strict", "--config-file", folder / "mkdocs.yml"],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"
