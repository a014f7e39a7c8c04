"""What scripts of a project must not do, on the nodes and on the machine of its owner: one row a way to do it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.checks.preflight.files.shell import Line, is_script, lines
from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.subject import Subject


@dataclass(frozen=True, kw_only=True, slots=True)
class Forbidden:
    """A way to do something that must not be done.

    Attributes:
        pattern: found in a logical line of a script.
        why: what it does, after the name of the file; fix: what to do instead.
        unless: pattern of lines that may do it.
    """

    pattern: re.Pattern[str]
    why: str
    fix: str
    unless: re.Pattern[str] | None = None


def _row(pattern: str, why: str, fix: str, *, unless: str = "") -> Forbidden:
    return Forbidden(pattern=re.compile(pattern), why=why, fix=fix, unless=re.compile(unless) if unless else None)


_FETCH = r"\b(curl|wget|aria2c|fetch)\b"
_SHELL = r"(\S*/)?(ba|da|z|k|a)?sh\b"
_AS = r"(sudo\s+(-\S+\s+)*|env\s+(\S+=\S*\s+)*|exec\s+)*"
#: Addresses that never leave the machine or its host.
_INSIDE = r"http://(169\.254\.169\.254|metadata\.google\.internal|localhost|127\.|\[::1\]|168\.63\.129\.16|\$)|--unix-socket\b"
_CHECKED = "compare it with a checksum or signature that was fetched before, and is in the script"
_SIGNED = "name the key that signs it: [signed-by=/etc/apt/keyrings/NAME.asc] or Signed-By:"
_TLS = "leave certificates to be checked"

FORBIDDEN = (
    _row(rf"{_FETCH}.*\|\s*{_AS}{_SHELL}(?!\w)", "runs what it downloads, whatever it is", _CHECKED),
    _row(
        rf"{_FETCH}.*\|\s*{_AS}(\S*/)?(python[0-9.]*|perl|ruby|node|php)\s*(-\s*)?($|[;&)\"'>|])",
        "runs what it downloads, whatever it is",
        _CHECKED,
    ),
    _row(
        rf"({_SHELL}|\beval|\bsource|(^|[;&|]\s*)\.|\bpython[0-9.]*|\bperl)\s+(-[a-z]+\s+)*[\"']?(<\(|\$\(|`)\s*{_AS}{_FETCH}",
        "runs what it downloads, whatever it is",
        _CHECKED,
    ),
    _row(
        rf"(\bsource\b|(^|[;&|]\s*)\.\s|\b(ba|da|z|k)?sh\b|\bpython[0-9.]*\b|\bperl\b)[^;&|]*<<<\s*[\"']?(\$\(|`)\s*{_AS}{_FETCH}",
        "runs what it downloads, whatever it is",
        _CHECKED,
    ),
    _row(
        r"\b(exec|eval|compile|loads)\s*\(.*\b(urlopen|requests\.get|httpx\.get|urllib3?\.\w*request)",
        "runs what it downloads, whatever it is",
        _CHECKED,
        unless=r"\bjson\.loads\b",
    ),
    _row(
        r"(^|[;&|]\s*)(if|while|elif)\s+(false|!\s*true|!\s*:|\[\[? (0 = 1|1 = 0|0 -eq 1|1 -eq 0) \]\]?)(\s|;)",
        "switches off a check: what follows is never done",
        "put the condition back",
    ),
    _row(r"\bcurl\b.*\s(-[A-Za-z]*k[A-Za-z]*\b|--insecure\b|--proxy-insecure\b)", "takes any certificate", _TLS),
    _row(r"--no-check-certificate|--no-verify-ssl|--insecure-skip-tls-verify", "takes any certificate", _TLS),
    _row(r"http\.sslVerify[ =]+\"?(false|0)|GIT_SSL_NO_VERIFY=|PYTHONHTTPSVERIFY=0", "takes any certificate", _TLS),
    _row(r"NODE_TLS_REJECT_UNAUTHORIZED=[\"']?0|--tls-verify=false|--trusted-host\b", "takes any certificate", _TLS),
    _row(r"(?i)verify-(peer|host)\s+[\"']?(false|no|0)", "takes any certificate", _TLS),
    _row(r"(?i)StrictHostKeyChecking[= ]+(no|off)\b", "takes any host for the one that is meant", "name its key"),
    _row(
        r"(?i)--?ssl-mode=(disabled|preferred)|--skip-ssl\b|sslmode=(disable|allow|prefer)\b",
        "talks to the database in plain text",
        "ask for an encrypted connection",
    ),
    _row(
        rf"({_FETCH}|\bpip[0-9.]*\s+(install|download)\b|\bgit\s+clone\b|\bhelm\s+repo\s+add\b).*\bhttp://",
        "downloads over a connection that anybody on the way can change",
        "use https",
        unless=_INSIDE,
    ),
    _row(
        r"\bpip[0-9.]*\s+.*(--(extra-)?index-url|-i|--find-links|-f)[= ]+http://|\bgit\+http://|\bgit://",
        "downloads over a connection that anybody on the way can change",
        "use https",
    ),
    _row(
        r"\b(apt|apt-get|aptitude)\b.*--(allow-unauthenticated|force-yes|allow-insecure-repositories|no-check-gpg)",
        "installs packages without their signature",
        _SIGNED,
    ),
    _row(
        r"(?i)AllowUnauthenticated|AllowInsecureRepositories|AllowDowngradeToInsecureRepositories|AllowWeakRepositories",
        "installs packages without their signature",
        _SIGNED,
        unless=r"(?i)(Unauthenticated|Repositories)\s*[\"=\s]+(false|no|0)\b",
    ),
    _row(r"(?i)\btrusted\s*[=:]\s*(yes|true)\b", "installs packages without their signature", _SIGNED),
    _row(r"\bapt-key\s+(add|adv)\b", "trusts a key for every source", _SIGNED),
    _row(
        r"(?<![\w.-])deb(-src)?\s+(?!\[[^\]]*signed-by=)(\[[^\]]*\]\s+)?(https?|ftp)://",
        "adds a source of packages without the key that signs it",
        _SIGNED,
    ),
    _row(r"\badd-apt-repository\b", "adds a source of packages without the key that signs it", _SIGNED),
    _row(
        r"(?i)\b(repo_)?gpgcheck\s*=\s*(0|no|false)|--nogpgcheck|--no-gpg-checks|--nosignature|--nodigest|force-bad-verify",
        "installs packages without their signature",
        "leave signatures to be checked",
    ),
    _row(r"\bsnap\s+install\b.*--dangerous", "installs a package without its signature", "leave --dangerous out"),
    _row(
        r"--(no-verify-signatures|insecure-policy|disable-content-trust)\b",
        "takes an image without its signature",
        _TLS,
    ),
    _row(
        r"\bchmod\s+(-\w+\s+)*(0?[0-7][0-7]7|[0246][0-7][0-7]7|[ao]*[oa]\+[rx]*w[rx]*|\+w)\s",
        "lets everybody change a file",
        "give it to the user that needs it",
        unless=r"\bchmod\s+(-\w+\s+)*1777\b",
    ),
    _row(
        r"(--mode[= ]|-m\s*|\bchmod\s+(-\w+\s+)*)0?[0-7]?[0-7]([1-7][0-7]|0[1-7])\b.*"
        r"(munge\.key|/jwt[\w.-]*\.key|slurmdbd\.conf|private[\w.-]*key)",
        "shows a secret to others",
        "mode 0400 or 0600",
    ),
    _row(
        r"\binstall\b.*(--owner=(munge|slurm)\b.*--mode=|--mode=.*--owner=(munge|slurm)\b.*)0?[0-7]?[0-7]([4-7][0-7]|0[4-7])\b",
        "shows a secret to others",
        "mode 0400 or 0600",
        unless=r"--directory|\s-d\s|slurm\.conf|gres\.conf|cgroup\.conf|topology",
    ),
    _row(
        r"\b(cp|mv|ln|install|tee|rsync|scp)\b.*(munge\.key|/jwt[\w.-]*\.key|slurmdbd\.(conf|password)).*"
        r"(\$\{?CLUSTER_(SHARED|BUCKET)_PATH|[\s\"']/(shared|bucket|home|tmp)\b)",
        "shows a secret to others",
        "leave it in the folder of the program that reads it",
    ),
    _row(
        r"(?i)^\W*AuthType\s*=\s*auth/none|[\"']AuthType=auth/none",
        "lets anybody be anybody in Slurm",
        "AuthType=auth/munge",
    ),
    _row(r"(?i)\bCredType\s*=\s*cred/none", "lets anybody be anybody in Slurm", "CredType=cred/munge"),
    _row(r"(?i)\bPasswordAuthentication\s+yes", "lets passwords in", "PasswordAuthentication no"),
    _row(r"(?i)\bPermitRootLogin\s+yes", "lets root in from the network", "PermitRootLogin no"),
    _row(r"(?i)\bPermitEmptyPasswords\s+yes", "lets anybody in", "PermitEmptyPasswords no"),
    _row(r"(^|[\"'<])(ALL|%users|%domain\\ users)\s+ALL\s*=.*NOPASSWD", "makes every user root", "name administrators"),
    _row(
        r"\b(ip6?tables|nft)\s+(-\w+\s+)*(-F\b|--flush|flush\s+ruleset|-P\s+INPUT\s+ACCEPT)|\bufw\s+disable|"
        r"\bsystemctl\s+(disable|stop|mask)\s+.*(firewalld|nftables|ufw)\b",
        "takes the firewall away, that of the metadata service too",
        "leave it",
    ),
    _row(r"\bsetenforce\s+0|\bSELINUX=(disabled|permissive)", "switches SELinux off", "leave it on"),
    _row(
        r"(^|[\s;\"'])(export\s+)?NCCL_(P2P|SHM)_DISABLE=[\"']?1|(^|[\s;])(export\s+)?NCCL_NET=[\"']?(Socket|socket)\b",
        "takes the fast way between GPUs from NCCL",
        "leave it out",
    ),
    _row(
        r"\bswapoff\b.*\|\|\s*true\s*;\s*exit 0|\bmemlock\s+(?!unlimited)\d+",
        "limits the memory that RDMA pins",
        "unlimited",
    ),
)
_SKIPPED = re.compile(r"(^|/)(tests?|policy|\.venv[^/]*|__pycache__|node_modules)/")
_SAVED = re.compile(
    r"\b(?:curl|wget)\b.*?\s(?:-[A-Za-z]*o|--output|-O|--output-document)[= ]\s*[\"']?([^\s\"';|&]+)"
    r"|\b(?:curl|wget)\b.*?[^>2&]>\s*[\"']?([^\s\"';|&]+)"
)
_VERIFIES = re.compile(r"\b(sha(256|384|512)sum|shasum|b2sum|gpgv?|cosign|minisign|openssl\s+dgst)\b")
_LUSTRE_MOUNT = re.compile(
    r"\bmount\b.*(-t|--types)[= ]*lustre\b|(?<!-v )\bmount\.lustre\s+(-\S+\s+\S+\s+)*[\"']?\S*[$:@/]"
)
_LUSTRE_TABLE = re.compile(r"\S+:/\S*\s+\S+\s+lustre\s+(?P<options>\S+)|\blustre\b.*\bfstab\b|\bfstab\b.*\blustre\b")
_OPTIONS = re.compile(r"(?:-o|--options)[= ]?\s*[\"']?([^\s\"']+)")
_STOPS = re.compile(r"^\s*set\s+(-[A-Za-z]*e|-o\s+errexit)|^#!.*\s-\w*e")


def safe_scripts(subject: Subject) -> Iterator[Outcome]:
    """Look at each line of each script of the project, tests aside."""
    looked_at, good = 0, True
    for name, content in subject.project.files.items():
        if _SKIPPED.search(name) or not _is_script(name, content):
            continue
        looked_at += 1
        found = list(lines(content))
        for line, why, fix, certain in (
            *_forbidden(name, found),
            *_unchecked(found),
            *_mounts(found),
            *_careless(name, content),
        ):
            good = False
            yield Outcome(
                status="FAIL" if certain else "WARN",
                message=f"{name} {why}",
                fix=fix,
                place=Place(file=subject.project.shown(name), line=line, column=1),
            )
    if looked_at and good:
        yield passed(f"{looked_at} scripts")


def _is_script(name: str, content: str) -> bool:
    boots = name.endswith((".yaml", ".yml", ".py", ".tftpl", ".j2", ".cfg", ".sources", ".list", ".repo", "Dockerfile"))
    return is_script(name, content) or (boots and not name.endswith("Pulumi.yaml"))


Found = tuple[int, str, str, bool]


def _forbidden(name: str, found: list[Line]) -> Iterator[Found]:
    # Of what is no script, commands stand in lists and texts: the same lines, with quotes around them.
    # A text that printf writes has its lines after each other, with \\n between.
    for line in found:
        written = line.text.replace("\\n", " ")
        row = next((row for row in FORBIDDEN if _matches(row, written)), None)
        if row is not None:
            yield line.number, row.why, row.fix, True
    texts = "\n".join(line.text.replace("\\n", "\n") for line in found)
    if name.endswith((".sh", ".sources")) or "Types: deb" in texts:
        for start in re.finditer(r"(?m)^[\"']?(Types|URIs):.*(?:\n(?!\s*$).*)*", texts):
            if "URIs:" in start[0] and "Signed-By" not in start[0]:
                yield 0, "adds a source of packages without the key that signs it", _SIGNED, True


def _matches(row: Forbidden, text: str) -> bool:
    return bool(row.pattern.search(text)) and not (row.unless is not None and row.unless.search(text))


def _unchecked(found: list[Line]) -> Iterator[Found]:
    """Find files that are downloaded and run without a check between."""
    commands = [line for line in found if not line.written]
    verified = any(_VERIFIES.search(line.text) for line in commands)
    for line in commands:
        for saved in _SAVED.finditer(line.text):
            path = re.escape((saved[1] or saved[2]).strip("\"'"))
            base = re.escape((saved[1] or saved[2]).strip("\"'").rpartition("/")[2])
            runs = re.compile(
                rf"({_SHELL}|\bsource|(^|[;&]\s*)\.|\bpython[0-9.]*|\bdpkg\s+(-i|--install)|\brpm\s+-\w*[iU]\w*|"
                rf"\b(apt|apt-get|yum|dnf)\s+(-\S+\s+)*install|\bchmod\s+\S*(\+\w*x|[0-7]*7[0-7]*5?))\s.*(({path})|{base})"
            )
            direct = re.compile(rf"(^|[;&|]\s*){_AS}[\"']?(\./)?{path}\b")
            later = [one for one in commands if one.number >= line.number]
            ran = any(
                runs.search(one.text.replace(saved[0], "")) or (one is not line and direct.search(one.text))
                for one in later
            )
            if ran and not verified:
                yield line.number, "runs what it downloads without a check", _CHECKED, True


def _mounts(found: list[Line]) -> Iterator[Found]:
    """Find mounts of Lustre without locks, and those that nothing can be written to."""
    why, fix = "mounts Lustre without flock: data loaders that lock files fail", "mount -t lustre -o noatime,flock"
    assigned = "\n".join(line.text for line in found if re.match(r"(local\s+|readonly\s+|export\s+)?\w+=", line.text))
    for line in found:
        if re.search(r"\b(umount|unmount|wait_for_unmount)\b", line.text):
            continue
        table = _LUSTRE_TABLE.search(line.text)
        if not (_LUSTRE_MOUNT.search(line.text) or (table and table["options"])):
            continue
        given = [table["options"]] if table and table["options"] else _OPTIONS.findall(line.text)
        options = ",".join(given)
        if "$" in options:
            options += "," + assigned
        if not re.search(r"(?<![a-z])flock\b", options):
            yield line.number, why, fix, True
        if re.search(r"(?<![\w-])(ro|read-only)(?![\w-])", options):
            yield line.number, "mounts Lustre read-only: no checkpoint can be written", fix, True


def _careless(name: str, content: str) -> Iterator[Found]:
    """Find scripts that go on after an error: those of nodes run as root, at boot."""
    of_node = name.startswith("node/") and is_script(name, content) and len(content.splitlines()) > 1
    if of_node and not any(_STOPS.search(line) for line in content.splitlines()):
        yield 1, "goes on after an error", "set -euo pipefail", False
