"""Secrets in plain text: in configuration, and in any other file of the project."""

import math
import re
from collections import Counter
from collections.abc import Iterator

from clusterwright.checks.preflight.files.project import Setting
from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.subject import Subject

#: Forms that only secrets have: (what it is, pattern). The forms are the issuers' documented prefixes.
_FORMS = (
    ("an AWS access key id", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("a private key", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----"),
    ("a Google API key", r"\bAIza[0-9A-Za-z_-]{35}\b"),
    ("a Google OAuth token", r"\bya29\.[0-9A-Za-z_-]{20,}"),
    ("a service account key", r'"private_key_id"\s*:\s*"[0-9a-f]{40}"'),
    ("an Azure storage key", r"AccountKey=[A-Za-z0-9+/]{60,}={0,2}"),
    ("an Azure client secret", r"\b[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34}\b"),
    ("a shared access signature", r"[?&]sig=[A-Za-z0-9%+/]{30,}"),
    ("a GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})\b"),
    ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("a Slack token", r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    ("a Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}\b"),
    ("a Weights & Biases key", r"(?i)wandb[_a-z]*\s*[=:]\s*[0-9a-f]{40}\b"),
    ("a Pulumi access token", r"\bpul-[0-9a-f]{40}\b"),
    ("an OpenAI key", r"\bsk-(?:proj-)?[A-Za-z0-9_-]{32,}\b"),
    ("a JSON web token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ("a password in an address", r"\b[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s:@$<{]{3,}@"),
)
_KNOWN = tuple((what, re.compile(pattern)) for what, pattern in _FORMS)
_SECRET_NAME = re.compile(
    r"(?i)(pass(word|wd|phrase)?$|passw|secret|token|api_?key|access_?key|private_?key|credential|connection_?string)"
)
#: Keys whose names sound like a secret and whose values are names, ids or settings.
_NAMES_OF_SECRETS = re.compile(r"(?i)(id|ids|arn|name|names|path|uri|url|version|provider|days|hours|ttl|enabled)$")
#: A value of this length and mix of characters was made by a machine.
_LEAST_RANDOM_CHARACTERS = 32
_LEAST_BITS_PER_CHARACTER = 4.2
_ORDINARY = re.compile(r"^(arn:|/|projects/|ssh-|ami-|https?://|[A-Za-z0-9._-]+(/|:)[A-Za-z0-9._/:-]+$)")
_SKIPPED_FILES = re.compile(r"(^|/)(tests?|\.venv[^/]*|__pycache__|node_modules|\.pulumi)/")


def plain_secrets(subject: Subject) -> Iterator[Outcome]:
    """Find values that are secrets by name, by form, or by looking random, anywhere in the project."""
    looked_at, found = 0, set()
    for setting in subject.project.leaves():
        looked_at += 1
        what = _secret_in(setting)
        if what:
            found.add((setting.place.file, setting.place.line))
            yield Outcome(
                status="FAIL",
                message=f"{setting.name} holds {what} in plain text",
                fix=f"replace the secret where it was issued, then pulumi -C {setting.layer} config set --secret "
                f"{'--path ' if setting.path else ''}{setting.name}",
                place=setting.place,
            )
    for file, content in subject.project.files.items():
        if _SKIPPED_FILES.search(file):
            continue
        for number, line in enumerate(content.splitlines(), start=1):
            what = next((what for what, pattern in _KNOWN if pattern.search(line)), "")
            shown = subject.project.shown(file)
            if what and (shown, number) not in found:
                yield Outcome(
                    status="FAIL",
                    message=f"{file} holds {what} in plain text",
                    fix="replace the secret where it was issued, and keep the new one in the cloud's secret store",
                    place=Place(file=shown, line=number, column=1),
                )
    yield passed(f"{looked_at} values and {len(subject.project.files)} files looked at")


def _secret_in(setting: Setting) -> str:
    """Return what kind of secret a value is, empty for none."""
    value = setting.value
    if not isinstance(value, str) or not value or setting.path[-1:] == ("secure",):
        return ""
    form = next((what for what, pattern in _KNOWN if pattern.search(value)), "")
    if form:
        return form
    name = str(setting.path[-1]) if setting.path and isinstance(setting.path[-1], str) else setting.key
    name = name.rpartition(":")[2]
    if _SECRET_NAME.search(name) and not _NAMES_OF_SECRETS.search(name) and not value.startswith(("arn:", "projects/")):
        return "what its name says is a secret"
    return "what looks like a random secret" if _looks_random(value) else ""


def _looks_random(value: str) -> bool:
    if len(value) < _LEAST_RANDOM_CHARACTERS or " " in value or _ORDINARY.match(value):
        return False
    kinds = sum(bool(re.search(kind, value)) for kind in (r"[a-z]", r"[A-Z]", r"[0-9]"))
    return kinds == 3 and _bits_per_character(value) >= _LEAST_BITS_PER_CHARACTER  # noqa: PLR2004 - all three kinds


def _bits_per_character(value: str) -> float:
    """Return the Shannon entropy of a text's characters: -sum p log2 p, in bits.

    >>> _bits_per_character("aabb")
    1.0
    """
    shares = [count / len(value) for count in Counter(value).values()]
    return -sum(share * math.log2(share) for share in shares)
