"""What machines and jobs start from: settings of nodes and job against the plan, and the list of users."""

import re
from collections.abc import Iterator, Mapping, Sequence

from clusterwright.blueprint.sections.jobs import SHARED_PATH
from clusterwright.catalog.software.accelerators import accelerator_software
from clusterwright.checks.prove.jobs.directory import PASSWORD_PATH, SETTINGS_PATH, directory_findings
from clusterwright.checks.prove.papers import Papers, absent, examined
from clusterwright.checks.prove.records import Result
from clusterwright.errors import Finding
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK
from clusterwright.user_list import Group, User, faults

NODE, JOB, USERS = "node/node.env", "launch/job.env", "node/users.list"
_ASSIGNED = re.compile(r"^(?:export\s+)?(\w+)=(.*)$")
#: What `${NAME:-value}` stands for when nothing is set.
_DEFAULT = re.compile(r"^\$\{\w+:-(.*)\}$")
_YES = "yes"

Said = Mapping[str, tuple[int, str]]


def has_settings(papers: Papers) -> bool:
    """Tell whether the folder has settings of machines or of a job."""
    return any((papers.documents.site / name).is_file() for name in (NODE, JOB, USERS))


def prove_settings(papers: Papers) -> Result:
    """Return what holds of the settings."""
    facts = [
        "names, GPUs, fabric, controller and folders of the machines are those of the plan; the job's queue is there",
        f"{len(_lines(papers, USERS)):,} lines of users and groups: names and numbers once, everybody of the plan",
    ]
    if papers.documents.plan.cluster.directory is not None:
        facts.append("the directory's servers, groups and numbers are those of the plan; it is asked by TLS alone")
    rules = (_node, _job, _users, _planned_users, _planned_keys, directory_findings)
    return examined("settings", papers, (NODE, JOB, USERS), rules, facts)


def _lines(papers: Papers, file: str) -> list[tuple[int, str]]:
    if not (papers.documents.site / file).is_file():
        return []
    return [
        (number, line.strip())
        for number, line in enumerate(papers.text(file).splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]


def assigned(papers: Papers, file: str) -> Said:
    """Return the values of a file of assignments that a shell reads, by name with their lines."""
    found: dict[str, tuple[int, str]] = {}
    for number, line in _lines(papers, file):
        match = _ASSIGNED.match(line)
        if match:
            value = match[2].strip().strip("'\"")
            default = _DEFAULT.match(value)
            found[match[1]] = number, value if default is None else default[1]
    return found


def _differing(said: Said, file: str, wanted: Mapping[str, object], rule: str) -> Iterator[Finding]:
    for name, expected in wanted.items():
        number, value = said.get(name, (1, ""))
        if value != str(expected):
            yield absent("SET001", f"{file}:{number}", name, value, expected, rule)


def _node(papers: Papers) -> Iterator[Finding]:
    said = assigned(papers, NODE)
    if not said:
        return
    documents, inventory = papers.documents, papers.documents.design.inventory
    system, hosts = papers.catalogue.systems[inventory.system], inventory.hosts_per_node
    fabric = "infiniband" if inventory.compute_network == INFINIBAND_NETWORK else "roce"
    accelerator = papers.catalogue.accelerators[system.accelerator]
    devices = accelerator_software(accelerator.vendor, accelerator.generation).devices
    wanted = {
        "CLUSTER_CLOUD": "local",
        "CLUSTER_ROLE": "compute",
        "CLUSTER_NAME": documents.plan.cluster.name,
        "CLUSTER_PARTITION": documents.plan.cluster.partition,
        "CLUSTER_GPUS_PER_NODE": system.gpus // hosts,
        "CLUSTER_GPU_TYPE": accelerator.gres_type,
        "CLUSTER_ACCELERATOR_DEVICE": devices.name,
        "CLUSTER_FIRST_ACCELERATOR": devices.first,
        "CLUSTER_ACCELERATOR_STEP": devices.step,
        "CLUSTER_FABRIC": fabric if system.fabric_ports else "none",
        "CLUSTER_FABRIC_INTERFACES": (system.fabric_ports or 0) // hosts,
        "CLUSTER_CONTROLLER_ADDRESS": inventory.servers()[0],
        "CLUSTER_JOB_ENVIRONMENT": documents.plan.cluster.jobs.environment,
        "CLUSTER_SHARED_PATH": SHARED_PATH,
        "CLUSTER_USERS_ID": f"{SHARED_PATH}/.gpu-cluster/users",
    }
    if documents.plan.cluster.directory is not None:
        wanted["CLUSTER_DIRECTORY_ID"] = SETTINGS_PATH
        wanted["CLUSTER_DIRECTORY_PASSWORD_ID"] = PASSWORD_PATH if documents.plan.cluster.directory.bind_dn else ""
    if system.fabric_ports and system.fabric_bytes_per_s_per_gpu_one_way is not None:
        wanted |= {
            "CLUSTER_FABRIC_GBIT_PER_S": round(inventory.adapter_bytes_per_s(system) * 8e-9),
            "CLUSTER_FABRIC_LINK_LAYER": "InfiniBand" if fabric == "infiniband" else "Ethernet",
        }
    yield from _differing(said, NODE, wanted, "plan, catalogue and slurm.conf have it")


def _job(papers: Papers) -> Iterator[Finding]:
    """Compare what the plan alone decides; image, data and learning rate are the user's."""
    said, plan = assigned(papers, JOB), papers.documents.plan
    if not said:
        return
    wanted = {
        "LAUNCH_PATH": f"{SHARED_PATH}/launch/{plan.name}",
        "SHARED_PATH": SHARED_PATH,
        "JOB_NAME": plan.name,
        "JOB_PARTITION": plan.cluster.partition,
    }
    yield from _differing(said, JOB, wanted, "plan.json and slurm.conf have it")
    number, value = said.get("MEGATRON_COMMIT", (1, ""))
    if re.fullmatch(r"[0-9a-f]{40}", value) is None:
        rule = "what arrives is known by its commit"
        yield absent("SET001", f"{JOB}:{number}", "MEGATRON_COMMIT", value, "40 hexadecimal digits", rule)
    number, value = said.get("CHECKPOINT_PATH", (1, ""))
    if not value.startswith(f"{SHARED_PATH}/"):
        rule = "every node writes its part, and a restart on other nodes reads it"
        yield absent("SET001", f"{JOB}:{number}", "CHECKPOINT_PATH", value, f"a folder of {SHARED_PATH}", rule)


def _listed(papers: Papers) -> tuple[list[User], list[Group], list[int], list[int]]:
    """Return users and groups of the list, and the lines that they are on; a number that is none is -1."""
    users: list[User] = []
    groups: list[Group] = []
    of_users: list[int] = []
    of_groups: list[int] = []
    for number, line in _lines(papers, USERS):
        kind, *words = line.split()
        count = int(words[1]) if len(words) > 1 and words[1].isdigit() else -1
        if kind == "group" and words:
            groups.append(Group(name=words[0], gid=count))
            of_groups.append(number)
        elif kind == "user" and words:
            named = tuple(words[3].split(",")) if len(words) > 3 else ()  # noqa: PLR2004 - name, number, administrator
            users.append(User(name=words[0], uid=count, groups=named, administrator=words[2:3] == [_YES]))
            of_users.append(number)
    return users, groups, of_users, of_groups


def _users(papers: Papers) -> Iterator[Finding]:
    users, groups, of_users, of_groups = _listed(papers)
    for fault in faults(users, groups):
        section, place = fault.path[0], fault.path[1] if len(fault.path) > 1 else 0
        numbers = of_users if section == "users" else of_groups
        number = numbers[int(place)] if numbers else 1
        entry: User | Group = users[int(place)] if section == "users" else groups[int(place)]
        said = f"{entry.name} {entry.uid if isinstance(entry, User) else entry.gid}"
        yield absent("SET002", f"{USERS}:{number}", str(section)[:-1], said, fault.help, fault.message)
    names = {one.name for one in users}
    for number, line in _lines(papers, USERS):
        kind, name = [*line.split(), "", ""][:2]
        if kind == "key" and name not in names:
            expected, rule = ", ".join(sorted(names)), "the list has these users"
            yield absent("SET002", f"{USERS}:{number}", "the user of a key", name, expected, rule)
        if line.split()[0] not in {"user", "group", "key"}:
            yield absent(
                "SET002", f"{USERS}:{number}", "a line", line, "user, group or key first", "users.sh reads these"
            )


def _planned_users(papers: Papers) -> Iterator[Finding]:
    """Everybody of the plan has the number and the rights of the plan; more people may be on the list."""
    if not (papers.documents.site / USERS).is_file():
        return
    users, groups, *_ = _listed(papers)
    cluster = papers.documents.plan.cluster
    listed: dict[str, User | Group] = {one.name: one for one in groups} | {one.name: one for one in users}
    expected: list[User | Group] = [*cluster.groups, *cluster.users]
    for planned in expected:
        own, what = listed.get(planned.name), f"{'user' if isinstance(planned, User) else 'group'} {planned.name}"
        if own is None:
            yield absent("SET002", USERS, what, None, _words(planned), "plan.json has it")
        elif _words(own) != _words(planned):
            yield absent("SET002", USERS, what, _words(own), _words(planned), "plan.json has it")


def _planned_keys(papers: Papers) -> Iterator[Finding]:
    """Keys of the plan are those of their own users; a user may have more on the list."""
    owner: dict[str, str] = {}
    for user in papers.documents.plan.cluster.users:
        owner |= dict.fromkeys((_key(key) for key in user.ssh_keys), user.name)
    for number, line in _lines(papers, USERS):
        kind, name, key = [*line.split(maxsplit=2), "", "", ""][:3]
        expected = owner.get(_key(key), name)
        if kind == "key" and name != expected:
            yield absent("SET002", f"{USERS}:{number}", "the user of a key", name, expected, "plan.json has it there")


def _key(line: str) -> str:
    """Return kind and digits of a key, without its comment."""
    return " ".join(line.split()[:2])


def _words(one: User | Group) -> str:
    if isinstance(one, Group):
        return str(one.gid)
    rights: Sequence[str] = ("administrator",) if one.administrator else ()
    return ", ".join((str(one.uid), *one.groups, *rights))
