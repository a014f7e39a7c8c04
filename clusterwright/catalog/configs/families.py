"""Which key of a `config.json` is which dimension, per architecture: the rows of `catalog/config_families.csv`.

A cell names keys (`n_layer|num_hidden_layers`, the first with a value counts), with `=` what an absent one means: a
number, `heads`, `hidden/heads`, `4*hidden`, `yes`, `no` or `none`. A cell without a key is what is always so. Defaults
are those of the configuration classes of Hugging Face Transformers, and stand only where published files leave the key
out; a dimension that every published file names is missed, not guessed.
"""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.catalog.configs.values import ConfigValues, shown

_WORDS: Mapping[str, Callable[[Mapping[str, int]], int]] = {
    "heads": lambda known: known["heads"],
    "hidden/heads": lambda known: known["hidden"] // known["heads"],
    "4*hidden": lambda known: 4 * known["hidden"],
}
_TRUTH = {"yes": True, "no": False}
#: Layers of one kind after each other where the file does not say (Gemma 3: five sliding, one full).
_PATTERN = 6
#: Layers before the first with a window where the file does not say (Qwen 2 and 3).
_FULL_FIRST = 28


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """Sliding-window attention: tokens of the window, and the share of layers that have one."""

    tokens: int
    layer_fraction: float


@cache
def families() -> dict[str, dict[str, str]]:
    """Return the table's rows by `model_type`."""
    with (assets.root() / "catalog" / "config_families.csv").open(encoding="utf-8", newline="") as stream:
        return {row["model_type"]: row for row in csv.DictReader(stream)}


def count(config: ConfigValues, cell: str, known: Mapping[str, int]) -> int | None:
    """Return the number that a cell of the table asks for, None where it may be absent and is.

    Args:
        config: the file.
        cell: of the table.
        known: dimensions read so far, which defaults refer to.
    """
    keys, equals, default = cell.partition("=")
    if not equals and (keys in _WORDS or not keys):
        return _WORDS[keys](known) if keys else None
    if default == "none" and config.found(keys)[1] is None:
        return None
    fallback = _WORDS[default](known) if default in _WORDS else int(default) if default.isdigit() else None
    return config.count(keys, default=fallback)


def truth(config: ConfigValues, cell: str) -> bool:
    """Return whether a yes-or-no cell holds, for example `attention_bias=no`."""
    key, equals, default = cell.partition("=")
    return config.flag(key, default=_TRUTH[default]) if equals else cell in ("yes", "all", "qkv")


def window(config: ConfigValues, cell: str, *, layers: int, max_context: int | None) -> Window | None:
    """Return the sliding window, None without one or where it is as long as the context.

    Args:
        config: the file; a list `layer_types` tells each layer's kind and wins over the rule.
        cell: `all` layers, `alternate` from the first, `pattern` of five in six, `last` from `max_window_layers` on if
            `use_sliding_window`, `off` (refused if switched on), or empty; with `=` the tokens where the file does not
            speak of a window. One that it sets to null is none.
        layers: of the model.
        max_context: longest sequence.
    """
    rule, _, default = cell.partition("=")
    if not rule:
        return None
    if rule in ("last", "off") and not config.flag("use_sliding_window", default=False):
        return None
    if rule == "off":
        config.refuse("use_sliding_window: true cannot be expressed for this architecture")
        return None
    if config.values.get("sliding_window") is None and ("sliding_window" in config.values or not default):
        return None
    tokens = config.count("sliding_window", default=int(default or 0))
    fraction = _listed_fraction(config, layers)
    if fraction is None:
        fraction = _ruled_layers(config, rule, layers) / layers
    if fraction == 0 or (max_context is not None and tokens >= max_context):
        return None
    return Window(tokens=tokens, layer_fraction=fraction)


def _listed_fraction(config: ConfigValues, layers: int) -> float | None:
    kinds = config.items("layer_types")
    if kinds is None:
        return None
    if len(kinds) != layers:
        config.refuse(f"layer_types lists {len(kinds)} layers, the model has {layers}")
    for kind in kinds:
        if kind not in ("full_attention", "sliding_attention"):
            config.refuse(f"layer_types holds {shown(kind)}, which cannot be expressed")
    return kinds.count("sliding_attention") / max(len(kinds), 1)


def _ruled_layers(config: ConfigValues, rule: str, layers: int) -> int:
    if rule == "alternate":
        return (layers + 1) // 2
    if rule == "pattern":
        return layers - layers // config.count("sliding_window_pattern|_sliding_window_pattern", default=_PATTERN)
    if rule == "last":
        return max(layers - config.count("max_window_layers", default=_FULL_FIRST, least=0), 0)
    return layers
