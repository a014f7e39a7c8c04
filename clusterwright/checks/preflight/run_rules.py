"""Hold recorded resources against the rules of policy packs, without Pulumi: they know nothing of it.

Arguments: folders that together hold a pack's modules. Standard input: a JSON list of resources, each with `urn`,
`type`, `inputs`, `behind` and `protect`. Standard output: a JSON object with `rules` (name to what it is about),
`violations` (each with `rule`, `urn` and `message`) and `shown` (name of a rule to the URNs by which it holds).

Runs in a process of its own: the modules of a pack have names that others may have too.
"""

import dataclasses
import importlib
import json
import sys
from typing import Any


def main() -> None:
    """Judge standard input."""
    sys.dont_write_bytecode = True
    sys.path[:0] = sys.argv[1:]
    rule, rules = importlib.import_module("rule"), importlib.import_module("rules")
    # A pack of an earlier version knows less of a resource.
    known = {field.name for field in dataclasses.fields(rule.Registered)}
    given = json.load(sys.stdin)
    resources = [rule.Registered(**{key: value for key, value in one.items() if key in known}) for one in given]
    violations: list[dict[str, Any]] = []
    shown: dict[str, list[str]] = {}
    for each in rules.RULES:
        for one in resources:
            said = each.check(one.type, one.inputs)
            violations += [{"rule": each.name, "urn": one.urn, "message": message} for message in said]
    for each in rules.STACK_RULES:
        said = each.check(resources)
        violations += [{"rule": each.name, "urn": urn, "message": message} for urn, message in said]
        if getattr(each, "shows", None) is not None:
            shown[each.name] = list(each.shows(resources))
    names = {each.name: getattr(each, "about", "") for each in (*rules.RULES, *rules.STACK_RULES)}
    json.dump({"rules": names, "violations": violations, "shown": shown}, sys.stdout)


if __name__ == "__main__":
    main()
