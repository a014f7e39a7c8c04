"""`users.md` and `jobs.md` followed to the letter: commands, options, files, keys and places that they name are there.

That the commands do what the pages say is shown with real daemons in `tests/engines` (`first_job/test_on_premises.py`).
"""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache

import pytest

from clusterwright import assets
from clusterwright.blueprint.schema import Cluster
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.deliverables import onprem_files

PAGES = ("users.md", "jobs.md")
ENVIRONMENTS = ("container", "venv", "modules")
#: Of machines and of other programs: their places are those of Linux, Slurm, munge and sshd.
_OUTSIDE = re.compile(r"^/(etc|dev|proc|opt|run|scratch|shared)(/|$)")
#: What a shell brings along, and programs that every distribution has.
_EVERYWHERE = {"cp", "sed", "bash", "printf", "chown", "umask", ".", "sudo", "ssh", "id", "grep", "openssl"}
#: Slurm's commands, which need a cluster even for their help: `tests/engines` runs those of the pages.
_OF_SLURM = {"srun", "scancel", "sacct", "sinfo", "scontrol"}
#: Other programs of the machines, with their long options that the pages give.
_OTHERS = {
    "dpkg-query": ("--show",),
    "install": ("--directory", "--group", "--mode", "--owner"),
    "journalctl": ("--unit",),
    "mariadb": (),
    "mariadb-dump": (),
    "systemctl": (),
    "systemd-tmpfiles": ("--create",),
}


@cache
def folder(environment: str) -> dict[str, str]:
    """Return the folder on premises with one user, as text by path."""
    values = [f"cluster.jobs.environment={environment}", "cluster.users=[{name: ada, uid: 20001, ssh_keys: []}]"]
    plan = plan_of(assets.root() / "blueprints" / "train-gpt3-175b.yaml", values, "onprem")
    files = onprem_files(plan, plan.options[0], load())
    return {name: file.content.decode(errors="replace") for name, file in files.items()}


def blocks(page: str) -> list[str]:
    """Return the blocks of commands of a page."""
    return re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def spans(page: str) -> list[str]:
    """Return what stands between backquotes, blocks aside, and commands that a comment of a block gives."""
    prose = re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    given = re.findall(r"\((systemctl [^)]*)\)", "\n".join(blocks(page)))
    return [one.replace("\\|", "|") for one in re.findall(r"`([^`]+)`", prose)] + given


def commands(page: str) -> Iterator[list[str]]:
    """Yield the words of every simple command, those of blocks and those within a sentence."""
    lines = [line for block in blocks(page) for line in block.replace("\\\n", " ").splitlines()]
    for line in [*lines, *(one for one in spans(page) if " " in one)]:
        simple: list[list[str]] = [[]]
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;()<>")
        lexer.whitespace_split = True
        for word in lexer:
            if word in ("|", "&&", ";", "(", ")"):
                simple.append([])
            else:
                simple[-1].append(word)
        for words in simple:
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words = words[1:]  # noqa: PLW2901 - settings of this command alone
            if words and re.fullmatch(r"[a-z.][\w.-]*", words[0]):
                yield words


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_blocks_are_commands_that_a_shell_reads(environment: str) -> None:
    """Every block of both pages is whole, of bash, and runs as it is copied, several lines of it included."""
    for name in PAGES:
        found = blocks(folder(environment)[name])
        assert found, name
        for block in found:
            done = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True, check=False)
            assert done.returncode == 0, (name, block, done.stderr)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_files_that_the_pages_name_are_in_the_folder(environment: str) -> None:
    """A file or a folder of a command or a sentence is written beside the page; others are places of a machine."""
    written = folder(environment)
    parents = {path.rpartition("/")[0] for path in written}
    for name in PAGES:
        words = [word for one in commands(written[name]) for word in one[1:]] + spans(written[name])
        named = {word for word in words if re.fullmatch(r"[\w*./-]+(\.(sh|list|env|conf|csv|md)|/)", word)}
        missing = set()
        for word in named:
            if _OUTSIDE.match(word) or word == "slurm.conf":
                continue
            pattern = re.compile(re.escape(word).replace(r"\*", "[^/]*"))
            if not any(pattern.fullmatch(path) for path in written) and word.rstrip("/") not in parents:
                missing.add(word)
        assert missing == set(), name
        assert named


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_settings_that_the_pages_name_are_read(environment: str) -> None:
    """Variables are those that the scripts of `node/` read, keys those of the blueprint, units those of a script."""
    written = folder(environment)
    scripts = "\n".join(text for path, text in written.items() if path.startswith("node/"))
    for name in PAGES:
        page = written[name]
        for variable in re.findall(r"\b(CLUSTER_[A-Z_]+)\b", page):
            assert re.search(rf"\$\{{?{variable}\b|^{variable}=", scripts, re.MULTILINE), (name, variable)
        for key in re.findall(r"`cluster\.(\w+)`", page):
            assert key in Cluster.model_fields, (name, key)
        for unit in re.findall(r"gpu-cluster-users(?:\.timer)?", page):
            assert f"/etc/systemd/system/{unit.removesuffix('.timer')}.timer" in scripts, (name, unit)
            assert f"/etc/systemd/system/{unit.removesuffix('.timer')}.service" in scripts, (name, unit)
        for function in re.findall(r"\binstall_missing\b", page):
            assert f"{function}() {{" in written["node/packages.sh"]


def test_places_that_the_pages_name_are_those_of_the_scripts() -> None:
    """The list, the homes, the settings and the plugin's file are where scripts and slurm.conf look for them."""
    written = folder("container")
    users, jobs = written["users.md"], written["jobs.md"]
    (list_path,) = re.findall(r"^CLUSTER_USERS_ID=(.*)$", written["node/node.env"], re.MULTILINE)
    assert f"install --mode=0644 node/users.list {list_path}" in users
    assert ">/etc/gpu-cluster/node.env" in users
    assert "/etc/gpu-cluster/node.env" in written["node/environment.sh"]
    (shared,) = re.findall(r"^CLUSTER_SHARED_PATH=(.*)$", written["node/node.env"], re.MULTILINE)
    assert f"{shared}/home" in users
    (launch,) = re.findall(r"install --directory --mode=1777 (.*)", jobs)
    assert {f"{shared}/{one}" for one in ("launch", "images", "checkpoints", "datasets")} == set(launch.split())
    (accounting,) = re.findall(r"^AccountingStorageHost=(\S+)$", written["slurm.conf"], re.MULTILINE)
    assert f"# As root on {accounting}:" in jobs
    (database,) = re.findall(r"^StorageLoc=(\S+)$", written["slurmdbd.conf"], re.MULTILINE)
    backup = written["node/accounting_backup.sh"]
    assert re.search(rf"mariadb-dump .*--databases {database} ", backup)
    assert re.findall(r"^Include (\S+)$", written["slurmdbd.conf"], re.MULTILINE) == ["/etc/slurm/slurmdbd.password"]
    controllers = re.findall(r"^SlurmctldHost=([\w-]+)", written["slurm.conf"], re.MULTILINE)
    assert f"controller on {controllers[0]} and {controllers[1]}" in users


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_programs_and_options_of_the_pages_are_known_here(environment: str) -> None:
    """What the next test and those of the engine look at is all that the pages have a person type."""
    for name in PAGES:
        for program, *words in commands(folder(environment)[name]):
            assert program in _EVERYWHERE | _OF_SLURM | _OTHERS.keys(), (name, program)
            if program not in _OF_SLURM:
                given = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
                assert given <= {*_OTHERS.get(program, ())}, (name, program, words)


@pytest.mark.parametrize("program", sorted(_OTHERS))
def test_the_real_programs_have_these_options(program: str) -> None:
    """Where the program is installed, its own help has every option."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    for option in _OTHERS[program]:
        assert re.search(rf"{option}\b", done.stdout + done.stderr), (program, option)
