"""Input and output shapes of cloud resources, read from the source of the installed Pulumi SDKs.

Nothing of an SDK is imported: a class is cut out of its file and only that piece is parsed, since the files of a large
module hold several megabytes.
"""

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from threading import Lock

#: Package of a type token's first part.
PACKAGES = {
    "aws": "pulumi_aws",
    "azure-native": "pulumi_azure_native",
    "gcp": "pulumi_gcp",
    "kubernetes": "pulumi_kubernetes",
}
#: An object of a kind that a cluster learns from somebody: all of them have one shape, whose `spec` is free.
_CUSTOM_KIND = re.compile(r"kubernetes:[a-z0-9-]+(\.[a-z0-9-]+)+/v[0-9a-z]+:[A-Z]\w+")
_SCALARS = ("str", "int", "float", "bool")
_TRANSPARENT = ("Input", "Output", "Optional", "Awaitable", "NotRequired", "InputType")
#: Python 3.11 counts the depth of a parse once for all threads, so that two at once end in SystemError.
_PARSING = Lock()


@dataclass(frozen=True, kw_only=True, slots=True)
class Scalar:
    """A text, whole number, number or truth value, by Python's name."""

    kind: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Items:
    """A list of one shape."""

    item: "Shape"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entries:
    """A map from text to one shape; its keys are the user's own."""

    item: "Shape"


@dataclass(frozen=True, kw_only=True, slots=True)
class Nested:
    """A class of the SDK: an object type, or an enumeration."""

    module: Path
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AnyOf:
    """Alternatives. `Union[str, SomeEnum]` is one: the SDK takes any text and lists the values it knows."""

    options: tuple["Shape", ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Anything:
    """No shape is declared: assets, archives, free JSON."""


Shape = Scalar | Items | Entries | Nested | AnyOf | Anything


@dataclass(frozen=True, kw_only=True, slots=True)
class Property:
    """One property in the provider's own spelling."""

    name: str
    shape: Shape
    required: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectShape:
    """The properties of an object by name, and which of them the SDK itself treats as secret."""

    name: str
    properties: Mapping[str, Property]


@dataclass(frozen=True, kw_only=True, slots=True)
class EnumShape:
    """The values that the SDK lists."""

    name: str
    values: tuple[str | int | float, ...]


class UnknownTypeError(LookupError):
    """A resource type that the installed SDK does not have."""


@dataclass(frozen=True, kw_only=True)
class Sdk:
    """The installed SDKs below one `site-packages` folder."""

    site_packages: Path

    @cache  # noqa: B019 - one Sdk lives as long as the process
    def inputs(self, token: str) -> ObjectShape:
        """Return what a resource type takes.

        Args:
            token: such as `aws:ec2/vpc:Vpc`, or `pulumi:providers:aws` for the provider itself.

        Raises:
            UnknownTypeError: the SDK has no such type.
        """
        path, resource = self._resource(token)
        exported = re.search(r"__all__ = \['(\w+)'", _text(path))
        if exported is None:
            raise UnknownTypeError(f"{path} exports nothing")
        arguments = exported.group(1)
        return _object(path, arguments if arguments != resource else f"{resource}Args")

    def outputs(self, token: str) -> Mapping[str, Shape]:
        """Return the outputs of a resource type by the provider's name."""
        path, resource = self._resource(token)
        return _getters(path, resource)

    @cache  # noqa: B019 - as above
    def secret_inputs(self, token: str) -> frozenset[str]:
        """Return the inputs that the SDK marks secret by itself, in Python's spelling."""
        path, _ = self._resource(token)
        return frozenset(
            re.findall(r'__dict__\["(\w+)"\] = None if \w+ is None else pulumi\.Output\.secret', _text(path))
        )

    def answers(self, token: str) -> Mapping[str, Shape]:
        """Return the shape of a look-up's answer by the provider's name.

        Args:
            token: such as `aws:ec2/getVpc:getVpc` or `azure-native:network:getVirtualNetwork`.
        """
        package, module, name = token.split(":")
        module = module.partition("/")[0]
        folder = self._package(package) / ("" if module == "index" else module)
        path = folder / f"{_snake(name)}.py"
        if package not in PACKAGES or not path.exists():
            raise UnknownTypeError(f"no such look-up in the installed SDK: {token}")
        return _getters(path, f"{name[0].upper()}{name[1:]}Result")

    @cache  # noqa: B019 - as above
    def _resource(self, token: str) -> tuple[Path, str]:
        if token.startswith("pulumi:providers:"):
            return self._package(token.rpartition(":")[2]) / "provider.py", "Provider"
        package = token.partition(":")[0]
        found = self._registry.get(token) if package in PACKAGES else None
        if found is None and package == "kubernetes" and _CUSTOM_KIND.fullmatch(token):
            found = "pulumi_kubernetes.apiextensions", "CustomResource"
        if found is None:
            raise UnknownTypeError(f"no such type in the installed SDK: {token}")
        module, resource = found
        folder = self.site_packages.joinpath(*module.split("."))
        guess = folder / f"{_snake(resource)}.py"
        head = f"\nclass {resource}(pulumi.CustomResource)"
        candidates = [guess] if guess.exists() else []
        for path in (*candidates, *sorted(folder.glob("*.py"))):
            if head in _text(path):
                return path, resource
        raise UnknownTypeError(f"{folder} has no class {resource}")

    def _package(self, name: str) -> Path:
        return self.site_packages / PACKAGES[name]

    @cached_property
    def _registry(self) -> Mapping[str, tuple[str, str]]:
        known: dict[str, tuple[str, str]] = {}
        for package in PACKAGES.values():
            path = self.site_packages / package / "__init__.py"
            if not path.exists():
                continue
            source = path.read_text()
            listed = re.search(r'resource_modules="""\n?(.*?)"""', source, re.DOTALL)
            for entry in json.loads(listed.group(1)) if listed else ():
                known |= {token: (entry["fqn"], name) for token, name in entry["classes"].items()}
        return known


@cache
def described(nested: Nested) -> ObjectShape | EnumShape:
    """Return what a nested class of the SDK is."""
    for file in ("_inputs.py", "_enums.py"):
        path = nested.module / file
        if path.exists() and (source := _class_source(path, nested.name)):
            return _enum(nested.name, source) if file == "_enums.py" else _object(path, nested.name)
    raise UnknownTypeError(f"{nested.module} has no class {nested.name}")


@cache
def nested_outputs(nested: Nested) -> Mapping[str, Shape] | None:
    """Return the properties of an output class of the SDK, or None for an enumeration."""
    path = nested.module / "outputs.py"
    return _getters(path, nested.name) if path.exists() and _class_source(path, nested.name) else None


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _definition(source: str) -> ast.ClassDef:
    """Return the class of a piece of source; the server's threads share one parser that takes one at a time."""
    with _PARSING:
        body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    return body


def _class_source(path: Path, name: str) -> str:
    text = _text(path)
    start = next((at for head in (f"\nclass {name}(", f"\nclass {name}:") if (at := text.find(head)) >= 0), -1)
    if start < 0:
        return ""
    end = re.compile(r"^\S", re.MULTILINE).search(text, text.index("\n", start + 1) + 1)
    return text[start + 1 : end.start() if end else len(text)]


@cache
def _object(path: Path, name: str) -> ObjectShape:
    source = _class_source(path, name)
    if not source:
        raise UnknownTypeError(f"{path} has no class {name}")
    body = _definition(source)
    constructor = next(one for one in body.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
    spelling = _spelling(body)
    properties = {}
    for argument, default in zip(constructor.args.kwonlyargs, constructor.args.kw_defaults, strict=True):
        if argument.annotation is None:
            continue
        provider_name = spelling.get(argument.arg, argument.arg)
        properties[provider_name] = Property(
            name=provider_name, shape=_shape(argument.annotation, path), required=default is None
        )
    return ObjectShape(name=name, properties=properties)


@cache
def _getters(path: Path, name: str) -> Mapping[str, Shape]:
    source = _class_source(path, name)
    if not source:
        raise UnknownTypeError(f"{path} has no class {name}")
    body = _definition(source)
    spelling = _spelling(body)
    return {
        spelling[one.name]: _shape(one.returns, path)
        for one in body.body
        if isinstance(one, ast.FunctionDef) and one.name in spelling and one.returns is not None
    }


def _spelling(body: ast.ClassDef) -> dict[str, str]:
    """Return the provider's spelling of each property, by Python's."""
    names = {}
    for one in body.body:
        for decorator in one.decorator_list if isinstance(one, ast.FunctionDef) else ():
            assert isinstance(one, ast.FunctionDef)
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pulumi.getter":
                names[one.name] = next(
                    (str(ast.literal_eval(word.value)) for word in decorator.keywords if word.arg == "name"), one.name
                )
            elif ast.unparse(decorator) == "pulumi.getter":
                names[one.name] = one.name
    return names


def _enum(name: str, source: str) -> EnumShape:
    body = _definition(source)
    values = tuple(ast.literal_eval(one.value) for one in body.body if isinstance(one, ast.Assign))
    return EnumShape(name=name, values=values)


def _shape(node: ast.expr, path: Path) -> Shape:
    if isinstance(node, ast.Constant):
        return Anything() if node.value is None else _named(str(node.value), path)
    if isinstance(node, ast.Subscript):
        head = ast.unparse(node.value).rpartition(".")[2]
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head in _TRANSPARENT:
            return _shape(parts[0], path)
        if head == "Sequence":
            return Items(item=_shape(parts[0], path))
        if head == "Mapping":
            return Entries(item=_shape(parts[1], path))
        if head == "Literal":
            return Scalar(kind=type(ast.literal_eval(parts[0])).__name__)
        if head == "Union":
            return AnyOf(options=tuple(_shape(part, path) for part in parts))
        raise UnknownTypeError(f"{path}: annotation {ast.unparse(node)}")
    name = ast.unparse(node).rpartition(".")[2]
    return Scalar(kind=name) if name in _SCALARS else Anything()


def _named(name: str, path: Path) -> Shape:
    module, _, short = name.rpartition(".")
    if not module or module == "outputs":
        return Nested(module=path.parent, name=short)
    # A class of another module of the same SDK: `from .. import ec2 as _ec2`, then `_ec2.InstanceType`.
    alias, *inner = module.split(".")
    imported = re.search(rf"^from (\.\.+) import (\w+) as {alias}$", _text(path), re.MULTILINE)
    if imported is None:
        return Anything()
    return Nested(module=path.parents[len(imported.group(1)) - 1].joinpath(imported.group(2), *inner), name=short)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
