"""The model that a blueprint names or describes."""

from pathlib import Path

from clusterwright.blueprint.workloads.training import ModelFile
from clusterwright.catalog import lookup
from clusterwright.catalog.configs.hugging_face import model_from_config
from clusterwright.catalog.records import Catalogue, Model
from clusterwright.errors import InputError


def model_of(catalogue: Catalogue, wanted: str | ModelFile) -> Model:
    """Return the model of the catalogue, or the one that a file describes.

    Raises:
        InputError: there is none of that name, or the file cannot be used; see `model_from_config`.
    """
    if isinstance(wanted, ModelFile):
        return model_from_config(Path(wanted.config))
    try:
        return lookup.model(catalogue, wanted)
    except InputError as error:
        raise InputError(
            error.message,
            help=f"{error.help}; any other model is described by its file, model: {{config: config.json}}",
        ) from None
