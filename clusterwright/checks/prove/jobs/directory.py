"""The directory that machines are joined to: settings of the folder against the plan, and the script for them."""

import re
from collections.abc import Iterator

from clusterwright.blueprint.sections.jobs import SHARED_PATH
from clusterwright.checks.prove.papers import Papers, absent
from clusterwright.directory_settings import Directory
from clusterwright.errors import Finding

SETTINGS, SCRIPT = "node/directory.conf", "node/users_directory.sh"
#: Where `users.md` puts the settings and the password; node.env names both.
SETTINGS_PATH = f"{SHARED_PATH}/.gpu-cluster/directory"
PASSWORD_PATH = "/etc/gpu-cluster/directory-password"  # noqa: S105 - where it is, not what it is
#: What the script has to hold, and what happens where it does not.
_KEPT = (
    (r"(?m)^ldap_tls_reqcert = (demand|hard)$", "ldap_tls_reqcert = demand", "any server may say who becomes root"),
    (r"install_text /etc/sssd/sssd\.conf 0600 ", "mode 0600 of sssd.conf", "others would read the password"),
    (r"(?m)^simple_allow_groups = \$entering\b", "simple_allow_groups", "everybody of the directory would get in"),
    (r"\*false,\*ldap://\*", "the refusal of ldap:// without StartTLS", "names would cross the network in plain text"),
)


def directory_findings(papers: Papers) -> Iterator[Finding]:
    """Yield where settings or script differ from the plan's directory (`SET004`); nothing where there is none."""
    directory = papers.documents.plan.cluster.directory
    if directory is None:
        return
    written = _written(papers)
    for name, expected in _expected(directory).items():
        number, values = written.pop(name, (1, ()))
        if values != expected:
            said = ", ".join(values) or None
            yield absent(
                "SET004", f"{SETTINGS}:{number}", name, said, ", ".join(expected) or "no line", "plan.json has it"
            )
    for name, (number, values) in written.items():
        yield absent("SET004", f"{SETTINGS}:{number}", name, ", ".join(values), "no line", "plan.json has none")
    text = papers.text(SCRIPT) if (papers.documents.site / SCRIPT).is_file() else ""
    for pattern, what, why in _KEPT:
        if re.search(pattern, text) is None:
            yield absent("SET004", SCRIPT, what, None, "as it was", why)


def _written(papers: Papers) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Return the values of each name, with the line of the first one."""
    found: dict[str, tuple[int, tuple[str, ...]]] = {}
    lines = papers.text(SETTINGS).splitlines() if (papers.documents.site / SETTINGS).is_file() else []
    for number, line in enumerate(lines, start=1):
        name, _, value = line.strip().partition(" ")
        if name:
            first, values = found.get(name, (number, ()))
            found[name] = first, (*values, value)
    return found


def _expected(directory: Directory) -> dict[str, tuple[str, ...]]:
    bound = directory.bind_dn
    flags = {"start_tls": directory.start_tls, "passwords": directory.passwords}
    wanted = {
        "uri": tuple(uri.rstrip("/") for uri in directory.uris),
        "base": (directory.base,),
        "layout": (directory.layout,),
        **{name: ("yes" if value else "no",) for name, value in flags.items()},
        "bind_dn": (bound,) if bound else (),
        "allow": directory.allowed_groups,
        "administrators": (directory.administrators,) if directory.administrators else (),
        "ids": (f"{directory.lowest_id()} {directory.last_id}",),
        "ca": (directory.authority_base64(),) if directory.ca_certificate else (),
    }
    return {name: values for name, values in wanted.items() if values}
