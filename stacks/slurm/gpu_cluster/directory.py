"""Setting `directory`: the site's directory that the machines are joined to; none by default."""

from collections.abc import Iterable, Mapping
from typing import Final

from gpu_cluster.config_values import Values
from gpu_cluster.directory_settings import FIRST_ID, LAST_ID, LAYOUTS, Directory, directory_faults

DIRECTORY: Final = "directory"
#: Script of the machines that reads the settings; the projects of blueprints without a directory do not have it.
SCRIPT: Final = "users_directory.sh"
_MOST_ID: Final = 4_294_967_293
_FIELDS: Final = (
    "uris",
    "base",
    "layout",
    "start_tls",
    "bind_dn",
    "allowed_groups",
    "administrators",
    "passwords",
    "first_id",
    "last_id",
    "ca_certificate",
    "networks",
)


def read_directory(values: Values, *, needs_networks: bool = False) -> Directory | None:
    """Read and check `directory`; every problem is noted with its place and what to do. None for no directory.

    Args:
        values: of the layer.
        needs_networks: whether the cloud's firewall lets machines reach what a rule names alone.
    """
    section = values.optional_section(DIRECTORY)
    # The default of a key that is not set is an object without fields.
    if section is None or not section.values:
        return None
    before = len(values.problems)
    directory = Directory(
        uris=section.texts("uris"),
        base=section.text("base"),
        layout=section.choice("layout", LAYOUTS, LAYOUTS[0]),
        start_tls=section.flag("start_tls", default=False),
        bind_dn=section.optional_text("bind_dn") or "",
        allowed_groups=section.texts("allowed_groups"),
        administrators=section.optional_text("administrators") or "",
        passwords=section.flag("passwords", default=False),
        first_id=section.whole("first_id", 0, _MOST_ID, FIRST_ID),
        last_id=section.whole("last_id", 0, _MOST_ID, LAST_ID),
        ca_certificate=section.optional_text("ca_certificate", r"(?s).*\S.*") or "",
        networks=section.texts("networks"),
    )
    section.refuse_unknown(_FIELDS)
    # What has no form yet would be complained of twice.
    if len(values.problems) == before:
        for fault in directory_faults(directory):
            field, *rest = fault.path
            place = str(field) + "".join(f"[{part}]" for part in rest)
            section.fail(place, f"{fault.message} ({fault.id}); {fault.help}")
    if needs_networks and not directory.networks:
        said = "is missing: the ranges of the servers' addresses, which machines are let out to (DIR009)"
        section.fail("networks", said)
    return directory


def missing_script(directory: Directory | None, scripts: Mapping[str, str] | Iterable[str]) -> str:
    """Return what to say where the machines would not read the settings; empty where they do."""
    if directory is None or SCRIPT in scripts:
        return ""
    return (
        f"{DIRECTORY}: is set, and node/ has no {SCRIPT} that joins machines to it; name cluster.directory in the "
        "blueprint, and build the project again"
    )
