"""Everything that a decision rests on beside the blueprint: catalogue, prices and calibrated constants."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from clusterwright.catalog.load import load
from clusterwright.catalog.own_facts import OwnFact, with_facts
from clusterwright.catalog.records import Catalogue
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.lake import Reach
from clusterwright.sizing.hardware.calibration import Calibration, load_calibration


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """The facts of one command or session; opened once and passed on, so that all of it counts with the same.

    Attributes:
        catalogue: hardware, models and software, with the user's own facts.
        book: prices in force.
        calibration: calibrated constants of sizing.
    """

    catalogue: Catalogue
    book: PriceBook
    calibration: Calibration

    @classmethod
    def open(cls, *, store: Path | str | None = None, reach: Reach | None = None) -> Self:
        """Return the shipped facts and prices, with those of the price store.

        Args:
            store: another price store, or lake, than the usual one.
            reach: lists object storage; without it a lake there cannot be read.

        Raises:
            ClusterwrightError: facts, prices or the calibration cannot be read.
        """
        return cls(catalogue=load(), book=PriceBook.open(store=store, reach=reach), calibration=load_calibration())

    def with_own(self, own: Sequence[OwnFact]) -> Self:
        """Return the facts with what the user says of parts of their own."""
        return replace(self, catalogue=with_facts(self.catalogue, own)) if own else self
