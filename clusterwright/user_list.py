"""The cluster's users and groups: what Linux, Slurm and SSH take, and the list as the machines read it.

Plain Python alone, because every generated project with Slurm holds a copy of this file and checks its configuration
with it.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: useradd of Debian and Ubuntu takes these names (useradd(8), "Caveats": up to 32 characters), and Slurm's accounting
#: knows lower-case names only (sacctmgr(1)). A dot, a colon, a hyphen or digit first mean
#: something to files and tools.
NAME = r"[a-z][a-z0-9_-]{0,31}"
#: Accounts and groups of Debian, Ubuntu, the cloud's images and Slurm itself, and those that are root by another name.
RESERVED = frozenset(
    """
    adm admin administrator all audio azureuser backup bin cdrom cluster-admins cluster-users clusteradmin crontab
    daemon debian default dialout dip disk dnsmasq docker ec2-instance-connect ec2-user fax floppy fwupd-refresh
    games gnats google-sudoers irc kmem kvm landscape list lp lpadmin lxd mail man messagebus munge mysql netdev
    news nobody nogroup nvidia-persistenced operator plugdev polkitd pollinate postgres proxy render root sasl
    shadow slurm slurmdbd slurmrestd src ssh sshd ssm-user staff statd sudo sync sys syslog tape tcpdump tss tty
    ubuntu usbmux users utmp uucp uuidd video voice wheel www-data
    """.split()  # noqa: SIM905 - a list of a hundred words
)
#: systemd's own accounts, and the service accounts of Google's OS Login.
RESERVED_PREFIXES = ("systemd-", "sa_")
#: First and last number that is taken, and by what: Debian Policy 9.2.2 ("UID and GID classes"), systemd's "Users,
#: Groups, UIDs and GIDs", login.defs(5) of Ubuntu 24.04 (SUB_UID_MIN 100000).
TAKEN = (
    (0, 999, "Debian and Ubuntu give it to their own services"),
    (1000, 1099, "images give it to their own first users, such as ubuntu and ssm-user"),
    (60_000, 65_535, "Debian, systemd and Linux itself set it aside: slurm is 64030, nobody 65534"),
    (100_000, 4_294_967_295, "users' containers take it: /etc/subuid starts at 100000"),
)
KEY_TYPES = (
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
)
_KEY = re.compile(r"(?P<type>[a-z0-9@.-]+) (?P<body>[A-Za-z0-9+/]+={0,2})(?: [!-~][ -~]{0,199})?")
#: Bytes of an Ed25519 key (RFC 8032).
_ED25519_BYTES = 32
#: Account in a cloud's directory by the field that names it: what it looks like, and what that is called.
CLOUD_ACCOUNTS = {
    "google_account": (r"[^@\s,:]+@[^@\s,:]+\.[^@\s,:]+", "an e-mail address, that of the account at Google"),
    "entra_object_id": (
        r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
        "an object id of Entra: `az ad user show --id ADDRESS --query id`",
    ),
}
#: Every cloud's store takes as much in one object: Azure Key Vault 25 kB, Google Secret Manager 64 KiB, AWS Secrets
#: Manager 65,536 bytes.
MOST_BYTES = 24_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """A group of the cluster, with the same number on every machine."""

    name: str
    gid: int


@dataclass(frozen=True, kw_only=True, slots=True)
class User:
    """A user of the cluster, with the same number on every machine and a group of the own name and number.

    Attributes:
        groups: names of further groups.
        ssh_keys: public keys, one line each as in a `.pub` file.
        administrator: whether the user may become root on controller and login machine.
        google_account, entra_object_id: account in the directory of Google Cloud and Azure, which asks who comes
            through its tunnel to the login machine; None where others give that right, or nobody does.
    """

    name: str
    uid: int
    groups: tuple[str, ...] = ()
    ssh_keys: tuple[str, ...] = ()
    administrator: bool = False
    google_account: str | None = None
    entra_object_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """What is wrong with one value of the list.

    Attributes:
        path: `users` or `groups`, the place within, and the field with its place where it is a list.
    """

    id: str
    path: tuple[str | int, ...]
    message: str
    help: str


def faults(users: Sequence[User], groups: Sequence[Group]) -> list[Fault]:
    """Return everything that a machine or a cloud would refuse or misunderstand, in the order of the list.

    `USR001`: a name that Linux or Slurm does not take; `USR002`: a reserved name; `USR003`: a number that is taken;
    `USR004`: a name or number twice; `USR005`: an unknown group; `USR006`: no SSH public key; `USR007`: too many;
    `USR009`: no account of a cloud.
    """
    found: list[Fault] = []
    named: dict[str, str] = {}
    numbered: dict[int, str] = {}
    entries = [("groups", "gid", place, group.name, group.gid) for place, group in enumerate(groups)]
    entries += [("users", "uid", place, user.name, user.uid) for place, user in enumerate(users)]
    for section, number_field, place, name, number in entries:
        found += _name_faults((section, place, "name"), name)
        found += _number_faults((section, place, number_field), number)
        path, what = (section, place), f"{section[:-1]} {name}"
        if name in named:
            found.append(_twice((*path, "name"), f"the name {name} is that of {named[name]}"))
        if number in numbered:
            found.append(_twice((*path, number_field), f"{number} is the number of {numbered[number]}"))
        named.setdefault(name, f"another {section[:-1]}" if section == "groups" else what)
        numbered.setdefault(number, what)
    known = {group.name for group in groups}
    for place, user in enumerate(users):
        found += _membership_faults(place, user, known)
        found += _account_faults(place, user)
        for index, key in enumerate(user.ssh_keys):
            problem = key_problem(key)
            if problem:
                found.append(
                    Fault(
                        id="USR006",
                        path=("users", place, "ssh_keys", index),
                        message=f"{problem[0]}: {_shown(key)}" if problem[1] else problem[0],
                        help=f"give the line of the .pub file; types are {', '.join(KEY_TYPES)}",
                    )
                )
    size_bytes = len(list_text(users, groups).encode())
    if size_bytes > MOST_BYTES:
        found.append(
            Fault(
                id="USR007",
                path=("users",),
                message=f"the list is too long: {size_bytes:,} bytes with its keys, and the clouds' stores take "
                f"{MOST_BYTES:,}",
                help="give one key each, of type ssh-ed25519 (about 100 bytes), or fewer users",
            )
        )
    return found


def list_text(users: Sequence[User], groups: Sequence[Group]) -> str:
    """Return the list in the form that `users.sh` of the machines reads."""
    lines = [f"group {group.name} {group.gid}" for group in groups]
    for user in users:
        line = f"user {user.name} {user.uid} {'yes' if user.administrator else 'no'} {','.join(user.groups)}"
        lines += [line.rstrip(), *(f"key {user.name} {key.strip()}" for key in user.ssh_keys)]
    # An empty text is no value to a store of secrets.
    return "".join(f"{line}\n" for line in lines) or "\n"


def key_problem(key: str) -> tuple[str, bool] | None:
    """Return what is wrong with a public key, and whether the key may be shown; None for one that SSH takes."""
    if "PRIVATE KEY" in key:
        return "this is a private key: replace the pair, since it was written into a file that others read", False
    match = _KEY.fullmatch(key.strip())
    if match is None:
        return "not one line of a public key", True
    return _inside_problem(match["type"], match["body"])


def _inside_problem(kind: str, text: str) -> tuple[str, bool] | None:
    if kind not in KEY_TYPES:
        return f"{kind} is no type of key that OpenSSH takes today", True
    try:
        parts = list(_parts(base64.b64decode(text, validate=True)))
    except (binascii.Error, ValueError):
        return "the key is cut off or changed: its base64 does not add up", True
    if parts[:1] != [kind.encode()] or len(parts) == 1:
        return f"the key does not say {kind} inside", True
    if kind == "ssh-ed25519" and [len(part) for part in parts[1:]] != [_ED25519_BYTES]:
        return "the key is not as long as an Ed25519 key", True
    return None


def _parts(body: bytes) -> Iterator[bytes]:
    """Split a key into its fields, each of which has its length before it (RFC 4251, section 5)."""
    while body:
        size = int.from_bytes(body[:4], "big")
        part, body = body[4 : 4 + size], body[4 + size :]
        if len(part) != size:
            raise ValueError("a field is shorter than it says")
        yield part


def _name_faults(path: tuple[str | int, ...], name: str) -> Iterator[Fault]:
    what = str(path[0])[:-1]
    if re.fullmatch(NAME, name) is None:
        yield Fault(
            id="USR001",
            path=path,
            message=f"{_shown(name)} cannot be the name of a {what}: Linux and Slurm take up to 32 lower-case letters, "
            "digits, hyphens and underscores, a letter first",
            help="for example alice or a_smith",
        )
    elif name in RESERVED or name.startswith(RESERVED_PREFIXES):
        yield Fault(
            id="USR002",
            path=path,
            message=f"{name} is an account or group of the system, the cloud's image or Slurm",
            help="choose another name",
        )


def _number_faults(path: tuple[str | int, ...], number: int) -> Iterator[Fault]:
    for first, last, reason in TAKEN:
        if first <= number <= last:
            yield Fault(
                id="USR003",
                path=path,
                message=f"{number} is taken: {reason}",
                help="choose one from 1100 to 59999, or from 65536 to 99999",
            )
            return
    if not 0 <= number <= TAKEN[-1][1]:
        yield Fault(
            id="USR003", path=path, message=f"{number} is no user or group id", help="choose one from 1100 to 59999"
        )


def _twice(path: tuple[str | int, ...], message: str) -> Fault:
    return Fault(
        id="USR004",
        path=path,
        message=message,
        help="use each once, in users and groups together: every user has a group of the own name and number",
    )


def _membership_faults(place: int, user: User, known: set[str]) -> Iterator[Fault]:
    for index, group in enumerate(user.groups):
        path = ("users", place, "groups", index)
        if group not in known:
            yield Fault(
                id="USR005",
                path=path,
                message=f"there is no group {_shown(group)}",
                help=f"add it to groups with its gid, or name one of {', '.join(sorted(known))}"
                if known
                else "add it to groups with its gid, or leave it out",
            )
        elif group in user.groups[:index]:
            yield Fault(id="USR004", path=path, message=f"{group} is named twice", help="name it once")


def _account_faults(place: int, user: User) -> Iterator[Fault]:
    for field, (pattern, meaning) in CLOUD_ACCOUNTS.items():
        account = getattr(user, field)
        if account is not None and re.fullmatch(pattern, account) is None:
            yield Fault(
                id="USR009",
                path=("users", place, field),
                message=f"{_shown(account)} is not {meaning}",
                help=f"correct it, or leave {field} out",
            )


def _shown(value: str) -> str:
    """Show the start of a value, with what a terminal would act upon spelled out."""
    longest = 60
    return repr(value if len(value) <= longest else f"{value[:longest]}...")
