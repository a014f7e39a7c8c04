"""Location of the data folders: blueprints, catalog, pricing, stacks, tco, templates."""

from functools import cache
from pathlib import Path

from clusterwright.errors import ClusterwrightError

_PACKAGE = Path(__file__).resolve().parent


@cache
def root() -> Path:
    """Return the parent of the data folders.

    Returns:
        The bundled copy inside an installed wheel, else the checkout next to the package.

    Raises:
        ClusterwrightError: neither folder exists; the installation is broken.
    """
    bundled = _PACKAGE / "_assets"
    if bundled.is_dir():
        return bundled
    checkout = _PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / "blueprints").is_dir():
        return checkout
    raise ClusterwrightError(
        f"the data folders are missing: looked in {bundled} and {checkout}",
        help="install Clusterwright again",
    )
