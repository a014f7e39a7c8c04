"""The generated READMEs, followed to the letter: commands, options, keys, files and outputs that they name are there.

What a command does in a cloud is not tried; what can be known without one is.
"""

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from clusterwright import assets, user_list
from clusterwright.catalog.load import load
from clusterwright.outputs.deliverables import cloud_files
from clusterwright.plan.text.money import USD
from tests.engines.pulumi_projects import engine_program
from tests.stacks.cases import TYPICAL, stacks
from tests.stacks.projects import LAYERS, plan_for

#: What a page names that is not of the project: files of other programs, and on machines.
_ELSEWHERE = re.compile(
    r"/etc/|/var/|/usr/|/opt/|megatron/|pretrain_gpt|nccl-env|set_nccl_env|gpudirect-|nri_device|nccl-config"
)
#: Words of other programs that look like outputs or keys.
_FOREIGN = {"pending_operations", "google_oslogin_nss_cache", "ib_write_bw", "encryptionSettings"}
#: Suffixes of the scripts of one cloud, of which a project has its own.
_CLOUDS = ("_aws", "_azure", "_gcp", "_local")


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A generated project: its files' text by path."""

    cloud: str
    scheduler: str
    texts: Mapping[str, str]

    def pages(self) -> Iterator[tuple[str, str]]:
        """Yield name and text of every page."""
        yield from ((path, text) for path, text in self.texts.items() if path.endswith("README.md"))

    @property
    def rest(self) -> str:
        """Everything but the pages."""
        return "\n".join(text for path, text in self.texts.items() if not path.endswith(".md"))

    def spans(self) -> Iterator[tuple[str, str]]:
        """Yield page and text of everything that stands between backquotes, code blocks aside."""
        for path, text in self.pages():
            prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
            yield from ((path, " ".join(span.split())) for span in re.findall(r"`([^`]+)`", prose))

    def commands(self) -> Iterator[tuple[str, str]]:
        """Yield page and line of everything that a person is to type: lines of code, and code within a sentence."""
        for path, text in self.pages():
            for block in re.findall(r"^```(?:sh|bash)?\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
                yield from ((path, line.removeprefix("# ")) for line in block.splitlines())
        yield from self.spans()

    def called(self, program: str) -> list[tuple[str, list[str]]]:
        """Return page and words of every call of a program that has words."""
        found = []
        for path, line in self.commands():
            inner = re.findall(r"\$\(([^()]*)\)", line)
            typed = [re.sub(r"\$\([^()]*\)", "VALUE", line).replace("<<<", ""), *inner]
            calls = [one for one in typed if one.startswith(f"{program} ")]
            found.extend((path, shlex.split(one, comments=True)) for one in calls)
        return found

    def configuration(self) -> dict[str, Any]:
        """Return what the layers' `Pulumi.yaml` say of their keys."""
        read = YAML(typ="safe")
        layers = [read.load(self.texts[f"{layer}/Pulumi.yaml"])["config"] for layer in LAYERS]
        return {key: said for layer in layers for key, said in layer.items()}


@cache
def project_of(cloud: str, scheduler: str) -> Project:
    """Return the project that is written for a cloud's typical machine, with its job."""
    plan = plan_for(cloud, TYPICAL[cloud])
    option = replace(
        plan.options[0],
        cluster=replace(plan.options[0].cluster, nodes=4),
        deployment=replace(plan.options[0].deployment, scheduler=scheduler),
    )
    files = cloud_files(plan, option, load(), USD)
    return Project(
        cloud=cloud, scheduler=scheduler, texts={path: file.content.decode() for path, file in files.items()}
    )


@pytest.fixture(params=stacks(), ids="-".join)
def project(request: pytest.FixtureRequest) -> Project:
    """Return the project of each cloud and scheduler."""
    return project_of(*request.param)


def test_cluster_commands_are_those_that_it_has(project: Project) -> None:
    """Command, options and keys of every `./cluster.sh` in a page are known to it and to the configuration."""
    usage = project.texts["cluster.sh"].partition("TEXT'\n")[2].partition("\nTEXT")[0]
    known = set(re.findall(r"^  ([a-z]+)", usage, re.MULTILINE))
    options = {"--", "--secret", *re.findall(r"--[a-z][a-z-]+", usage)}
    keys, called = project.configuration(), project.called("./cluster.sh")
    assert {words[1] for _, words in called} >= {"preview", "up", "down", "destroy", "set", "reimage", "submit"}
    for page, words in called:
        assert words[1] in known, (page, words)
        if words[1:] == ["set"]:
            continue  # the command by its name
        if words[1] == "set":
            head, _, field = words[2].partition("[")[0].partition(".")
            assert ":" in head or head in keys, (page, words)
            assert not field or re.search(rf"\b{field}\b", str(keys[head])), (page, words)
        elif words[1] not in ("submit", "kubectl"):
            own = words[: words.index("--")] if "--" in words else words
            assert {word for word in own if word.startswith("-")} <= options, (page, words)


def test_submit_takes_the_options_that_pages_give(project: Project) -> None:
    """Every option of the job is one of `submit.sh`'s own help, in its scheduler's form."""
    sources = [text for path, text in project.texts.items() if path in ("launch/submit.sh", "launch/job_options.sh")]
    options = {"--user", *re.findall(r"^ +(--[a-z][a-z-]+)", "\n".join(sources), re.MULTILINE)}
    given = [(page, word) for page, words in project.called("./cluster.sh") if words[1] == "submit" for word in words]
    assert given
    assert [(page, word) for page, word in given if word.startswith("--") and word not in options] == []


def test_files_that_pages_name_are_there(project: Project) -> None:
    """A path or a file's name between backquotes is in the project; scripts of another cloud's are said not to be."""
    names = {Path(path).name for path in project.texts}
    folders = {str(parent) for path in project.texts for parent in Path(path).parents}
    missing = set()
    for page, span in project.spans():
        if _ELSEWHERE.search(span):
            continue
        if re.fullmatch(r"[\w./-]*\w\.(py|sh|ya?ml|csv|toml|sbatch|txt)", span):
            of_cloud = span.rpartition(".")[0].endswith(_CLOUDS)
            there = span in project.texts or Path(span).name in names or ("STACK" in span)
            if not there and not (of_cloud and page == "node/README.md"):
                missing.add((page, span))
        elif re.fullmatch(r"(foundation|cluster|nodes|node|launch|policy|examples|gpu_cluster)(/[\w-]+)*/", span):
            missing |= {(page, span)} if span.rstrip("/") not in folders else set()
    # The page of launch files names what the layout has no file for.
    assert {span for _, span in missing} <= {"accelerate_fsdp.yaml"}
    if project.scheduler == "slurm":
        assert "A project holds the scripts of its own cloud." in project.texts["node/README.md"]


def test_keys_outputs_and_settings_that_pages_name_are_the_programs(project: Project) -> None:
    """Words in the form of a key, an output or a variable of a script occur in what the project runs."""
    scripts = (assets.root() / "templates" / "node").glob("*.sh")
    rest, unknown = "\n".join([project.rest, *(path.read_text() for path in scripts)]), set()
    forms = r"[a-z][a-z0-9]*[A-Z]\w*(\.[A-Za-z]+)*|[a-z]+(_[a-z0-9]+)+|[A-Z]+(_[A-Z0-9]+)+"
    for page, span in project.spans():
        if page != "launch/README.md" and re.fullmatch(forms, span):
            unknown |= {(page, word) for word in span.split(".") if not re.search(rf"\b{word}\b|_{word}\b", rest)}
    prefixes = {"identity_client_id", "identity_principal_id"}
    assert {word for _, word in unknown} <= _FOREIGN | prefixes


def test_pages_name_every_output_of_the_layers(project: Project) -> None:
    """What a layer exports is on a page, by its whole name or with a prefix that the page gives to several."""
    programs = "\n".join(text for path, text in project.texts.items() if path.endswith("__main__.py"))
    exported = set(re.findall(r"pulumi\.export\(\s*\"(\w+)\"", programs))
    named = {word for _, span in project.spans() for word in re.findall(r"\w+", span)}
    assert len(exported) > 15
    assert exported - named == set()


def test_the_api_server_is_reached_as_the_project_reaches_it(project: Project) -> None:
    """It answers inside the network by default: no page has a plain `kubectl`, which would hang from outside."""
    pages = [*project.pages(), *((path, text) for path, text in project.texts.items() if path.startswith("examples/"))]
    plain = re.compile(r"(?:^|`|^# +)kubectl +[a-z-]", re.MULTILINE)
    assert [(path, match[0]) for path, text in pages for match in plain.finditer(text)] == []


def test_kubernetes_is_taken_away_by_the_command_that_opens_the_way(project: Project) -> None:
    """A plain `pulumi destroy` or `up` of the cluster's layer reaches no chart; pages give it for other layers only."""
    if project.scheduler == "slurm":
        return
    for page, words in project.called("pulumi"):
        if {"up", "destroy", "preview", "refresh"} & set(words):
            assert "cluster" not in words, (page, words)


def test_the_passphrase_is_asked_for_as_the_command_asks(project: Project) -> None:
    """`cluster.sh` takes it from the environment alone; the page says so before the first command fails on it."""
    readme = " ".join(project.texts["README.md"].split())
    assert "Pulumi asks for the passphrase" not in readme
    assert "`cluster.sh` wants it in `PULUMI_CONFIG_PASSPHRASE`" in readme


@pytest.mark.parametrize("cloud", TYPICAL)
def test_the_list_of_users_that_pages_show_is_taken(cloud: str) -> None:
    """The YAML of the page has the keys of the layer's project, and the users and groups pass the rules."""
    project = project_of(cloud, "slurm")
    name = YAML(typ="safe").load(project.texts["cluster/Pulumi.yaml"])["name"]
    key = "AAAAC3NzaC1lZDI1NTE5AAAAIFmDAGwrXnzBtAvZxbnVjaHAv8JNHK2qAKJ4MkkpwRqF"
    (block,) = re.findall(r"^```yaml\n(.*?)^```", project.texts["README.md"], re.DOTALL | re.MULTILINE)
    shown = YAML(typ="safe").load(block.replace("AAAA...", key))
    assert set(shown) == {f"{name}:groups", f"{name}:users"}
    groups = [user_list.Group(**one) for one in shown[f"{name}:groups"]]
    lists = ("groups", "ssh_keys")
    users = [
        user_list.User(**{field: tuple(value) if field in lists else value for field, value in one.items()})
        for one in shown[f"{name}:users"]
    ]
    assert len(users) == 2
    assert list(user_list.faults(users, groups)) == []


@pytest.mark.engine
def test_pulumi_takes_what_pages_give_it(require_engine: Callable[..., None]) -> None:
    """Each command of Pulumi exists in the real one, with every option."""
    program = engine_program()
    require_engine(working=program is not None, reason="pulumi is not installed: make engine builds it")
    assert program is not None
    calls: dict[str, set[str]] = {}
    for cloud, scheduler in stacks():
        for _, words in project_of(cloud, scheduler).called("pulumi"):
            plain = [word for word in words[1:] if re.fullmatch(r"[a-z]+", word) and word not in LAYERS]
            verb = " ".join(plain[: 2 if plain[:1] in (["stack"], ["config"], ["state"]) else 1])
            calls.setdefault(verb, set()).update(word for word in words if word.startswith("--"))
    assert {"up", "destroy", "cancel", "stack output", "stack export", "refresh"} <= set(calls)
    for verb, options in calls.items():
        done = subprocess.run([program, *verb.split(), "--help"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (verb, done.stderr)
        assert [option for option in options if not re.search(rf"{option}\b", done.stdout)] == [], verb


#: How each cloud's own command says that it does not know a word, and what it needs to fail fast without an account.
_COMMANDS = {
    "gcp": ("gcloud", r"unrecognized arguments|Invalid choice|Invalid value|must be specified", {}),
    "aws": (
        "aws",
        r"usage: |[Uu]nknown options|Invalid choice|Parameter validation|Bad value for --query|required:",
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"},
    ),
}


@pytest.mark.parametrize("cloud", _COMMANDS)
def test_the_cloud_s_own_command_takes_what_pages_give_it(cloud: str, tmp_path: Path) -> None:
    """Where the command is installed: it knows each group, option and query, and fails for want of a login alone."""
    program, unknown, environment = _COMMANDS[cloud]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    known = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "AWS_MAX_ATTEMPTS": "1", **environment}
    known |= {"CLOUDSDK_CONFIG": str(tmp_path), "CLOUDSDK_CORE_DISABLE_PROMPTS": "1", "AWS_REGION": "us-east-1"}
    known["PATH"] = f"{Path(str(shutil.which(program))).parent}:{known['PATH']}"
    calls = {
        tuple(words)
        for scheduler in ("slurm", "kubernetes")
        for _, words in project_of(cloud, scheduler).called(program)
    }
    for words in calls:
        if len(words) > 2 and any(word.startswith("--") for word in words) and "..." not in " ".join(words[:3]):
            place = () if cloud == "aws" else ("--project", "p")
            done = subprocess.run([*words, *place], env=known, capture_output=True, text=True, check=False, timeout=120)
            assert not re.search(unknown, done.stderr), (words, done.stderr)
