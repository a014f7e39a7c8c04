"""Slurm's files as text: every line, those too that the running proof replaces, and who hangs on which switch."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from clusterwright.catalog.software.accelerators import accelerator_software
from clusterwright.checks.prove.jobs import blocks, parts
from clusterwright.checks.prove.jobs.lines import (
    ACCOUNTING,
    CGROUP,
    GRES,
    SLURM,
    TOPOLOGY,
    Line,
    hosts_of,
    lines_of,
    minutes_of,
)
from clusterwright.checks.prove.papers import CellError, Papers, absent, examined
from clusterwright.checks.prove.records import Result
from clusterwright.errors import Finding
from clusterwright.facility.server_roles import LOGIN, server_roles

#: Share of a host's memory that a job may have at least and at most: less wastes it, more starves the system.
_MEMORY_LEAST, _MEMORY_MOST = 0.9, 0.98
_LEAST_CONTROLLERS = 2
#: Folders of one machine, which no other reads.
_OWN_FOLDERS = re.compile(r"/(var|tmp|run|opt|etc|root|usr|dev|boot)(/|$)")
_YES = {"yes", "true", "1"}


def has_slurm(papers: Papers) -> bool:
    """Tell whether the folder has Slurm's files."""
    return any((papers.documents.site / name).is_file() for name in (SLURM, GRES, TOPOLOGY, CGROUP))


def prove_slurm_text(papers: Papers) -> Result:
    """Return what holds of the text of Slurm's files."""
    facts = [
        "every line that a running proof replaces is that of production: munge, cgroups, its own user, paths, host",
        "nodes, GPUs, cores and memory are those of the system; one switch entry is one set of leaves in cables.csv",
    ]
    rules = (
        _production,
        _paths,
        _controllers,
        _accounting,
        _accounting_secret,
        _cpus,
        _memory,
        _node_names,
        _partitions,
        _partition_nodes,
        _whole_nodes,
        _gres_lines,
        _gres_hosts,
        _gres_cores,
        *((blocks.blocks,) if blocks.has_blocks(papers) else (_entries, _entry_names, _entry_leaves, _tree)),
        blocks.domain_table,
        blocks.tenants,
        parts.programs,
        lambda papers: parts.overlapping(papers, _slices(papers)[0] | _shared(papers)[0]),
        parts.weights,
        parts.places,
        parts.limits,
        _cgroup,
        _cgroup_keys,
    )
    return examined("Slurm, line by line", papers, (SLURM, GRES, TOPOLOGY, CGROUP, ACCOUNTING), rules, facts)


def _said(id_: str, line: Line, what: str, value: object, expected: object, rule: str) -> Finding:  # noqa: PLR0917 - in the order of the sentence
    return absent(id_, f"{line.file}:{line.number}", what, value, expected, rule)


def _setting(papers: Papers, key: str) -> tuple[Line | None, str, int]:
    """Return the last line that sets a key, its value, and how many lines do."""
    own = [line for line in lines_of(papers, SLURM) if key.lower() in line.values and "nodename" not in line.values]
    return (own[-1], own[-1].get(key), len(own)) if own else (None, "", 0)


#: What production asks for: the key, a pattern of its whole value, what is expected in words, and why.
_WANTED = (
    ("AuthType", r"auth/(munge|slurm)", "auth/munge", "requests carry a proof of who sent them"),
    ("CredType", r"(auth|cred)/(munge|slurm)", "cred/munge", "a job's credential is signed"),
    ("SlurmUser", r"(?!root$)[a-z_][a-z0-9_-]*", "slurm", "the controller does not run as root"),
    ("ProctrackType", r"proctrack/cgroup", "proctrack/cgroup", "a job cannot leave processes behind"),
    (
        "TaskPlugin",
        r"(?=.*task/cgroup).*",
        "task/cgroup with task/affinity",
        "a job sees only the GPUs that it was given",
    ),
    ("SelectType", r"select/cons_tres", "select/cons_tres", "GPUs are given out one by one"),
    ("SelectTypeParameters", r"CR_Core_Memory.*", "CR_Core_Memory", "cores and memory are given out"),
    ("GresTypes", r"(.*,)?gpu(,.*)?", "gpu", "without it no GPU is known"),
    ("SchedulerType", r"sched/backfill", "sched/backfill", "small jobs fill gaps"),
    ("MpiDefault", r"(none|pmix.*)", "none or pmix", "other kinds are not on the nodes"),
    (
        "TopologyPlugin",
        r"topology/(tree|block)",
        "topology/tree or topology/block",
        "jobs stay below one switch where they fit",
    ),
    ("PropagateResourceLimitsExcept", r"(.*,)?(MEMLOCK|ALL)(,.*)?", "MEMLOCK", "RDMA pins memory"),
    ("ReturnToService", r"[12]", "1 or 2", "a rebooted node comes back"),
)
_PATHS = (
    "StateSaveLocation",
    "SlurmdSpoolDir",
    "SlurmctldPidFile",
    "SlurmdPidFile",
    "SlurmctldLogFile",
    "SlurmdLogFile",
)
_ALLOWED_ROOTS = ("/var/", "/run/", "/srv/", "/shared/", "/mnt/", "/opt/", "/home/", "/data/")
#: Least and most seconds of a time-out.
_TIMEOUTS = {"SlurmctldTimeout": (30, 3600), "SlurmdTimeout": (30, 3600), "UnkillableStepTimeout": (60, 3600)}


def _production(papers: Papers) -> Iterator[Finding]:
    for key, pattern, expected, why in _WANTED:
        line, value, count = _setting(papers, key)
        if line is None:
            yield absent("SLM006", SLURM, key, None, expected, why)
        elif count > 1 or re.fullmatch(pattern, value) is None:
            yield _said("SLM006", line, key, value if count == 1 else f"{value}, set {count} times", expected, why)
    for key, (least, most) in _TIMEOUTS.items():
        line, value, _ = _setting(papers, key)
        if line is not None and not (value.isdigit() and least <= int(value) <= most):
            yield _said("SLM006", line, key, value, f"{least} to {most} s", "shorter ones lose nodes, longer ones jobs")


def _paths(papers: Papers) -> Iterator[Finding]:
    paths: dict[str, str] = {}
    for key in _PATHS:
        line, value, _ = _setting(papers, key)
        if line is None:
            yield absent("SLM007", SLURM, key, None, "a path", "the daemons need it")
            continue
        if not value.startswith(_ALLOWED_ROOTS) or ".." in value:
            yield _said(
                "SLM007",
                line,
                key,
                value,
                "a path below /var or /run",
                "it outlives a restart, and only daemons write there",
            )
        if value in paths:
            yield _said(
                "SLM007", line, key, value, f"another one than {paths[value]} has", "two daemons do not share a file"
            )
        paths[value] = key
        if key == "StateSaveLocation" and value.startswith("/run/"):
            yield _said("SLM007", line, key, value, "a path that outlives a reboot", "the queue is in it")
        backups = sum("slurmctldhost" in one.values for one in lines_of(papers, SLURM)) - 1
        if key == "StateSaveLocation" and backups > 0 and _OWN_FOLDERS.match(value):
            yield _said("SLM007", line, key, value, "a path on shared storage", "a backup goes on with the same queue")


def _controllers(papers: Papers) -> Iterator[Finding]:
    servers = set(papers.documents.design.inventory.servers())
    hosts = [line for line in lines_of(papers, SLURM) if "slurmctldhost" in line.values]
    if not hosts:
        yield absent("SLM008", SLURM, "SlurmctldHost", None, "a management server", "somebody schedules")
    for line in hosts:
        name = line.get("SlurmctldHost").split("(")[0]
        if name not in servers or name not in papers.standing:
            yield _said(
                "SLM008",
                line,
                "SlurmctldHost",
                name,
                f"one of {', '.join(sorted(servers))}",
                "racks.csv has the management servers",
            )
    named = {line.get("SlurmctldHost").split("(")[0] for line in hosts}
    racks, of_servers = (
        {place["rack"] for place in map(papers.place, names) if place is not None} for names in (named, servers)
    )
    apart = len(racks) >= min(_LEAST_CONTROLLERS, len(of_servers))
    if hosts and len(servers) > 1 and not (len(named) >= _LEAST_CONTROLLERS and apart):
        yield _said(
            "SLM008",
            hosts[-1],
            "SlurmctldHost",
            f"{', '.join(sorted(named))} in {', '.join(sorted(racks)) or 'no rack'}",
            "two servers in two racks",
            f"there are {len(servers)} management servers, and when one rack fails jobs go on to be placed",
        )
    if len({line.get("SlurmctldHost") for line in hosts}) != len(hosts):
        yield _said(
            "SLM008", hosts[-1], "SlurmctldHost", "a name twice", "different servers", "a backup stands elsewhere"
        )
    first, value, _ = _setting(papers, "ClusterName")
    if value != papers.documents.plan.cluster.name:
        yield absent(
            "SLM008",
            f"{SLURM}:{first.number if first else 1}",
            "ClusterName",
            value,
            papers.documents.plan.cluster.name,
            "the plan names the cluster",
        )


#: What slurm.conf says where accounting is kept; without the daemon's host slurmctld does not start.
_ACCOUNTED = (
    ("AccountingStorageTRES", r"(.*,)?gres/gpu(,.*)?", "gres/gpu", "the hours of GPUs are kept"),
    ("JobAcctGatherType", r"jobacct_gather/(cgroup|linux)", "jobacct_gather/cgroup", "a job's use is measured"),
)
#: What slurmdbd.conf says: the key, a pattern of its whole value, what is expected in words, and why.
_DAEMON = (
    ("AuthType", r"auth/(munge|slurm)", "auth/munge", "requests carry a proof of who sent them"),
    ("SlurmUser", r"(?!root$)[a-z_][a-z0-9_-]*", "slurm", "the daemon does not run as root"),
    ("StorageType", r"accounting_storage/mysql", "accounting_storage/mysql", "records are kept in the database"),
    ("PurgeJobAfter", r"\d+(months|days)", "24months", "the database does not grow for ever"),
)


def _accounting(papers: Papers) -> Iterator[Finding]:
    """Compare slurm.conf with slurmdbd.conf: both keep accounting, on one management server, or neither does."""
    line, kind, _ = _setting(papers, "AccountingStorageType")
    written = (papers.documents.site / ACCOUNTING).is_file()
    kept = kind == "accounting_storage/slurmdbd"
    if kept != written:
        said = "slurmdbd.conf is there" if written else "slurmdbd.conf is missing"
        expected = "accounting_storage/slurmdbd, with slurmdbd.conf"
        where = f"{SLURM}:{line.number}" if line else SLURM
        value = f"{kind or 'not set'}; {said}"
        yield absent("SLM016", where, "AccountingStorageType", value, expected, "one needs the other")
    if not (kept and written):
        return
    servers = papers.documents.design.inventory.servers()
    host_line, host, _ = _setting(papers, "AccountingStorageHost")
    # People log in on the other servers.
    controls = [
        name for role in server_roles(servers, scheduler="slurm") for name in role.servers if role.role != LOGIN
    ]
    if host_line is None or host not in controls:
        where = f"{SLURM}:{host_line.number}" if host_line else SLURM
        rule = "nobody logs in there, and racks.csv has it"
        yield absent("SLM016", where, "AccountingStorageHost", host or None, f"one of {', '.join(controls)}", rule)
    for key, pattern, expected, why in _ACCOUNTED:
        own, value, _ = _setting(papers, key)
        if re.fullmatch(pattern, value) is None:
            where = f"{SLURM}:{own.number}" if own else SLURM
            yield absent("SLM016", where, key, value or None, expected, why)
    daemon = {key: own for own in lines_of(papers, ACCOUNTING) for key in own.values}
    for key, pattern, expected, why in (*_DAEMON, ("DbdHost", re.escape(host), host, "slurm.conf looks for it there")):
        found = daemon.get(key.lower())
        value = found.get(key) if found else ""
        if re.fullmatch(pattern, value) is None:
            where = f"{ACCOUNTING}:{found.number}" if found else ACCOUNTING
            yield absent("SLM016", where, key, value or None, expected, why)


def _accounting_secret(papers: Papers) -> Iterator[Finding]:
    """Find a password in the folder: it is in another file, which slurmdbd.conf names."""
    if not (papers.documents.site / ACCOUNTING).is_file():
        return
    for line in lines_of(papers, ACCOUNTING):
        if line.get("StoragePass"):
            rule = "whoever has the folder would have the database"
            yield _said("SLM016", line, "StoragePass", "a password", "Include of another file", rule)
    includes = re.findall(r"(?mi)^\s*include\s+(\S+)", papers.text(ACCOUNTING))
    if not any(path.startswith("/etc/slurm/") for path in includes):
        found = ", ".join(includes) or None
        yield absent("SLM016", ACCOUNTING, "Include", found, "a file of /etc/slurm", "the password is there")


def divided_hosts(papers: Papers) -> frozenset[str]:
    """Return the hosts whose GPUs the plan divides by MIG."""
    return _slices(papers)[0]


def _slices(papers: Papers) -> tuple[frozenset[str], str]:
    """Return the hosts whose GPUs the plan divides, the last of the inventory, and what each offers."""
    plan, hosts = papers.documents.plan, list(papers.documents.design.inventory.hosts())
    software = plan.software_of(papers.documents.option.target)
    count = 0 if software is None else software.divided_of(len(hosts))
    if software is None or not count:
        return frozenset(), ""
    offered = ",".join(f"gpu:{profile}:{number}" for profile, number in software.instances.items())
    return frozenset(hosts[-count:]), offered


#: What Slurm calls ways to share a GPU, and what a whole one counts for; parts where None.
_SHARED: dict[str, tuple[str, int | None]] = {"mps": ("mps", 100), "time-slicing": ("shard", None)}


def _shared(papers: Papers) -> tuple[frozenset[str], str, int]:
    """Return the hosts whose GPUs the plan shares, the last of the inventory, what of, and how much each has."""
    plan, hosts = papers.documents.plan, list(papers.documents.design.inventory.hosts())
    software = plan.software_of(papers.documents.option.target)
    count = 0 if software is None else software.shared_of(len(hosts))
    if software is None or not count:
        return frozenset(), "", 0
    kind, each = _SHARED[software.sharing]
    return frozenset(hosts[-count:]), kind, _host_share(papers)[1] * (each or software.shared_parts)


def _host_share(papers: Papers) -> tuple[int, int]:
    """Return hosts, and the GPUs of one."""
    inventory = papers.documents.design.inventory
    hosts = len(inventory.hosts())
    return hosts, inventory.gpus // hosts


def _whole(line: Line, key: str) -> int:
    value = line.get(key)
    if not value.isdigit():
        raise CellError(f"{line.file}:{line.number}: {key} is {value!r}, expected a number: jobs are counted with it")
    return int(value)


def node_lines(papers: Papers) -> list[Line]:
    """Return the lines that describe nodes, the defaults left out."""
    return [line for line in lines_of(papers, SLURM) if line.get("NodeName") not in {"", "DEFAULT"}]


def _cpus(papers: Papers) -> Iterator[Finding]:
    inventory = papers.documents.design.inventory
    system, each = papers.catalogue.systems[inventory.system], inventory.hosts_per_node
    gres_type = papers.catalogue.accelerators[system.accelerator].gres_type
    gres = f"gpu:{gres_type}:{_host_share(papers)[1]}"
    facts = (
        ("Sockets", None if system.cpu_sockets is None else system.cpu_sockets // each),
        ("CoresPerSocket", system.cpu_cores_per_socket),
        ("ThreadsPerCore", system.cpu_threads_per_core),
    )
    divided, slices = _slices(papers)
    shared, kind, amount = _shared(papers)
    for line in node_lines(papers):
        names = set(hosts_of(line.get("NodeName")))
        wanted = slices if names and names <= divided else gres
        if names and names <= shared:
            wanted = f"{gres},{kind}:{amount}"
        if names & divided and not names <= divided:
            rule = "nodes with slices of GPUs have a line of their own"
            yield _said("SLM009", line, "NodeName", line.get("NodeName"), f"without {min(names & divided)}", rule)
        for key, expected in facts:
            if expected is not None and _whole(line, key) != expected:
                yield _said("SLM009", line, key, line.get(key), expected, f"a {system.id} has it by the catalogue")
        cpus = _cpu_count(line)
        if _whole(line, "CPUs") != cpus:
            yield _said("SLM009", line, "CPUs", line.get("CPUs"), cpus, "sockets times cores times threads")
        if line.get("Gres") != wanted:
            yield _said("SLM009", line, "Gres", line.get("Gres"), wanted, "each host has these GPUs")
        if line.get("State") not in {"", "UNKNOWN", "CLOUD"}:
            yield _said("SLM009", line, "State", line.get("State"), "UNKNOWN", "nodes say themselves what they are")


def _cpu_count(line: Line) -> int:
    return _whole(line, "Sockets") * _whole(line, "CoresPerSocket") * _whole(line, "ThreadsPerCore")


def _memory(papers: Papers) -> Iterator[Finding]:
    inventory = papers.documents.design.inventory
    memory_bytes = papers.catalogue.systems[inventory.system].memory_bytes
    default, share, _ = _setting(papers, "DefMemPerCPU")
    for line in node_lines(papers):
        memory, cpus = _whole(line, "RealMemory"), _cpu_count(line)
        if memory_bytes is not None:
            whole = memory_bytes / inventory.hosts_per_node / 2**20
            if not _MEMORY_LEAST * whole <= memory <= _MEMORY_MOST * whole:
                bounds = f"{_MEMORY_LEAST * whole:,.0f} to {_MEMORY_MOST * whole:,.0f} MiB"
                yield _said("SLM009", line, "RealMemory", memory, bounds, "a host's memory less what its system needs")
        if default is not None and not (share.isdigit() and _MEMORY_LEAST * memory <= int(share) * cpus <= memory):
            yield _said("SLM009", default, "DefMemPerCPU", share, memory // cpus, "all CPUs share a node's memory")


def _node_names(papers: Papers) -> Iterator[Finding]:
    planned, listed = set(papers.documents.design.inventory.hosts()), Counter[str]()
    for line in node_lines(papers):
        listed.update(hosts_of(line.get("NodeName")))
    for name in sorted(planned - listed.keys()):
        yield absent("SLM010", SLURM, f"the node {name}", None, "one", "every host of the inventory is a node")
    for name, count in sorted(listed.items()):
        if name not in planned or count > 1:
            expected = int(name in planned)
            yield absent(
                "SLM010", SLURM, f"the lines of node {name}", count, expected, "nodes are the inventory's hosts"
            )


def _partitions(papers: Papers) -> Iterator[Finding]:
    name, own = papers.documents.plan.cluster.partition, _partition_lines(papers)
    named = {line.get("PartitionName"): line for line in own}
    if name not in named:
        yield absent("SLM011", SLURM, "the partitions", ", ".join(named), name, "plan.json and the job script name it")
    if len(named) != len(own):
        yield _said(
            "SLM011", own[-1], "PartitionName", own[-1].get("PartitionName"), "another name", "a partition is one line"
        )
    if own and sum(line.get("Default").upper() == "YES" for line in own) != 1:
        yield _said(
            "SLM011", own[-1], "Default", own[-1].get("Default"), "YES, once", "jobs that name no partition go there"
        )


def _partition_lines(papers: Papers) -> list[Line]:
    return [line for line in lines_of(papers, SLURM) if line.get("PartitionName") not in {"", "DEFAULT"}]


def _partition_nodes(papers: Papers) -> Iterator[Finding]:
    planned, name = set(papers.documents.design.inventory.hosts()), papers.documents.plan.cluster.partition
    # A job that asks for a GPU without its type would get a slice of one.
    whole = planned - _slices(papers)[0] - _shared(papers)[0] or planned
    for line in _partition_lines(papers):
        nodes = line.get("Nodes")
        names = planned if nodes == "ALL" else set(hosts_of(nodes))
        if line.get("PartitionName") == name and names != whole:
            yield _said(
                "SLM011",
                line,
                "Nodes",
                f"{len(names):,} nodes",
                f"{len(whole):,}: {min(names ^ whole)} differs",
                "the partition has all hosts of the inventory with whole GPUs",
            )
        if not names <= planned:
            yield _said("SLM011", line, "Nodes", min(names - planned), "hosts of the inventory", "racks.csv has them")
        if line.get("State").upper() not in {"", "UP"}:
            yield _said("SLM011", line, "State", line.get("State"), "UP", "a partition takes jobs")
        if line.get("PartitionName") == name:
            yield from _limits(line, papers)


def _whole_nodes(papers: Papers) -> Iterator[Finding]:
    """Find a partition whose jobs share nodes where a node's memory over NVLink is exchanged for one job."""
    if _setting(papers, "SwitchType")[1].lower() != "switch/nvidia_imex":
        return
    parted = _slices(papers)[0] | _shared(papers)[0]
    for line in _partition_lines(papers):
        value = line.get("OverSubscribe")
        if value.upper() != "EXCLUSIVE" and not (parted and set(hosts_of(line.get("Nodes"))) <= parted):
            rule = "the daemon of IMEX on a node knows the nodes of one job"
            yield _said("SLM011", line, "OverSubscribe", value or None, "EXCLUSIVE", rule)


def _limits(line: Line, papers: Papers) -> Iterator[Finding]:
    limit = minutes_of(line.get("MaxTime"))
    needed = (papers.documents.option.performance.calendar_days or 0.0) * 1440
    if limit is not None and limit < needed:
        yield _said(
            "SLM011",
            line,
            "MaxTime",
            line.get("MaxTime"),
            f"at least {needed / 1440:.1f} days, or INFINITE",
            "the run takes as long",
        )
    most = line.get("MaxNodes")
    if most.isdigit() and int(most) < papers.documents.option.cluster.nodes:
        yield _said(
            "SLM011",
            line,
            "MaxNodes",
            most,
            f"at least {papers.documents.option.cluster.nodes}",
            "the run takes as many",
        )
    if line.get("OverSubscribe").upper().startswith(("YES", "FORCE")):
        yield _said("SLM011", line, "OverSubscribe", line.get("OverSubscribe"), "NO", "GPUs are not shared by jobs")


def _indices(text: str) -> list[int]:
    """Return the numbers of a list such as `0-3` or `[0-3]`, with what is before it left out."""
    spans = re.findall(r"(\d+)(?:-(\d+))?", text[text.find("[") + 1 :] if "[" in text else text)
    return [number for first, last in spans for number in range(int(first), int(last or first) + 1)]


def _gres_lines(papers: Papers) -> Iterator[Finding]:
    system = papers.catalogue.systems[papers.documents.design.inventory.system]
    accelerator = papers.catalogue.accelerators[system.accelerator]
    kind, own = accelerator.gres_type, accelerator_software(accelerator.vendor, accelerator.generation)
    for line in lines_of(papers, GRES):
        if "autodetect" in line.values and line.get("AutoDetect").lower() not in {"off", "nvml"}:
            yield _said("SLM012", line, "AutoDetect", line.get("AutoDetect"), "off", "the lines say what there is")
        if not line.get("Name"):
            continue
        hosts, shared, amount = _shared(papers)
        if line.get("Name") == shared:
            if frozenset(hosts_of(line.get("NodeName"))) != hosts or line.get("Count") != str(amount):
                said = f"{line.get('NodeName')} {line.get('Count')}"
                yield _said("SLM012", line, f"nodes and Count of {shared}", said, f"{amount}", "the plan shares them")
            continue
        if line.get("Name") != "gpu" or line.get("Type") != kind:
            named = f"{line.get('Name')} {line.get('Type')}"
            yield _said("SLM012", line, "Name and Type", named, f"gpu {kind}", "slurm.conf's Gres names them so")
        if re.fullmatch(rf"/dev/{own.devices.name}(\[[\d,-]+\]|\d+)", line.get("File")) is None:
            expected = f"/dev/{own.devices.name} and numbers"
            yield _said("SLM012", line, "File", line.get("File"), expected, "GPUs are device files")
        if line.get("Flags") != (own.gres_flags or ""):
            rule = "they say which variables jobs get"
            yield _said("SLM012", line, "Flags", line.get("Flags"), own.gres_flags or "none", rule)


def _by_host(papers: Papers, key: str) -> dict[str, list[list[int]]]:
    """Return the numbers of a key of `gres.conf` for every host, line by line; -1 for a file of no accelerator."""
    system = papers.catalogue.systems[papers.documents.design.inventory.system]
    accelerator = papers.catalogue.accelerators[system.accelerator]
    devices = accelerator_software(accelerator.vendor, accelerator.generation).devices
    found: defaultdict[str, list[list[int]]] = defaultdict(list)
    for line in lines_of(papers, GRES):
        if line.get("Name") == "gpu":
            for host in hosts_of(line.get("NodeName")) or papers.documents.design.inventory.hosts():
                numbers = _indices(line.get(key).removeprefix(f"/dev/{devices.name}"))
                if key == "File":
                    numbers = [-1 if (index := devices.index(number)) is None else index for number in numbers]
                found[host].append(numbers)
    return found


def _gres_hosts(papers: Papers) -> Iterator[Finding]:
    _, gpus = _host_share(papers)
    divided = _slices(papers)[0]
    files, hosts = _by_host(papers, "File"), set(papers.documents.design.inventory.hosts()) - divided
    detect = [line.get("AutoDetect").lower() for line in lines_of(papers, GRES) if not line.get("NodeName")]
    if divided and "nvml" not in detect:
        yield absent(
            "SLM012", GRES, "AutoDetect", "".join(detect), "nvml", "the driver alone knows the files of slices"
        )
    if divided:
        for line in lines_of(papers, GRES):
            if line.get("File") and line.get("AutoDetect").lower() != "off":
                yield _said("SLM012", line, "AutoDetect", line.get("AutoDetect"), "off", "the line says what there is")
    for host in sorted(hosts ^ files.keys()):
        expected = gpus if host in hosts else 0
        count = sum(map(len, files.get(host, [])))
        yield absent("SLM012", GRES, f"the GPUs of {host}", count, expected, "every host of the inventory has its GPUs")
    for host, lines in files.items():
        numbers = sorted(number for line in lines for number in line)
        if numbers != list(range(gpus)):
            said = ", ".join(map(str, numbers))
            rule = "as many GPUs as slurm.conf's Gres"
            yield absent(
                "SLM012", GRES, f"the GPUs with device files of {host}", said, f"0 to {gpus - 1}, each once", rule
            )


def _gres_cores(papers: Papers) -> Iterator[Finding]:
    """GPUs go with the cores of their own socket: in order, in equal shares, as the files of devices are numbered."""
    inventory = papers.documents.design.inventory
    system, each = papers.catalogue.systems[inventory.system], inventory.hosts_per_node
    if not system.cpu_sockets or not system.cpu_cores_per_socket:
        return
    sockets, gpus = system.cpu_sockets // each, system.gpus // each
    count = sockets * system.cpu_cores_per_socket
    shares = sockets if gpus % sockets == 0 else 1
    files = _by_host(papers, "File")
    for host, lines in _by_host(papers, "Cores").items():
        for devices, cores in zip(files.get(host, []), lines, strict=False):
            own = {number * shares // gpus for number in devices}
            wanted = [core for core in range(count) if core * shares // count in own]
            if (cores or any(lines)) and sorted(cores) != wanted:
                rule = "Cores counts cores, not threads, and GPUs go with those of their socket"
                what = f"the cores of {host}'s GPUs {_span(devices)}"
                yield absent("SLM012", GRES, what, _span(cores), _span(wanted), rule)


def _span(numbers: Sequence[int]) -> str:
    """Return whole numbers in words, such as `0 to 55`."""
    if not numbers:
        return "nothing"
    whole = sorted(numbers) == list(range(min(numbers), max(numbers) + 1))
    return f"{min(numbers)} to {max(numbers)}" if whole else ", ".join(map(str, sorted(numbers)))


def _switch_lines(papers: Papers) -> list[Line]:
    return [line for line in lines_of(papers, TOPOLOGY) if line.get("SwitchName")]


def _entry_of(papers: Papers) -> dict[str, Line]:
    """Return the first entry of `topology.conf` that names a host, for every host."""
    found: dict[str, Line] = {}
    for line in _switch_lines(papers):
        for host in hosts_of(line.get("Nodes")):
            found.setdefault(host, line)
    return found


def _entries(papers: Papers) -> Iterator[Finding]:
    planned, entry_of = set(papers.documents.design.inventory.hosts()), _entry_of(papers)
    for line in _switch_lines(papers):
        for host, count in Counter(hosts_of(line.get("Nodes"))).items():
            if host not in planned:
                yield _said("SLM013", line, "Nodes", host, "hosts of the inventory", "racks.csv has them")
            elif entry_of[host].number != line.number or count > 1:
                own = entry_of[host].get("SwitchName")
                yield _said("SLM013", line, f"the entry of {host}", line.get("SwitchName"), own, "a host hangs on one")
    for host in sorted(planned - entry_of.keys()):
        yield absent("SLM013", TOPOLOGY, f"the entry of {host}", None, "one", "every host hangs on a switch")


def _entry_names(papers: Papers) -> Iterator[Finding]:
    lines = _switch_lines(papers)
    names = Counter(line.get("SwitchName") for line in lines)
    for line in lines:
        name = line.get("SwitchName")
        if names[name] > 1:
            yield _said("SLM013", line, "SwitchName", name, "a name of its own", "a switch is one line")
        for child in hosts_of(line.get("Switches")):
            if child not in names:
                yield _said("SLM013", line, "Switches", child, f"one of {', '.join(names)}", "entries name entries")
        if bool(line.get("Nodes")) == bool(line.get("Switches")):
            yield _said(
                "SLM013", line, "what it joins", "both or nothing", "nodes or switches", "an entry is one of them"
            )


def _entry_leaves(papers: Papers) -> Iterator[Finding]:
    """Compare the entries with the leaves that hosts hang on in the cable list: one entry, one set of leaves."""
    leaves: defaultdict[str, set[str]] = defaultdict(set)
    for row in papers.rows("cables.csv"):
        if row["network"] == "compute" and row["tier"] == "node-leaf":
            leaves[row["from_device"]].add(row["to_device"])
    entries: defaultdict[frozenset[str], set[str]] = defaultdict(set)
    sets: defaultdict[str, set[frozenset[str]]] = defaultdict(set)
    by_name = {}
    for host, line in _entry_of(papers).items():
        name = line.get("SwitchName")
        by_name[name] = line
        if host in leaves:
            entries[frozenset(leaves[host])].add(name)
            sets[name].add(frozenset(leaves[host]))
    for name, own in sets.items():
        if len(own) > 1:
            rule = "hosts of one entry are one switch apart in cables.csv"
            yield _said("SLM014", by_name[name], f"the sets of leaves below {name}", len(own), 1, rule)
    for names in entries.values():
        if len(names) > 1:
            said, rule = ", ".join(sorted(names)), "cables.csv joins their hosts to the same leaves"
            yield _said("SLM014", by_name[max(names)], "entries on the same leaves", said, "one", rule)


def _tree(papers: Papers) -> Iterator[Finding]:
    lines = _switch_lines(papers)
    below = Counter(child for line in lines for child in hosts_of(line.get("Switches")))
    roots = [line.get("SwitchName") for line in lines if not below[line.get("SwitchName")]]
    if lines and len(roots) != 1:
        rule = "jobs larger than one entry need a way between them"
        yield absent("SLM013", TOPOLOGY, "the switches at the top", ", ".join(roots), "one", rule)
    for name, count in below.items():
        if count > 1:
            yield absent("SLM013", TOPOLOGY, f"the entries above {name}", count, 1, "the topology is a tree")


#: Keys of cgroup.conf; slurmd does not start with others.
_CGROUP_KEYS = {
    "cgroupplugin",
    "cgroupmountpoint",
    "constraincores",
    "constraindevices",
    "constrainramspace",
    "constrainswapspace",
    "allowedramspace",
    "allowedswapspace",
    "maxrampercent",
    "maxswappercent",
    "memoryswappiness",
    "minramspace",
    "enablecontrollers",
    "ignoresystemd",
    "ignoresystemdonfailure",
    "systemdtimeout",
    "cgroupautomount",
}
_CGROUP_PLUGINS = {"autodetect", "cgroup/v1", "cgroup/v2"}


def _cgroup_lines(papers: Papers) -> dict[str, Line]:
    return {key: line for line in lines_of(papers, CGROUP) for key in line.values}


def _cgroup(papers: Papers) -> Iterator[Finding]:
    said = _cgroup_lines(papers)
    for key, why in (
        ("ConstrainCores", "a job keeps to its cores"),
        ("ConstrainDevices", "a job sees only the GPUs that it was given"),
        ("ConstrainRAMSpace", "a job keeps to its memory"),
    ):
        own = said.get(key.lower())
        value = own.get(key) if own else ""
        if value.lower() not in _YES:
            yield absent("SLM015", f"{CGROUP}:{own.number}" if own else CGROUP, key, value, "yes", why)


def _cgroup_keys(papers: Papers) -> Iterator[Finding]:
    for key, line in _cgroup_lines(papers).items():
        if key not in _CGROUP_KEYS:
            yield _said("SLM015", line, "a key", key, "a key of cgroup.conf", "slurmd does not start with others")
        if key == "cgroupplugin" and line.get(key) not in _CGROUP_PLUGINS:
            yield _said("SLM015", line, "CgroupPlugin", line.get(key), "autodetect", "slurmd does not start with it")
        if key in {"allowedramspace", "maxrampercent"}:
            value = line.get(key).rstrip("%")
            if not (value.replace(".", "", 1).isdigit() and float(value) >= 100 * _MEMORY_LEAST):
                yield _said("SLM015", line, key, line.get(key), "100", "a job gets the memory that it asked for")
