"""`python -m clusterwright.documentation`: write the pages of `docs/reference` that are not current."""

from clusterwright import assets
from clusterwright.documentation.reference import write


def main() -> None:
    """Write them, and say which changed."""
    changed = write(assets.root() / "docs" / "reference")
    print(f"written: {', '.join(changed)}" if changed else "every page is current")  # noqa: T201


if __name__ == "__main__":
    main()
