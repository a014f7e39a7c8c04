"""The directory that machines of a Slurm cluster are joined to: what LDAP, SSSD and sudo take, and the settings' text.

Plain Python alone, because every generated project with Slurm holds a copy of this file and checks its configuration
with it.
"""

import base64
import binascii
import ipaddress
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: Ways to write users and groups into a directory: RFC 2307, its revision whose groups name members by DN, and Active
#: Directory, which Entra Domain Services is too.
LAYOUTS = ("rfc2307bis", "rfc2307", "ad")
#: What a directory gives numbers from, unless the blueprint says otherwise: SSSD's own numbers for Active Directory,
#: which it computes from the SID, the same on every machine (sssd-ad(5), "ID MAPPING"), end at the last one.
FIRST_ID, LAST_ID = 10_000, 2_000_200_000
#: Where those of Active Directory start (sssd-ldap(5), `ldap_idmap_range_min`).
FIRST_MAPPED_ID = 200_000
LDAPS, PLAIN = "ldaps", "ldap"
#: A server by its name, since a certificate is checked against it; no path, no query, no account.
_LABEL = r"[A-Za-z0-9][A-Za-z0-9-]{0,62}"
_URI = re.compile(rf"(?P<scheme>ldaps?)://{_LABEL}(?:\.{_LABEL}){{0,8}}(?::(?P<port>[1-9][0-9]{{0,4}}))?/?")
_PORTS = {LDAPS: 636, PLAIN: 389}
_LAST_PORT = 65_535
#: Characters that mean nothing to a shell, an INI file or a filter of LDAP; a DN with others is rare.
_VALUE = r"[A-Za-z0-9](?:[A-Za-z0-9 ._@+-]{0,126}[A-Za-z0-9._@+-])?"
_DN = re.compile(rf"(?:[A-Za-z][A-Za-z0-9-]{{0,30}}={_VALUE})(?:,[A-Za-z][A-Za-z0-9-]{{0,30}}={_VALUE}){{0,31}}")
_GROUP = re.compile(r"[A-Za-z](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")
#: Groups that make root by another name on a machine, or that the cluster's own list has.
_RESERVED = frozenset(
    {"adm", "admin", "cluster-admins", "cluster-users", "docker", "lxd", "root", "shadow", "slurm", "sudo", "wheel"}
)
_CERTIFICATE = re.compile(
    r"-----BEGIN CERTIFICATE-----\n(?P<body>(?:[A-Za-z0-9+/=]{1,76}\n)+)-----END CERTIFICATE-----"
)
#: SEQUENCE, the first byte of every certificate in DER.
_SEQUENCE = 0x30
MOST_URIS, MOST_GROUPS, MOST_NETWORKS = 8, 64, 16
#: The smallest store of a cloud takes 24,000 bytes beside what the settings' own words need.
MOST_CERTIFICATE_BYTES = 12_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Directory:
    """A directory of the site.

    Attributes:
        uris: of its servers, the first one that answers is asked.
        base: DN below which users and groups are.
        layout: one of LAYOUTS.
        start_tls: whether a server of `ldap://` is asked for TLS first; without it such a server is refused.
        bind_dn: of the cluster's account; empty where the directory answers everybody. Its password is in no file of
            the project.
        allowed_groups: whose members log in and submit.
        administrators: group whose members may become root on controllers and login machines; empty for none.
        passwords: whether the login machine takes the directory's passwords, beside its SSH keys.
        first_id, last_id: users and groups of the directory with other numbers are not known to machines.
        ca_certificate: PEM of who signed the servers' certificates; empty for the authorities of the system.
        networks: ranges of the servers' addresses, for firewalls that close what is not named.
    """

    uris: tuple[str, ...]
    base: str
    layout: str = LAYOUTS[0]
    start_tls: bool = False
    bind_dn: str = ""
    allowed_groups: tuple[str, ...] = ()
    administrators: str = ""
    passwords: bool = False
    first_id: int = FIRST_ID
    last_id: int = LAST_ID
    ca_certificate: str = ""
    networks: tuple[str, ...] = ()

    def ports(self) -> tuple[int, ...]:
        """Return the TCP ports of the servers, each once, in ascending order."""
        found = [match for uri in self.uris if (match := _URI.fullmatch(uri))]
        return tuple(sorted({int(match["port"] or _PORTS[match["scheme"]]) for match in found}))

    def authority_base64(self) -> str:
        """Return the certificates of the authority as one word, which the machines decode; empty for none."""
        return base64.b64encode(_lines(self.ca_certificate).encode()).decode()

    def lowest_id(self) -> int:
        """Return the smallest number that machines know of it: SSSD computes none below its own range."""
        return max(self.first_id, FIRST_MAPPED_ID) if self.layout == "ad" else self.first_id


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectoryFault:
    """What is wrong with one value.

    Attributes:
        path: the field, and the place within where it is a list.
    """

    id: str
    path: tuple[str | int, ...]
    message: str
    help: str


def directory_faults(directory: Directory) -> list[DirectoryFault]:
    """Return everything that a machine would refuse or misunderstand, in the order of the fields.

    `DIR001`: a URI that is none, or text that crosses the network unencrypted; `DIR002`: a DN that is none; `DIR003`: a
    group's name that is none, is reserved or is named twice; `DIR004`: nobody may log in; `DIR005`: no certificate;
    `DIR006`: a network that is none; `DIR007`: numbers that do not ascend.
    """
    return [
        *_uri_faults(directory),
        *_dn_faults(directory),
        *_group_faults(directory),
        *_certificate_faults(directory.ca_certificate),
        *_network_faults(directory.networks),
        *_number_faults(directory),
    ]


def settings_text(directory: Directory) -> str:
    """Return the settings of a directory without faults, in the form that `users_directory.sh` of the machines reads.

    There is no secret in them, and they say nothing of the place of one.
    """
    yes_or_no = {True: "yes", False: "no"}
    lines = [
        *(f"uri {uri.rstrip('/')}" for uri in directory.uris),
        f"base {directory.base}",
        f"layout {directory.layout}",
        f"start_tls {yes_or_no[directory.start_tls]}",
        *([f"bind_dn {directory.bind_dn}"] if directory.bind_dn else []),
        *(f"allow {group}" for group in directory.allowed_groups),
        *([f"administrators {directory.administrators}"] if directory.administrators else []),
        f"passwords {yes_or_no[directory.passwords]}",
        f"ids {directory.lowest_id()} {directory.last_id}",
    ]
    if directory.ca_certificate:
        lines.append(f"ca {directory.authority_base64()}")
    return "".join(f"{line}\n" for line in lines)


def _uri_faults(directory: Directory) -> Iterator[DirectoryFault]:
    if not directory.uris:
        yield DirectoryFault(
            id="DIR001",
            path=("uris",),
            message="no server of the directory is named",
            help="for example [ldaps://ldap1.example.com]",
        )
    for place, uri in enumerate(directory.uris):
        match = _URI.fullmatch(uri)
        problem = ("", "")
        if match is None or int(match["port"] or 1) > _LAST_PORT:
            problem = (
                f"{_shown(uri)} is not the address of a directory's server",
                "scheme, name and port if need be: ldaps://ldap1.example.com:636",
            )
        elif match["scheme"] == PLAIN and not directory.start_tls:
            problem = (
                f"{_shown(uri)} would send names and passwords over the network in plain text",
                "write ldaps://, or set start_tls: true where the server has StartTLS alone",
            )
        elif match["scheme"] == LDAPS and directory.start_tls:
            problem = (
                f"{_shown(uri)} has TLS from its first byte, so that StartTLS is refused there",
                "leave start_tls out, or write ldap:// for a server that has StartTLS",
            )
        if problem[0]:
            yield DirectoryFault(id="DIR001", path=("uris", place), message=problem[0], help=problem[1])
        elif uri in directory.uris[:place]:
            yield DirectoryFault(
                id="DIR001", path=("uris", place), message=f"{uri} is named twice", help="name each server once"
            )


def _dn_faults(directory: Directory) -> Iterator[DirectoryFault]:
    for field, value, needed in (("base", directory.base, True), ("bind_dn", directory.bind_dn, False)):
        if (value or needed) and _DN.fullmatch(value) is None:
            yield DirectoryFault(
                id="DIR002",
                path=(field,),
                message=f"{_shown(value)} is not a distinguished name of letters, digits and . _ @ + - in its values",
                help="for example ou=people,dc=example,dc=com",
            )


def _group_faults(directory: Directory) -> Iterator[DirectoryFault]:
    if not directory.allowed_groups:
        yield DirectoryFault(
            id="DIR004",
            path=("allowed_groups",),
            message="no group of the directory may log in, so joining it would help nobody",
            help="name the groups of those who work on the cluster, for example [hpc-users]",
        )
    for place, group in enumerate(directory.allowed_groups):
        yield from _name_faults(("allowed_groups", place), group)
        if group in directory.allowed_groups[:place]:
            yield DirectoryFault(
                id="DIR003", path=("allowed_groups", place), message=f"{group} is named twice", help="name it once"
            )
    if directory.administrators:
        yield from _name_faults(("administrators",), directory.administrators)


def _name_faults(path: tuple[str | int, ...], group: str) -> Iterator[DirectoryFault]:
    if _GROUP.fullmatch(group) is None:
        yield DirectoryFault(
            id="DIR003",
            path=path,
            message=f"{_shown(group)} cannot be the name of a group here: letters, digits, dots, hyphens and "
            "underscores, a letter first",
            help="make a group of the directory with such a name, for example hpc-users",
        )
    elif group.lower() in _RESERVED:
        yield DirectoryFault(
            id="DIR003",
            path=path,
            message=f"{group} is a group of the machines themselves, which the directory must not fill",
            help="name a group of the directory, for example hpc-admins",
        )


def _certificate_faults(text: str) -> Iterator[DirectoryFault]:
    if not text:
        return
    problem = None
    if "PRIVATE KEY" in text:
        problem = "this is a private key: replace the pair, since it was written into a file that others read"
    elif len(text) > MOST_CERTIFICATE_BYTES:
        problem = f"the certificates take {len(text):,} bytes, and the clouds' stores {MOST_CERTIFICATE_BYTES:,}"
    elif not _certificates(_lines(text)):
        problem = "this is no certificate in PEM, or it is cut off"
    if problem:
        yield DirectoryFault(
            id="DIR005",
            path=("ca_certificate",),
            message=problem,
            help="give the lines from -----BEGIN CERTIFICATE----- on, of the authority alone; leave it out for a "
            "public authority",
        )


def _certificates(text: str) -> bool:
    """Tell whether a text consists of certificates, as far as their form goes."""
    if not text or _CERTIFICATE.sub("", text).strip():
        return False
    for match in _CERTIFICATE.finditer(text):
        try:
            body = base64.b64decode(match["body"].replace("\n", ""), validate=True)
        except (binascii.Error, ValueError):
            return False
        if body[:1] != bytes([_SEQUENCE]) or _der_bytes(body) != len(body):
            return False
    return True


def _der_bytes(body: bytes) -> int:
    """Return the length that a certificate says of itself, in bytes, with its own tag and length."""
    header, long_form = 2, 0x80  # a tag and a length; a certificate is too long for the short form
    if len(body) < header or body[1] < long_form:
        return 0
    digits = body[1] - long_form
    return header + digits + int.from_bytes(body[header : header + digits], "big")


def _network_faults(networks: Sequence[str]) -> Iterator[DirectoryFault]:
    for place, text in enumerate(networks):
        try:
            network = ipaddress.IPv4Network(text)
        except ValueError:
            network = None
        if network is None or network.prefixlen == 0:
            yield DirectoryFault(
                id="DIR006",
                path=("networks", place),
                message=f"{_shown(text)} is not a range of IPv4 addresses of the directory's servers",
                help="for example 10.8.0.0/24, without bits behind the prefix",
            )


def _number_faults(directory: Directory) -> Iterator[DirectoryFault]:
    least = 1_100
    most = 4_294_967_293
    if not least <= directory.first_id < directory.last_id <= most:
        yield DirectoryFault(
            id="DIR007",
            path=("first_id",),
            message=f"{directory.first_id} to {directory.last_id} are no numbers of users of a directory",
            help=f"from {least} on, ascending; {FIRST_ID} to {LAST_ID} where nothing is said",
        )


def _lines(text: str) -> str:
    """Return a text of PEM with the line ends of Linux, and without blanks around its lines."""
    return "".join(f"{line.strip()}\n" for line in text.splitlines() if line.strip())


def _shown(value: str) -> str:
    """Show the start of a value, with what a terminal would act upon spelled out."""
    longest = 60
    return repr(value if len(value) <= longest else f"{value[:longest]}...")
