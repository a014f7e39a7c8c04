"""Rendering of the text templates under `templates/`: they loop and print; every number is computed before."""

from clusterwright import assets


def render(folder: str, name: str, **values: object) -> str:
    """Return a plain-text template filled with values.

    Args:
        folder: below `templates/`, for example `slurm`.
        name: file name with its `.j2`.
        **values: what the template prints; a name it does not find is an error, not a blank.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - kept out of the start-up time

    environment = Environment(
        loader=FileSystemLoader(assets.root() / "templates" / folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - configuration files, not HTML; names are validated where they enter
    )
    return environment.get_template(name).render(**values)
