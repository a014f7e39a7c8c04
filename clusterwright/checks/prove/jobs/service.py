"""The files of a service against its plan: replicas, what they ask for, the engine, what watches it, its load test."""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from math import isclose
from typing import Any

from clusterwright import assets
from clusterwright.checks.prove.jobs.scheduler import node_lines
from clusterwright.checks.prove.jobs.script import directives
from clusterwright.checks.prove.kubernetes.objects import read_yaml, value_at, values_at
from clusterwright.checks.prove.papers import CellError, Papers, absent, examined
from clusterwright.checks.prove.records import Result
from clusterwright.errors import Finding
from clusterwright.plan.serving.pools import fewest_replicas, most_replicas, prefilling
from clusterwright.plan.serving.record import ServingOption, ServingPlan, serving_option, serving_plan
from clusterwright.plan.text.serving import replicas_text
from clusterwright.sizing.serving.sizes import ReplicaLayout

_FOLDERS = ("serving", "kubernetes/serving")
_FLAG = re.compile(r"(?<![\w-])(--[a-z][\w-]*)(?:[ =]+([^\s-][^\s]*))?")
_RATE = re.compile(r"\[(\d+[smhd])\]")
_BOUND = re.compile(r'le="([\d.]+)"')
_MODEL = re.compile(r'model_name="([^"]*)"')
_POD = re.compile(r'pod=~"([^"]*)"')
_GIB = 2**30
#: Relative difference that rounding to six digits may make.
_DIGITS = 1e-5
#: A shorter name of a flag of the table.
_ALSO = {"--tp-size": "--tensor-parallel-size", "--tp": "--tensor-parallel-size"}
#: One of these is there where a replica has several accelerators.
_SPLITS = ("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size")
_ROLE = "app.kubernetes.io/component"
_LEADER = "spec.leaderWorkerTemplate.leaderTemplate.spec"
_SEQUENCES = ("--max-num-seqs", "--max-running-requests")
_LONGEST = ("--max-model-len", "--context-length")
_SHARE = ("--gpu-memory-utilization", "--mem-fraction-static")


def service_folder(papers: Papers) -> str:
    """Return the folder of the service's files, empty where there is none."""
    plan = papers.documents.plan
    named = (one for one in _FOLDERS if (papers.documents.site / one).is_dir())
    return next(named, "") if isinstance(plan, ServingPlan) else ""


def prove_service(papers: Papers) -> Result:
    """Return what holds of the files of a service."""
    plan, option, folder = _of(papers)
    facts = [
        f"{replicas_text(option)}: the engine's layout, lengths and share of memory are those of the plan",
        f"goals of P{plan.goals.percentile:g}, windows, loads and prices of rules, dashboard and load test are too",
    ]
    rules = (
        _array,
        _fits,
        _engine,
        _readme,
        _alerts,
        _windows,
        _dashboard,
        _load,
        _scripts,
        _pods,
        _scaling,
        _missing,
        _deployed,
        _roles,
        _handing,
        _handshakes,
        _routed,
    )
    return examined("service", papers, (folder,), rules, facts)


def _of(papers: Papers) -> tuple[ServingPlan, ServingOption, str]:
    documents = papers.documents
    return serving_plan(documents.plan), serving_option(documents.option), service_folder(papers)


def _pools(papers: Papers) -> Mapping[str, ServingOption]:
    """Return the target as each pool has it, by role: empty for replicas that do all."""
    _, option, _ = _of(papers)
    own = option.performance.prefill_pool
    return {"": option} if own is None else {"prefill": prefilling(option, own), "decode": option}


def _objects(papers: Papers, file: str, *kinds: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield role and content of the objects of some kinds in a file that are of a pool."""
    plan, _, folder = _of(papers)
    path = papers.documents.site / folder / file
    roles = {f"{plan.name}-{role}" if role else plan.name: role for role in _pools(papers)}
    for document in read_yaml(path) if path.is_file() else ():
        role = roles.get(str(value_at(document, "metadata.name")))
        if document.get("kind") in kinds and role is not None:
            yield role, document


def _present(papers: Papers, name: str) -> str | None:
    """Return a file's path within the site, None where it is not there."""
    path = f"{service_folder(papers)}/{name}"
    return path if (papers.documents.site / path).is_file() else None


def _array(papers: Papers) -> Iterator[Finding]:
    """A replica is an element of the array, on the GPUs of its layout."""
    for role, option in _pools(papers).items():
        file = _present(papers, f"{role or 'serve'}.sbatch")
        if file is not None:
            yield from _array_of(papers, file, option)


def _array_of(papers: Papers, file: str, option: ServingOption) -> Iterator[Finding]:
    plan, _, _ = _of(papers)
    said, node_gpus = directives(papers, file), _node_gpus(papers)
    kind = papers.catalogue.accelerators[option.cluster.accelerator].gres_type
    gpus = min(option.performance.layout.gpus, node_gpus)
    wanted = {
        "partition": (plan.cluster.partition, "plan.json and slurm.conf name it"),
        "array": (f"0-{most_replicas(option) - 1}", "a replica is an element, spare ones too"),
        "nodes": (max(option.performance.layout.gpus // node_gpus, 1), "a replica takes as many"),
        "ntasks-per-node": (1, "an engine on every node"),
        "gres": (f"gpu:{kind}:{gpus}", "the layout of a replica"),
    }
    for key, (expected, rule) in wanted.items():
        number, value = said.get(key, (1, ""))
        if value != str(expected):
            yield absent("SVC001", f"{file}:{number}", f"--{key}", value, expected, rule)
    if "requeue" not in said:
        yield absent("SVC001", file, "--requeue", None, "set", "a replica whose node fails starts again")
    number, value = said.get("time", (1, "UNLIMITED"))
    if value.upper() not in {"UNLIMITED", "INFINITE"}:
        yield absent("SVC001", f"{file}:{number}", "--time", value, "UNLIMITED", "a service has no end")


def _node_gpus(papers: Papers) -> int:
    inventory = papers.documents.design.inventory
    return max(1, inventory.gpus // len(inventory.hosts()))


def _fits(papers: Papers) -> Iterator[Finding]:
    """All replicas of a node fit its processors and memory, and all of the cluster its GPUs."""
    for role, option in _pools(papers).items():
        file = _present(papers, f"{role or 'serve'}.sbatch")
        if file is not None:
            yield from _fits_of(papers, file, option)


def _fits_of(papers: Papers, file: str, option: ServingOption) -> Iterator[Finding]:
    said, lines = directives(papers, file), node_lines(papers)
    per_node = max(_node_gpus(papers) // option.performance.layout.gpus, 1)
    for line in lines[:1]:
        number, value = said.get("cpus-per-task", (1, "0"))
        cores = int(line.get("CoresPerSocket") or 0) * int(line.get("Sockets") or 0)
        if value.isdigit() and cores and int(value) * per_node > cores:
            most = f"at most {cores // per_node}"
            yield absent(
                "SVC001", f"{file}:{number}", "--cpus-per-task", value, most, f"{per_node} replicas share a node"
            )
        number, value = said.get("mem", (1, "0"))
        memory = int(line.get("RealMemory") or 0) // 1024
        if value.rstrip("G").isdigit() and memory and int(value.rstrip("G")) * per_node > memory:
            most = f"at most {memory // per_node}G"
            yield absent("SVC001", f"{file}:{number}", "--mem", value, most, f"{per_node} replicas share a node")
    number, value = said.get("mem", (1, "0"))
    gpus = min(option.performance.layout.gpus, _node_gpus(papers))
    weights = option.performance.replica_memory.weights * gpus / _GIB
    if value.endswith("G") and value[:-1].isdigit() and int(value[:-1]) < weights:
        least, rule = f"at least {weights:,.0f}G", "the weights of a replica pass through it when it starts"
        yield absent("SVC001", f"{file}:{number}", "--mem", value, least, rule)
    number, value = said.get("array", (1, "0-0"))
    last = value.rpartition("-")[2].partition("%")[0]
    gpus = papers.documents.design.inventory.gpus
    if last.isdigit() and (int(last) + 1) * option.performance.layout.gpus > gpus:
        most = f"0-{gpus // option.performance.layout.gpus - 1}"
        yield absent(
            "SVC001", f"{file}:{number}", "--array", value, f"at most {most}", f"the cluster has {gpus:,} GPUs"
        )


def _engine_texts(papers: Papers) -> Iterator[tuple[str, int, str, dict[str, str]]]:
    """Yield file, line, role and flags of every place that starts the engine."""
    roles = list(_pools(papers))
    for name in (*(f"{role or 'serve'}.sbatch" for role in roles), "README.md"):
        file = _present(papers, name)
        lines = papers.text(file).splitlines() if file else []
        starting = [(number, line) for number, line in enumerate(lines, start=1) if "--served-model-name" in line]
        for at, (number, line) in enumerate(starting):
            # The page has the pools in their order.
            role = name.removesuffix(".sbatch") if name != "README.md" else roles[min(at, len(roles) - 1)]
            flags = {flag: value.strip("'\"`") for flag, value in _FLAG.findall(line)}
            yield str(file), number, "" if role == "serve" else role, flags
    folder = service_folder(papers)
    for role, document in _objects(papers, "replicas.yaml", "Deployment", "LeaderWorkerSet"):
        words = value_at(document, "spec.template.spec.containers.0.args")
        if words is None:
            words = value_at(document, "spec.leaderWorkerTemplate.leaderTemplate.spec.containers.0.args")
        if isinstance(words, list):
            flags = {str(a): str(b) for a, b in pairwise([*words, ""]) if str(a).startswith("--")}
            yield f"{folder}/replicas.yaml{f' {role}' if role else ''}", 1, role, flags


def _engine(papers: Papers) -> Iterator[Finding]:
    plan, _, _ = _of(papers)
    model, pools, fields = plan.workload.model, _pools(papers), _fields(plan)
    for file, number, role, flags in _engine_texts(papers):
        place, option = f"{file}:{number}", pools[role]
        # Of an engine that the tables have no flags of, the image's own command starts it.
        if flags and flags.get("--served-model-name") != model:
            value, rule = flags.get("--served-model-name"), "clients and rules name it"
            yield absent("SVC002", place, "--served-model-name", value, model, rule)
        yield from _layout(place, flags, option, fields)
        for flag, fits, bounds, rule in _bounds(plan, option, fields):
            if flag in flags and not fits(flags[flag]):
                yield absent("SVC002", place, flag, flags[flag], bounds, rule)


def _roles(papers: Papers) -> Iterator[Finding]:
    """What makes an engine a worker of its pool: SGLang's role, vLLM's way to hand over keys and values."""
    wanted = {"--disaggregation-mode": "the role", "--kv-transfer-config": "a connector"}
    for file, number, role, flags in _engine_texts(papers):
        place, said = f"{file}:{number}", [flag for flag in wanted if flag in flags]
        # Of a framework that no table has the flags are the owner's.
        if role and not said and any(flag in flags for flag in _SEQUENCES):
            yield absent("SVC002", place, " or ".join(wanted), None, role, "the worker is of a pool")
        mode = flags.get("--disaggregation-mode", role)
        if role and mode != role:
            yield absent("SVC002", place, "--disaggregation-mode", mode, role, "the worker is of this pool")
        for flag in said if not role else ():
            yield absent("SVC002", place, flag, flags[flag], None, "the plan has replicas that do all")


def _layout(
    place: str, flags: Mapping[str, str], option: ServingOption, fields: Mapping[str, str]
) -> Iterator[Finding]:
    """Compare the flags of the layout of a replica, one of which is there where it has several GPUs."""
    rule, layout = "the layout of a replica", option.performance.layout
    named = {_ALSO.get(flag, flag): value for flag, value in flags.items()}
    wanted = _parts(layout)
    for flag, value in named.items():
        expected = wanted.get(fields.get(flag, ""))
        if expected is not None and value != str(expected):
            yield absent("SVC002", place, flag, value, expected, rule)
    if layout.gpus > 1 and fields and not any(flag in named for flag in _SPLITS):
        yield absent("SVC002", place, _SPLITS[0], None, layout.gpus // layout.pipeline, rule)


def _parts(layout: ReplicaLayout) -> dict[str, int]:
    """Return the parts of a replica's layout by the names that `engine_flags.csv` has for them."""
    return {
        "attention_gpus": layout.tensor,
        "stage_gpus": layout.gpus // layout.pipeline,
        "pipeline": layout.pipeline,
        "attention_groups": layout.gpus // (layout.tensor * layout.pipeline),
        "expert": layout.expert,
    }


def _fields(plan: ServingPlan) -> Mapping[str, str]:
    """Return what each flag of the plan's framework carries; nothing for one that the table does not have."""
    spoken = plan.workload.framework.lower()
    return {flag: field for (name, flag), field in _table().items() if name in spoken}


@cache
def _table() -> Mapping[tuple[str, str], str]:
    with (assets.root() / "catalog" / "engine_flags.csv").open(encoding="utf-8", newline="") as lines:
        return {(row["framework"], row["flag"]): row["field"] for row in csv.DictReader(lines)}


def _bounds(
    plan: ServingPlan, option: ServingOption, fields: Mapping[str, str]
) -> Iterator[tuple[str, Callable[[str], bool], str, str]]:
    """Yield flags that stand for amounts: what they may be, in code and in words, and why."""
    whole = option.performance.most_in_flight
    needed, groups = min(option.performance.in_flight, whole), _parts(option.performance.layout)["attention_groups"]
    for flag in _SEQUENCES:
        # Each group of attention counts its own.
        shared = groups if fields.get(flag) == "sequences_per_group" else 1
        least, most = needed / shared, -(-whole // shared)
        bounds, rule = f"{least:,.0f} to {most:,}", "as many are in flight at the peak, and as many fit"
        yield flag, partial(_between, least, most), bounds, rule
    work = plan.workload
    longest, context = work.input_tokens_p95 + work.output_tokens_p95, work.architecture.max_context
    for flag in _LONGEST:
        bounds = f"{longest:,.0f} to {context:,}" if context else f"{longest:,.0f} or more"
        rule = "input and answer of a request fit, and the model's context"
        yield flag, lambda value: value.isdigit() and longest <= int(value) <= (context or int(value)), bounds, rule
    for flag in _SHARE:
        rule = "weights, keys and values fit, and the engine's own buffers beside them"
        yield flag, lambda value: _share_fits(value, option), _shares(option), rule


def _between(least: float, most: float, value: str) -> bool:
    return value.isdigit() and least * 0.999 <= int(value) <= most


def _held(option: ServingOption) -> float:
    memory = option.performance.replica_memory
    return (memory.weights + memory.cache_pool) / memory.whole


def _shares(option: ServingOption) -> str:
    return f"{_held(option) - 0.01:.2f} to 0.97"


def _share_fits(value: str, option: ServingOption) -> bool:
    try:
        return _held(option) - 0.01 <= float(value) <= 0.97  # noqa: PLR2004 - the rest is the driver's
    except ValueError:
        return False


def _readme(papers: Papers) -> Iterator[Finding]:
    """The page names the replicas of the plan."""
    plan, option, _ = _of(papers)
    file = _present(papers, "README.md")
    if file is None:
        return
    text = papers.text(file)
    most, least = str(most_replicas(option)), str(_least(option))
    weights = option.performance.replica_memory.weights * option.performance.layout.gpus
    whole = [
        (r"Each element of the array is a replica, (\d+) in all", most),
        (r"KEDA: (\d+) to \d+ replicas", least),
        (r"KEDA: \d+ to (\d+) replicas", most),
        (r"KEDA keeps (\d+) replicas", most),
        (r"^(\d+) for the peak of the last day", most),
        (r"for the peak of the last day with (\d+) spare", str(option.performance.spare_replicas)),
        (r"spare, (\d+) in the quietest hour", least),
        (r"^above it[^\n]*? (\d+) requests on a replica", f"{option.performance.in_flight:.0f}"),
        (r"Without Prometheus, KEDA keeps (\d+)\.", most),
    ]
    sentences = [
        (r"^(\d[\d,]* (?:replicas?|workers? that)\b[^\n]*)\.$", replicas_text(option)),
        (r"the format of the plan, ([\w-]+)\.", plan.workload.precision),
        (r"a goal of P([\d.]+) may be missed", f"{plan.goals.percentile:g}"),
        (r"reads? (?:its|the) ([\d,]+ GB)", f"{weights / 1e9:,.0f} GB"),
        *(whole if option.performance.prefill_pool is None else ()),
        *_of_pods(papers),
        *(pair for role, one in _pools(papers).items() if role for pair in _of_pool(role, one)),
    ]
    for pattern, expected in sentences:
        for match in re.finditer(pattern, text, re.MULTILINE):
            if match[1] != expected:
                line = text.count("\n", 0, match.start(1)) + 1
                yield absent(
                    "SVC001",
                    f"{file}:{line}",
                    "what the page says of the service",
                    match[1],
                    expected,
                    "the plan has it",
                )


def _of_pool(role: str, option: ServingOption) -> list[tuple[str, str]]:
    """Return what the page says of a pool."""
    most, least, spare = str(most_replicas(option)), str(_least(option)), option.performance.spare_replicas
    return [
        (rf"KEDA: (\d+) to \d+ workers that {role}", least),
        (rf"KEDA: \d+ to (\d+) workers that {role}", most),
        (rf"KEDA keeps (\d+) workers that {role}", most),
        (rf"^Workers that {role}: (\d+) for the peak", most),
        (rf"^Workers that {role}: \d+ for the peak of the last day with (\d+) spare", str(spare)),
        (rf"^Workers that {role}: [^\n]* spare, (\d+) in the quietest hour", least),
        (rf"an array of (\d+) workers that {role}", most),
    ]


def _of_pods(papers: Papers) -> list[tuple[str, str]]:
    """Return what the page says of the pods of `replicas.yaml`: time to start, and their copy of the model."""
    found: list[tuple[str, str]] = []
    last = list(_pools(papers))[-1]
    for role, document in _objects(papers, "replicas.yaml", "Deployment", "LeaderWorkerSet"):
        if role != last:
            continue
        probe = next(iter(values_at(document, "spec.template.spec.containers.*.startupProbe")), None)
        if probe is not None:
            seconds = int(probe["failureThreshold"]) * int(probe["periodSeconds"])
            found.append((r"Probes wait ([\d,]+ \S+) for the first answer", f"{seconds:,} s"))
        for volume in values_at(document, "spec.template.spec.volumes.*"):
            size = value_at(volume, "emptyDir.sizeLimit")
            if volume.get("name") == "model" and size is not None:
                found.append((r"\((\d+ \w+) of local storage\)", str(size).replace("Gi", " GiB")))
    return found


def _least(option: ServingOption) -> int:
    return fewest_replicas(option)


def _rules_of(papers: Papers) -> tuple[str, list[dict[str, Any]]]:
    """Return the file of rules and those of the plan; none where the engine's figures are unknown."""
    file = _present(papers, "monitoring/rules.yaml")
    if file is None:
        return "", []
    try:
        (document,) = read_yaml(papers.documents.site / file)
    except ValueError as error:
        raise CellError(f"{file}: {error}") from None
    groups = document.get("groups") or value_at(document, "spec.groups") or []
    # Groups of other names are the user's own.
    own = [group for group in groups if str(group.get("name", "")).startswith(papers.documents.plan.name)]
    return file, [rule for group in own for rule in group.get("rules", [])]


def _goals(plan: ServingPlan) -> Mapping[str, float | None]:
    return {"first_token": plan.goals.first_token_s, "time_per_token": plan.goals.time_per_token_s}


def _alerts(papers: Papers) -> Iterator[Finding]:
    """Thresholds are the plan's: the budget of a percentile, the load at which goals are met, what tokens cost."""
    plan, option, _ = _of(papers)
    file, rules = _rules_of(papers)
    budget = 1 - plan.goals.percentile / 100.0
    for rule in rules:
        expression, place = str(rule.get("expr", "")), f"{file} {rule.get('record') or rule.get('alert')}"
        for model in sorted(set(_MODEL.findall(expression)) - {plan.workload.model}):
            yield absent("SVC003", place, "model_name", model, plan.workload.model, "the engine serves it by this name")
        service = (rule.get("labels") or {}).get("service")
        if service != plan.name or (f'service="{plan.name}"' not in expression and "service=" in expression):
            yield absent("SVC003", place, "the label service", service, plan.name, "rules and alerts are joined by it")
        times = re.search(r"more than ([\d.]+) times the share", str(value_at(rule, "annotations.summary")))
        for value in re.findall(r"> ([\d.e+-]+)", expression) if times else ():
            wanted = float(times[1]) * budget if times else 0.0
            if not isclose(float(value), wanted, rel_tol=_DIGITS):
                why = f"{times[1] if times else ''} times what P{plan.goals.percentile:g} allows"
                yield absent("SVC003", place, "the threshold", value, f"{wanted:.6g}", why)
        if rule.get("alert") == "LoadAbovePlan":
            yield from _number(
                place,
                expression,
                r"> ([\d.e+-]+)$",
                option.performance.in_flight * option.performance.replicas,
                "requests in flight",
            )
        before = _pools(papers).get("prefill")
        if rule.get("alert") == "InputsWait" and before is not None:
            inputs = 2.0 * before.performance.in_flight * before.performance.replicas
            yield from _number(place, expression, r"> ([\d.e+-]+)$", inputs, "twice the inputs under way")
        if "usd_per_million" in str(rule.get("record")):
            usd = option.money.usd_per_million_tokens.output
            per_s = None if usd is None else usd * option.performance.output_tokens_per_month / plan.workload.month_s
            yield from _number(place, expression, r"^([\d.e+-]+) /", per_s, "USD of a second, times a million")


def _number(place: str, expression: str, pattern: str, wanted: float | None, what: str) -> Iterator[Finding]:
    match = re.search(pattern, expression)
    if wanted is None:
        return
    if match is None or not isclose(float(match[1]), wanted, rel_tol=_DIGITS):
        yield absent("SVC003", place, what, None if match is None else match[1], f"{wanted:.6g}", "the plan has it")


def _windows(papers: Papers) -> Iterator[Finding]:
    """A record looks at the window of its name, and counts as good what a bucket within the goal holds."""
    plan, _, _ = _of(papers)
    file, rules = _rules_of(papers)
    records = {str(rule["record"]) for rule in rules if "record" in rule}
    for rule in rules:
        expression, name = str(rule.get("expr", "")), str(rule.get("record") or "")
        place = f"{file} {name or rule.get('alert')}"
        window = re.search(r"rate(\d+[smhd])$", name)
        for found in sorted(set(_RATE.findall(expression)) - {window[1]} if window else ()):
            yield absent(
                "SVC003", place, "the window", found, window[1] if window else None, "the record has it in its name"
            )
        goal = next((value for key, value in _goals(plan).items() if f":{key}_missed" in name), None)
        for bound in _BOUND.findall(expression):
            if goal is not None and float(bound) > goal * (1 + _DIGITS):
                most = f"at most {goal:g}"
                yield absent(
                    "SVC003", place, "the bucket that counts as good", bound, most, "the goal of the blueprint"
                )
        for used in sorted(set(re.findall(r"service:\w+:\w+", expression)) - records):
            yield absent("SVC003", place, "a record", used, "one of this file", "nothing else calculates it")


def _planned_inputs(papers: Papers) -> Mapping[str, tuple[float, None]]:
    """Return what panels of the workers that prefill say is planned; nothing where there are none."""
    before = _pools(papers).get("prefill")
    if before is None:
        return {}
    performance = before.performance
    return {
        "Inputs at the workers": (performance.in_flight * performance.replicas, None),
        "Workers that prefill": (float(most_replicas(before)), None),
    }


def _dashboard(papers: Papers) -> Iterator[Finding]:
    """What is drawn as planned is the plan's, and limits are its goals."""
    plan, option, _ = _of(papers)
    file = _present(papers, "monitoring/dashboard.json")
    if file is None:
        return
    try:
        panels = json.loads(papers.text(file)).get("panels", [])
    except (ValueError, AttributeError) as error:
        raise CellError(f"{file} cannot be read: {error}") from None
    planned = {
        "First token": (option.performance.first_token_s.value, plan.goals.first_token_s),
        "Time per token": (option.performance.time_per_token_s.value, plan.goals.time_per_token_s),
        "Requests in flight": (option.performance.in_flight * option.performance.replicas, None),
        "Tokens per second": (option.performance.output_tokens_per_s.value, None),
        "Replicas that answer": (float(most_replicas(option)), None),
        **_planned_inputs(papers),
        "USD per million": (option.money.usd_per_million_tokens.output, None),
    }
    for panel in panels:
        title = str(panel.get("title", ""))
        value, limit = next((own for name, own in planned.items() if title.startswith(name)), (None, None))
        for target in panel.get("targets", []):
            match = re.fullmatch(r"vector\(([\d.e+-]+)\)", str(target.get("expr", "")))
            if match is not None and value is not None and not isclose(float(match[1]), value, rel_tol=_DIGITS):
                what = f"“{target.get('legendFormat')}” of “{title}”"
                yield absent("SVC003", file, what, match[1], f"{value:.6g}", "the plan has it")
            for model in sorted(set(_MODEL.findall(str(target.get("expr", "")))) - {plan.workload.model}):
                yield absent(
                    "SVC003", file, f"model_name of “{title}”", model, plan.workload.model, "the engine serves it"
                )
        steps = value_at(panel, "fieldConfig.defaults.thresholds.steps") or []
        reds = [step.get("value") for step in steps if step.get("color") == "red"]
        if limit is not None and reds != [limit]:
            yield absent("SVC003", file, f"the limit of “{title}”", reds, limit, "the goal of the blueprint")
        quantile = re.search(r"histogram_quantile\(([\d.]+)", json.dumps(panel))
        if quantile is not None and not isclose(float(quantile[1]), plan.goals.percentile / 100):
            wanted = f"{plan.goals.percentile / 100:g}"
            yield absent("SVC003", file, f"the quantile of “{title}”", quantile[1], wanted, "the goals' percentile")


def _asked(plan: ServingPlan, option: ServingOption) -> dict[str, object]:
    work = plan.workload
    return {
        "service": plan.name,
        "target": option.target,
        "model": work.model,
        "replicas": option.performance.replicas,
        "requests_per_s_per_replica": option.performance.peak_requests_per_s / option.performance.replicas,
        "input_tokens.mean": work.input_tokens,
        "input_tokens.p95": work.input_tokens_p95,
        "output_tokens.mean": work.output_tokens,
        "output_tokens.p95": work.output_tokens_p95,
        "prefix_cache_hit": work.prefix_cache_hit,
        "percentile": plan.goals.percentile,
        **{
            f"{name}.{part}": getattr(figure, part)
            for name, figure in (
                ("first_token_s", option.performance.first_token_s),
                ("time_per_token_s", option.performance.time_per_token_s),
            )
            for part in ("value", "low", "high")
        },
        **{
            f"output_tokens_per_s_per_replica.{part}": getattr(option.performance.output_tokens_per_s, part)
            / option.performance.replicas
            for part in ("value", "low", "high")
        },
    }


def _load(papers: Papers) -> Iterator[Finding]:
    """The load test asks the load of the plan, and holds the answers against its bands."""
    plan, option, _ = _of(papers)
    file = _present(papers, "loadtest/plan.json")
    if file is None:
        return
    try:
        said = json.loads(papers.text(file))
    except ValueError as error:
        raise CellError(f"{file} cannot be read: {error}") from None
    for path, wanted in _asked(plan, option).items():
        found = value_at(said, path)
        both = isinstance(found, int | float) and isinstance(wanted, int | float)
        if not (isclose(float(found), float(wanted), rel_tol=_DIGITS) if both else found == wanted):  # type: ignore[arg-type]
            yield absent("SVC004", file, path, found, wanted, "plan.json sizes the service for it")
    longest = value_at(said, "longest_tokens")
    engine = {value for _, _, _, flags in _engine_texts(papers) for flag, value in flags.items() if flag in _LONGEST}
    if engine and {str(longest)} != engine:
        yield absent(
            "SVC004", file, "longest_tokens", longest, ", ".join(sorted(engine)), "the engine takes no longer ones"
        )


def _scripts(papers: Papers) -> Iterator[Finding]:
    """Rates and lengths in the benchmarks' arguments are those of the load."""
    plan, option, _ = _of(papers)
    work = plan.workload
    wanted = {
        r"print ([\d.e+-]+) \* n": option.performance.peak_requests_per_s / option.performance.replicas,
        r"--random-output-len (\d+)": round(work.output_tokens),
        r"--random-prefix-len (\d+)": round(work.input_tokens * work.prefix_cache_hit),
        r"--random-input-len (\d+)": max(round(work.input_tokens * (1 - work.prefix_cache_hit)), 1),
        r"--synthetic-input-tokens-mean (\d+)": round(work.input_tokens),
        r"--output-tokens-mean (\d+)": round(work.output_tokens),
    }
    goals = {"ttft": plan.goals.first_token_s, "tpot": plan.goals.time_per_token_s}
    wanted |= {
        rf"--goodput .*?\b{key}:([\d.]+)": seconds * 1e3 for key, seconds in goals.items() if seconds is not None
    }
    for name in ("loadtest/vllm_bench.sh", "loadtest/aiperf.sh"):
        file = _present(papers, name)
        if file is None:
            continue
        text = papers.text(file)
        for pattern, expected in wanted.items():
            for match in re.finditer(pattern, text):
                if not isclose(float(match[1]), float(expected), rel_tol=_DIGITS):
                    line = text.count("\n", 0, match.start(1)) + 1
                    what = pattern.partition(" ")[0].strip("\\")
                    rule = "plan.json has this load and these goals"
                    yield absent("SVC004", f"{file}:{line}", what, match[1], f"{expected:g}", rule)
        for model in re.findall(r"--model (\S+)", text):
            if model != work.model:
                yield absent("SVC004", file, "--model", model, work.model, "the engine serves it by this name")


def _pods(papers: Papers) -> Iterator[Finding]:
    """On Kubernetes: as many replicas as the plan has at the most, and the GPUs of a replica, in every pool."""
    pools, there = _pools(papers), set()
    file = f"{service_folder(papers)}/replicas.yaml"
    for role, document in _objects(papers, "replicas.yaml", "Deployment", "LeaderWorkerSet"):
        there.add(role)
        place = f"{file} {role}" if role else file
        option = pools[role]
        most, gpus = most_replicas(option), min(option.performance.layout.gpus, _node_gpus(papers))
        if value_at(document, "spec.replicas") != most:
            value = value_at(document, "spec.replicas")
            yield absent("SVC001", place, "replicas", value, most, "those of the peak and the spare ones")
        limits = value_at(document, "spec.template.spec.containers.0.resources.limits") or {}
        for name, value in limits.items():
            if str(name).endswith(("/gpu", "/gaudi")) and int(value) != gpus:
                yield absent("SVC001", place, f"limits.{name}", value, gpus, "the layout of a replica")
    for role in pools if _present(papers, "replicas.yaml") else ():
        if role not in there:
            yield absent("SVC001", file, f"what keeps the workers that {role}", None, "there", "the plan has this pool")


def _scaling(papers: Papers) -> Iterator[Finding]:
    """On Kubernetes: the load that scales the replicas of each pool, and how many there are at least and at most."""
    plan, _, folder = _of(papers)
    pools = _pools(papers)
    for role, document in _objects(papers, "scaling.yaml", "ScaledObject"):
        file, option = f"{folder}/scaling.yaml{f' {role}' if role else ''}", pools[role]
        least, most = _least(option), most_replicas(option)
        for key, wanted in (("minReplicaCount", least), ("maxReplicaCount", most), ("fallback.replicas", most)):
            found = value_at(document, f"spec.{key}")
            if found is not None and found != wanted:
                yield absent("SVC001", file, key, found, wanted, "replicas of the quietest hour and of the peak")
        scaled = value_at(document, "spec.scaleTargetRef.name")
        if role and scaled != f"{plan.name}-{role}":
            yield absent("SVC001", file, "scaleTargetRef", scaled, f"{plan.name}-{role}", "each pool has its own load")
        threshold, each = value_at(document, "spec.triggers.0.metadata.threshold"), option.performance.in_flight
        if threshold is not None and abs(float(threshold) - max(each, 1.0)) > (max(0.01 * each, 0.01) if role else 1):
            rule = "requests of a replica at the peak"
            yield absent("SVC001", file, "threshold", threshold, f"{each:.3g}", rule)
        for query in values_at(document, "spec.triggers.*.metadata.query") if role else ():
            for pods in sorted(set(_POD.findall(str(query))) - {f"{plan.name}-{role}-.*"}):
                yield absent("SVC003", file, "pods", pods, f"{plan.name}-{role}-.*", "each pool has its own load")
        for model in sorted(set(_MODEL.findall(str(document))) - {plan.workload.model}):
            yield absent("SVC003", file, "model_name", model, plan.workload.model, "the engine serves it by this name")


def _missing(papers: Papers) -> Iterator[Finding]:
    """While nodes are drained no more replicas are missing than the plan has to spare."""
    pools, folder = _pools(papers), service_folder(papers)
    for role, document in _objects(papers, "service.yaml", "PodDisruptionBudget"):
        performance = pools[role].performance
        said, most = value_at(document, "spec.maxUnavailable"), max(performance.spare_replicas, 1)
        if said is None:
            continue
        count = int(str(said).rstrip("%"))
        missing = -(-count * performance.replicas // 100) if str(said).endswith("%") else count
        if missing > most:
            place = f"{folder}/service.yaml PodDisruptionBudget {value_at(document, 'metadata.name')}"
            rule = "the others answer the peak alone"
            yield absent("SVC002", place, "maxUnavailable", said, f"at most {most}", rule)


def _deployed(papers: Papers) -> Iterator[Finding]:
    """The settings that `deploy.sh` starts from name the service and its replicas."""
    plan, option, _ = _of(papers)
    settings, before = _present(papers, "deploy.env"), _pools(papers).get("prefill")
    wanted = {"SERVICE": plan.name, "FEWEST": str(_least(option)), "MOST": str(most_replicas(option))}
    if before is not None:
        wanted |= {"PREFILL_FEWEST": str(_least(before)), "PREFILL_MOST": str(most_replicas(before))}
    for number, line in enumerate(papers.text(settings).splitlines() if settings else (), start=1):
        key, _, value = line.partition("=")
        if key in wanted and value.strip("'") != wanted[key]:
            yield absent("SVC001", f"{settings}:{number}", key, value, wanted[key], "deploy.sh scales between them")


def _handing(papers: Papers) -> Iterator[Finding]:
    """Workers of two pools reach each other, in both directions, to hand keys and values over."""
    plan, _, folder = _of(papers)
    file = _present(papers, "service.yaml")
    if len(_pools(papers)) == 1 or file is None:
        return
    allowed = set(_passed(read_yaml(papers.documents.site / file)))
    for own, other in (("prefill", "decode"), ("decode", "prefill")):
        for way in ("ingress", "egress"):
            if (way, own, other) not in allowed:
                place, expected = f"{folder}/service.yaml", f"all ports of the workers that {other}"
                yield absent("SVC005", place, f"{way} of {plan.name}-{own}", None, expected, "keys and values pass")


def _passed(documents: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, object, object]]:
    """Yield direction, own role and role of the other side of every network rule that opens all ports."""
    for document in documents:
        for way, to in (("ingress", "from"), ("egress", "to")):
            for rule in value_at(document, f"spec.{way}") or []:
                for peer in rule.get(to) or [] if not rule.get("ports") else ():
                    yield way, _role_in(document, "spec.podSelector"), _role_in(peer, "podSelector")


def _handshakes(papers: Papers) -> Iterator[Finding]:
    """The port at which workers of two pools meet is that in the engine's arguments or settings."""
    folder = service_folder(papers)
    for role, document in _objects(papers, "replicas.yaml", "Deployment", "LeaderWorkerSet"):
        pod = "spec.template.spec" if document.get("kind") == "Deployment" else _LEADER
        container = value_at(document, f"{pod}.containers.0") or {}
        settings = {str(one.get("name")): one.get("value") for one in container.get("env") or []}
        said = settings.get("VLLM_NIXL_SIDE_CHANNEL_PORT")
        flags = _flags_of([str(word) for word in container.get("args") or []])
        said = next(iter(flags.get("--disaggregation-bootstrap-port", [])), said)
        opened = {str(one.get("name")): str(one.get("containerPort")) for one in container.get("ports") or []}
        if said != opened.get("handshake"):
            place = f"{folder}/replicas.yaml {role}"
            yield absent("SVC005", place, "the port handshake", opened.get("handshake"), said, "the engine opens it")


def _role_in(body: object, path: str) -> object:
    """Return the role in the labels of a selector."""
    labels = value_at(body, f"{path}.matchLabels")
    return labels.get(_ROLE) if isinstance(labels, Mapping) else None


def _routed(papers: Papers) -> Iterator[Finding]:
    """The router finds the pods of both pools by their labels, at the port that they listen on."""
    folder = service_folder(papers)
    file = _present(papers, "router.yaml")
    if len(_pools(papers)) == 1:
        return
    if file is None:
        if _present(papers, "replicas.yaml") is not None:
            yield absent("SVC005", folder, "router.yaml", None, "there", "each request is for a worker of either pool")
        return
    words: list[str] = []
    for document in read_yaml(papers.documents.site / file):
        if document.get("kind") == "Deployment":
            container = value_at(document, "spec.template.spec.containers.0") or {}
            words += [str(word) for key in ("command", "args") for word in container.get(key) or []]
    flags = _flags_of(words)
    for role, document in _objects(papers, "replicas.yaml", "Deployment", "LeaderWorkerSet"):
        pod = "spec.template" if document.get("kind") == "Deployment" else "spec.leaderWorkerTemplate.leaderTemplate"
        labels = value_at(document, f"{pod}.metadata.labels") or {}
        selected = dict(word.partition("=")[::2] for word in flags.get(f"--{role}-selector", []))
        # The index of a pod in its group is set where it is started.
        missed = {key: value for key, value in selected.items() if labels.get(key, value) != value or not key}
        if not selected or missed:
            wanted = " ".join(f"{key}={value}" for key, value in labels.items())
            value = " ".join(flags.get(f"--{role}-selector", []))
            yield absent("SVC005", file, f"--{role}-selector", value, wanted, "pods of the pool have these labels")
        ports = {str(one.get("containerPort")) for one in value_at(document, f"{pod}.spec.containers.0.ports") or []}
        port = " ".join(flags.get("--service-discovery-port", []))
        if port not in ports:
            yield absent("SVC005", file, "--service-discovery-port", port, "8000", f"workers that {role} listen there")
        said, space = " ".join(flags.get("--service-discovery-namespace", [])), value_at(document, "metadata.namespace")
        if said != space:
            yield absent("SVC005", file, "--service-discovery-namespace", said, space, f"workers that {role} run there")


def _flags_of(words: Sequence[str]) -> dict[str, list[str]]:
    """Return the words after each flag."""
    found: dict[str, list[str]] = {}
    last: list[str] = []
    for word in words:
        if word.startswith("--"):
            last = found.setdefault(word, [])
        else:
            last.append(word)
    return found
