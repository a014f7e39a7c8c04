"""Plans that several tests ask for, decided once for all workers of a run: a plan rests on its arguments alone."""

import hashlib
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.load import load
from clusterwright.plan.decide import decide as _decide
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Plan
from clusterwright.pricing.book import PriceBook
from clusterwright.sizing.hardware.calibration import FOLDER_VARIABLE, load_calibration

#: Plans that a worker keeps as they are, the newest; the others it reads again.
_KEPT = 24


class DecidedPlans:
    """Plans by what was asked, in a folder that the workers share.

    Attributes:
        folder: where they are; without one a worker knows its own.
        replacing: monkeypatch of the running test; shared plans are bypassed once it replaced anything.
    """

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.replacing: pytest.MonkeyPatch | None = None
        self._kept: dict[str, Plan] = {}
        self._shipped_prices = PriceBook.open()._made

    def take_the_place_of_decide(self) -> None:
        """Have every module that is loaded, and through `clusterwright.plan.decide` every later one, ask here."""
        for module in list(sys.modules.values()):
            if getattr(module, "decide", None) is _decide:
                module.decide = self.decide  # type: ignore[attr-defined]

    def decide(self, blueprint: Blueprint, resolved: Resolved, facts: Facts, **more: Any) -> Plan:  # noqa: ANN401 - handed on
        """Return what `decide` returns, from memory where nothing but the arguments decides it.

        Shared plans are bypassed for a user's own prices, calibration or parts, and for a test's engine.
        """
        if more.get("engine") is not None or self._is_changed(facts):
            return _decide(blueprint, resolved, facts, **more)
        whole = more.get("whole")
        # What is set counts beside what holds: goals that nobody set give way.
        is_set = [one.model_dump(exclude_unset=True) for one in (blueprint, whole) if one is not None]
        asked = repr((blueprint, resolved, whole, is_set, more.get("quotes", ())))
        key = hashlib.sha256(asked.encode()).hexdigest()
        if key not in self._kept:
            self._kept[key] = self._read(key) or self._write(key, _decide(blueprint, resolved, facts, **more))
            for oldest in list(self._kept)[:-_KEPT]:
                del self._kept[oldest]
        return self._kept[key]

    def _is_changed(self, facts: Facts) -> bool:
        replaced = self.replacing is not None and bool(self.replacing._setattr)
        calibrated = FOLDER_VARIABLE in os.environ or facts.calibration is not load_calibration()
        own_prices = facts.book._made != self._shipped_prices
        return replaced or calibrated or own_prices or facts.catalogue is not load()

    def _read(self, key: str) -> Plan | None:
        path = None if self.folder is None else self.folder / key
        if path is None or not path.exists():
            return None
        plan = pickle.loads(path.read_bytes())  # noqa: S301 - of this run
        assert isinstance(plan, Plan)
        return plan

    def _write(self, key: str, plan: Plan) -> Plan:
        if self.folder is not None:
            being_written = self.folder / f"{key}.{os.getpid()}"
            being_written.write_bytes(pickle.dumps(plan))
            being_written.rename(self.folder / key)
        return plan
