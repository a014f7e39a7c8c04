"""Reads what jobs run in, which the machines prepare at boot."""

from typing import Final

from gpu_cluster.config_values import Values

JOB_ENVIRONMENT: Final = "jobEnvironment"
_KINDS: Final = ("container", "venv", "modules")


def read_job_environment(values: Values) -> str:
    """Read the kind of environment: `container`, where nothing is said, `venv` or `modules`.

    What else the section names (image, environment, modules) is for the launch files; machines prepare for the kind.
    """
    section = values.optional_section(JOB_ENVIRONMENT)
    if section is None:
        return _KINDS[0]
    kind = section.choice("kind", _KINDS, _KINDS[0])
    section.refuse_unknown(("image", "venv", "modules"))
    return kind
