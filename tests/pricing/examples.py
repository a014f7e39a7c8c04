"""Small folders of price points."""

import csv
from pathlib import Path

_COLUMNS = (
    "sku",
    "region",
    "term",
    "charge",
    "unit",
    "usd",
    "effective_from",
    "last_seen",
    "source",
    "locator",
    "confidence",
    "status",
    "note",
)


def point(**changes: object) -> dict[str, object]:
    """Return a sound price point with some columns changed."""
    sound: dict[str, object] = {
        "sku": "aws/x",
        "region": "us-east-1",
        "term": "on_demand",
        "charge": "hourly",
        "unit": "node",
        "usd": 10.0,
        "effective_from": "2024-01-01",
        "last_seen": "2024-12-31",
        "source": "tracker",
        "locator": "table",
        "confidence": "high",
        "status": "chosen",
        "note": "",
    }
    return sound | changes


def folder(place: Path, *points: dict[str, object]) -> Path:
    """Write price points and one source, `tracker`, and return their folder."""
    with (place / "points.csv").open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, _COLUMNS)
        writer.writeheader()
        writer.writerows(points)
    (place / "sources.csv").write_text(
        "id,title,where,date,confidence\ntracker,Price tracker,example.org,2024-12-31,high\n", encoding="utf-8"
    )
    return place
