"""What measurements show of a model on an accelerator, as a sentence: where the band of a prediction comes from."""

from clusterwright.sizing.serving.calibration import (
    BOTH_UNSEEN,
    KNOWN_PAIR,
    UNSEEN_HARDWARE,
    UNSEEN_MODEL,
    UNSEEN_PAIR,
)

_TEXTS = {
    KNOWN_PAIR: "known pair: {model} was measured on {chip}; the band is that of such rows when they are left out",
    UNSEEN_PAIR: "unseen pair: {model} and {chip} were both measured, but not together; the band is that of such pairs",
    UNSEEN_HARDWARE: "unseen hardware: no measurement is of {chip}; its datasheet and its relatives are all that is "
    "known, and the band is that of accelerators left out",
    UNSEEN_MODEL: "unseen model: no measurement is of {model}; its dimensions are all that is known, and the band is "
    "that of models left out",
    BOTH_UNSEEN: "both unseen: no measurement is of {model} or of {chip}; datasheet and dimensions are all that is "
    "known, and the band is that of pairs left out",
}


def level_text(level: str, *, model: str, accelerator: str) -> str:
    """Return what a level of the calibration says of a model and an accelerator, by their names."""
    return _TEXTS[level].format(model=model, chip=accelerator)
