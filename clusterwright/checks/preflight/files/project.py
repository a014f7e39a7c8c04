"""A generated project as checks read it: its files, and every configuration value with the place where it is."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from clusterwright.blueprint.reading.document import Document, parsed
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.checks.preflight.results import Place
from clusterwright.errors import InputError

LAYERS = ("foundation", "cluster", "nodes")
CLOUDS = ("aws", "azure", "gcp")
#: Namespaces of the providers' own configuration, by cloud.
PROVIDERS = {"aws": "aws", "azure": "azure-native", "gcp": "gcp"}

Path = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One configuration value: its layer, full key, path below it, value, and place."""

    layer: str
    key: str
    path: Path
    value: Any
    place: Place

    @property
    def name(self) -> str:
        """The key as people type it after `pulumi config set --path`, without the project's own namespace."""
        namespace, _, short = self.key.rpartition(":")
        shown = short if namespace not in PROVIDERS.values() else self.key
        return shown + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer:
    """One stack of the project.

    Attributes:
        name: `foundation`, `cluster` or `nodes`.
        project: name of the Pulumi project.
        declared: what `Pulumi.yaml` says of each key of its configuration.
        stack: name of the stack; file: of its configuration.
        document: the configuration file, with positions.
    """

    name: str
    project: str
    declared: Mapping[str, Any]
    stack: str
    file: str
    document: Document

    @property
    def config(self) -> dict[str, Any]:
        """Full keys to values; empty where the file holds none."""
        value = self.document.value
        config = value.get("config") if isinstance(value, dict) else None
        return config if isinstance(config, dict) else {}


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A project in memory.

    Attributes:
        name: of the folder, as shown to people.
        cloud: `aws`, `azure` or `gcp`; scheduler: `slurm` or `kubernetes`.
        files: text by path within the project; files that are not text are left out.
        layers: those whose configuration was read, in order.
        changed: files that differ from what was written; None where that is not known.
        relocated: gives the place of a value in the blueprint it came from, where there is one.
    """

    name: str
    cloud: str
    scheduler: str
    files: Mapping[str, str]
    layers: tuple[Layer, ...]
    changed: frozenset[str] | None = None
    relocated: Callable[[Layer, str, Path], Place | None] | None = field(default=None, compare=False)

    def place(self, layer: Layer, key: str, path: Path = ()) -> Place:
        """Return where a configuration value is: in the blueprint if it came from one, else in its file."""
        if self.relocated is not None and (found := self.relocated(layer, key, path)) is not None:
            return found
        document = layer.document
        whole: Path = ("config", key, *path)
        for end in range(len(whole), 0, -1):
            position = document.keys.get(whole[:end]) or document.values.get(whole[:end])
            if position is not None:
                return Place(file=self.shown(layer.file), line=position.line, column=position.column)
        return Place(file=self.shown(layer.file))

    def shown(self, file: str) -> str:
        """Return a file's name as people open it."""
        return str(PurePosixPath(self.name) / file) if self.name else file

    def settings(self, key: str) -> Iterator[Setting]:
        """Yield a value in every layer that has it, foundation first.

        Args:
            key: without the project's namespace, with a path by dots: `nodeType.image`; or with a provider's own,
                `gcp:region`.
        """
        first, *rest = key.split(".")
        for layer in self.layers:
            for full, value in layer.config.items():
                if full == first or (full.rpartition(":")[2] == first and _own(full, layer)):
                    found = _below(value, rest)
                    if found is not None:
                        path = tuple(rest)
                        yield Setting(
                            layer=layer.name, key=full, path=path, value=found, place=self.place(layer, full, path)
                        )

    def settings_of(self, layer: str, key: str) -> Iterator[Setting]:
        """Yield a value of one layer; see `settings`."""
        return (setting for setting in self.settings(key) if setting.layer == layer)

    def setting(self, key: str) -> Setting | None:
        """Return a value from the last layer that has it, closest to the nodes; else the default that is declared."""
        found = list(self.settings(key))
        return found[-1] if found else self._default(key)

    def _default(self, key: str) -> Setting | None:
        for layer in reversed(self.layers):
            declared = layer.declared.get(key)
            value = declared.get("default") if isinstance(declared, dict) else None
            if value in (None, "", {}):
                continue
            file = f"{layer.name}/Pulumi.yaml"
            lines = self.files[file].splitlines()
            line = next((number for number, text in enumerate(lines, 1) if text.startswith(f"  {key}:")), 0)
            place = Place(file=self.shown(file), line=line, column=3 if line else 0)
            return Setting(layer=layer.name, key=f"{layer.project}:{key}", path=(), value=value, place=place)
        return None

    def leaves(self) -> Iterator[Setting]:
        """Yield every scalar of every layer's configuration."""
        for layer in self.layers:
            for full, value in layer.config.items():
                for path, leaf in _leaves(value, ()):
                    yield Setting(
                        layer=layer.name, key=full, path=path, value=leaf, place=self.place(layer, full, path)
                    )


def _own(full: str, layer: Layer) -> bool:
    namespace = full.rpartition(":")[0]
    return namespace in {"", layer.project}


def _below(value: Any, path: list[str]) -> Any:  # noqa: ANN401 - configuration values
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:  # noqa: ANN401 - configuration values
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    else:
        yield path, value


def project_of(
    name: str,
    files: Mapping[str, str],
    *,
    stack: str | None = None,
    changed: frozenset[str] | None = None,
    relocated: Callable[[Layer, str, Path], Place | None] | None = None,
) -> Project:
    """Read a project from its files.

    Args:
        name: of the folder, as shown to people.
        files: text by path within the project.
        stack: which stack, where the project has several.
        changed: see `Project`.
        relocated: see `Project`.

    Raises:
        InputError: this is no such project, or it has several stacks and none was named.
        BlueprintError: a configuration file is not valid YAML.
    """
    projects = {folder: _project_file(name, files, folder) for folder in LAYERS if f"{folder}/Pulumi.yaml" in files}
    if not projects:
        raise InputError(
            f"{name} is no generated project: it has none of {', '.join(f'{layer}/Pulumi.yaml' for layer in LAYERS)}",
            help="name the folder that `clusterwright stack` wrote, for build the cloud's folder within it",
        )
    stacks = _stacks(files, projects)
    chosen = stack or _only_stack(name, stacks)
    layers = []
    for folder, declared in projects.items():
        file = f"{folder}/Pulumi.{chosen}.yaml"
        if file not in files:
            continue
        document = parsed(files[file], name=f"{name}/{file}")
        if document.problems:
            raise BlueprintError(name=document.name, text=document.text, problems=document.problems)
        layers.append(
            Layer(
                name=folder,
                project=str(declared.get("name", "")),
                declared=declared.get("config") or {},
                stack=chosen,
                file=file,
                document=document,
            )
        )
    if not layers:
        raise InputError(f"{name} has no stack {chosen!r}", help=f"it has {', '.join(sorted(stacks))}")
    cloud = next((cloud for cloud in CLOUDS for layer in layers if layer.project.startswith(f"{cloud}-")), None)
    if cloud is None:
        raise InputError(
            f"{name}: the cloud cannot be told from the project's name {layers[0].project!r}",
            help="the name in Pulumi.yaml starts with aws-, azure- or gcp-",
        )
    return Project(
        name=name,
        cloud=cloud,
        scheduler="kubernetes" if any(file.startswith("gpu_cluster/kubernetes/") for file in files) else "slurm",
        files=files,
        layers=tuple(layers),
        changed=changed,
        relocated=relocated,
    )


def _project_file(name: str, files: Mapping[str, str], folder: str) -> dict[str, Any]:
    value = parsed(files[f"{folder}/Pulumi.yaml"], name=f"{name}/{folder}/Pulumi.yaml").value
    return value if isinstance(value, dict) else {}


def _stacks(files: Mapping[str, str], projects: Mapping[str, Any]) -> set[str]:
    found = set()
    for file in files:
        folder, _, base = file.rpartition("/")
        if folder in projects and base.startswith("Pulumi.") and base.endswith(".yaml") and base != "Pulumi.yaml":
            found.add(base.removeprefix("Pulumi.").removesuffix(".yaml"))
    return found


def _only_stack(name: str, stacks: set[str]) -> str:
    if not stacks:
        raise InputError(f"{name} has no stack configuration", help="a layer holds one as Pulumi.<stack>.yaml")
    if len(stacks) > 1:
        raise InputError(f"{name} has several stacks: {', '.join(sorted(stacks))}", help="name one with --stack")
    return next(iter(stacks))
