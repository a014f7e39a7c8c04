"""What is sold with accelerators in it, under one price key each, so that prices can be compared per GPU."""

from dataclasses import dataclass

from clusterwright.catalog import lookup
from clusterwright.catalog.clouds.price_only import price_only_products
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import InputError

#: Terms of the price book by the kind of capacity (`catalog/capacity_objects.csv`) that is sold under them.
_TERMS_OF_CAPACITY = {
    "on-demand": ("on_demand", "reserved_1y", "reserved_3y"),
    "spot": ("spot",),
    "capacity-block": ("capacity_block",),
    "flex-start": ("flex_start",),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuProduct:
    """A product with accelerators.

    Attributes:
        sku: price key, such as `aws/p5.48xlarge`.
        gpus: accelerators in one unit of it.
        terms: that it may be sold under.
        dense_bf16_flop_per_s_per_gpu: None if unknown, as are `dense_fp8_flop_per_s_per_gpu` (also where an accelerator
            has no fp8) and `hbm_bytes_per_gpu`.
    """

    sku: str
    provider: str
    accelerator: str
    gpus: int
    terms: tuple[str, ...]
    dense_bf16_flop_per_s_per_gpu: float | None
    dense_fp8_flop_per_s_per_gpu: float | None
    hbm_bytes_per_gpu: float | None


def gpu_products(catalogue: Catalogue) -> tuple[GpuProduct, ...]:
    """Return every instance type of the clouds, and every product of providers that only prices are known of."""
    of_clouds = [
        _product(
            catalogue,
            sku=f"{entry.cloud}/{entry.id}",
            provider=entry.cloud,
            accelerator=entry.accelerator,
            gpus=entry.gpus,
            terms=tuple(
                term
                for key in entry.capacity_objects
                for term in _TERMS_OF_CAPACITY.get(catalogue.capacity_objects[key].kind, ())
            ),
        )
        for entry in catalogue.instances.values()
    ]
    of_others = [
        _product(
            catalogue,
            sku=entry.sku,
            provider=entry.provider,
            accelerator=entry.accelerator,
            gpus=entry.gpus,
            terms=("on_demand",),
        )
        for entry in price_only_products().values()
    ]
    return tuple(of_clouds + of_others)


def _product(
    catalogue: Catalogue, *, sku: str, provider: str, accelerator: str, gpus: int, terms: tuple[str, ...]
) -> GpuProduct:
    chip = catalogue.accelerators[accelerator]
    return GpuProduct(
        sku=sku,
        provider=provider,
        accelerator=accelerator,
        gpus=gpus,
        terms=terms,
        dense_bf16_flop_per_s_per_gpu=chip.dense_bf16_flop_per_s,
        dense_fp8_flop_per_s_per_gpu=chip.dense_fp8_flop_per_s,
        hbm_bytes_per_gpu=chip.hbm_bytes,
    )


def product_or_accelerator(catalogue: Catalogue, name: str) -> tuple[str, str]:
    """Return the price key and the accelerator that a name stands for; one of the two is empty.

    A whole price key is a product, a name such as `h200` an accelerator (though somebody may sell `runpod/h200`), and
    what is left a price key without its provider.

    Raises:
        InputError: nothing has that name.
    """
    skus = [entry.sku for entry in gpu_products(catalogue)]
    if name in skus:
        return name, ""
    try:
        return "", lookup.accelerator(catalogue, name).id
    except InputError as error:
        short = [sku for sku in skus if sku.partition("/")[2] == name]
        if short:
            return short[0], ""
        raise InputError(
            f"no product and no accelerator is called {name!r}",
            help=f"{error.help}; products: clusterwright prices",
        ) from None


def products_of(catalogue: Catalogue, name: str = "") -> tuple[GpuProduct, ...]:
    """Return the products that a name stands for (`product_or_accelerator`); all of them for an empty name.

    The beginning of several accelerators' names, such as `tpu`, stands for all of these.

    Raises:
        InputError: nothing has that name.
    """
    products = gpu_products(catalogue)
    if not name:
        return products
    try:
        sku, accelerator = product_or_accelerator(catalogue, name)
    except InputError:
        family = [chip for chip in catalogue.accelerators if chip.startswith(f"{name.lower()}-")]
        if not family:
            raise
        return tuple(entry for entry in products if entry.accelerator in family)
    return tuple(entry for entry in products if sku in ("", entry.sku) and accelerator in ("", entry.accelerator))
