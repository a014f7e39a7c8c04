"""The page of codes: every rule that an answer can name, by subject."""

from collections.abc import Iterator
from itertools import groupby

from clusterwright.catalog.rules import Rule, rules
from clusterwright.documentation.markdown import code, page, prose

#: What the letters of an id stand for.
SUBJECTS = {
    "ADR": "Network addresses",
    "API": "Hosted models",
    "BOM": "Bill of materials",
    "CAB": "Cables",
    "CAP": "Capacity of clouds",
    "CBL": "Cable reach",
    "CLG": "Cooling",
    "DAT": "Training data",
    "DIR": "Directory of users",
    "EFF": "Keys without effect",
    "ENG": "Flags of serving engines",
    "EVD": "Evidence behind a prediction",
    "EXI": "Existing networks",
    "FAB": "Compute fabric",
    "FED": "Power feeds",
    "FIL": "Written files",
    "FTJ": "Fine-tuning job",
    "FTN": "Fine-tuning",
    "GOAL": "Goals",
    "HAL": "The hall",
    "IPA": "IP addresses",
    "JOB": "Jobs",
    "K8S": "Kubernetes files",
    "KIND": "Kinds of workload",
    "LAY": "Layouts",
    "MEM": "Memory",
    "MIG": "Slices of a GPU",
    "NBX": "NetBox import",
    "NET": "Networks",
    "PAG": "Pages and drawings",
    "PLC": "Places",
    "PLN": "Sums of a plan",
    "PRE": "Preflight checks",
    "PRV": "Provisioning",
    "PWR": "Power",
    "RAC": "Devices in racks",
    "RCK": "Racks",
    "REL": "Reliability",
    "SBT": "Job script",
    "SET": "Settings of nodes and jobs",
    "SFT": "Software versions",
    "SFW": "Software page",
    "SHR": "Shared GPUs",
    "SLM": "Slurm",
    "SRV": "Serving",
    "STA": "State of a project",
    "STO": "Storage",
    "SVC": "Files of a service",
    "TAB": "Tables",
    "TCO": "Money",
    "TEN": "Tenants",
    "TRACE": "Request traces",
    "USR": "Users and groups",
    "VOC": "Words of NetBox",
    "WBK": "Workbooks",
    "WRK": "Shared clusters",
}
_DIGITS = 3
_ABOUT = {
    "blueprint": "when a blueprint is planned",
    "preflight": "by `clusterwright preflight`",
    "project": "by `./cluster.sh` of a generated project",
    "proof": "by `clusterwright prove`",
}
_INTRODUCTION = """
Every finding carries a code that never changes its meaning. `clusterwright explain CODE` prints the same text in your
terminal, for example `clusterwright explain PLC010`.

An **error** ends a command with exit code 1 (2 where the input cannot be right); a **warning** changes no exit code; a
**check** of preflight passes, warns or fails. The page is made from `catalog/rules.csv` and
`catalog/software_rules.csv`.
"""


def codes_page() -> str:
    """Return the page."""
    by_letters = groupby(sorted(rules(), key=lambda rule: rule.id), key=lambda rule: rule.id[:-_DIGITS])
    return page("Codes", _INTRODUCTION, *(part for letters, group in by_letters for part in _part(letters, [*group])))


def _part(letters: str, group: list[Rule]) -> Iterator[str]:
    yield f"## {letters}: {SUBJECTS[letters]}"
    for rule_id, same in groupby(group, key=lambda rule: rule.id):
        named = list(same)
        yield f"### {rule_id}"
        yield f"*{named[0].severity.capitalize()}, {_ABOUT[named[0].about]}.*"
        for rule in named:
            yield (
                f"{prose(_sentence(rule.what))} {prose(_sentence(rule.why))}\n\n"
                f"**Fix:** {prose(_sentence(rule.fix))} **Example:** {code(rule.example)}"
            )


def _sentence(text: str) -> str:
    """Return text as a sentence, with a capital and a full stop."""
    whole = text if text.endswith((".", "?", "!")) else f"{text}."
    return whole[0].upper() + whole[1:] if not whole.startswith("`") else whole
