"""Bundle the data folders into the wheel, beside the package's code.

An editable install reads the folders from the checkout, so edits are seen at once; only a built wheel carries copies.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("blueprints", "catalog", "pricing", "stacks", "tco", "templates")


class BundleFolders(BuildHookInterface):  # type: ignore[type-arg]
    """Add every data folder under `clusterwright/_assets/` when a wheel (not an editable install) is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Extend the wheel's `force_include` table.

        Args:
            version: hatchling's build flavour, `standard` for a wheel, `editable` for a development install.
            build_data: hatchling's mutable build description.
        """
        if version == "standard":
            build_data["force_include"].update({folder: f"clusterwright/_assets/{folder}" for folder in FOLDERS})
            pages = Path(self.root, "docs")  # `clusterwright docs` shows them, by today's names and those they had
            build_data["force_include"].update(
                {
                    str(path): f"clusterwright/_assets/docs/{path.relative_to(pages).as_posix()}"
                    for pattern in ("*.md", "*.csv")
                    for path in sorted(pages.rglob(pattern))
                }
            )
