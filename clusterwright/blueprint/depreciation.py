"""How purchases may be written off for the tax."""

from typing import Literal

#: Of equipment. `_q1` to `_q4`: mid-quarter convention, by the quarter of the tax year in which it begins to work.
EquipmentMethod = Literal[
    "straight_line_3", "straight_line_4", "straight_line_5", "straight_line_6", "macrs_3", "macrs_5", "macrs_7",
    "macrs_15", "macrs_5_q1", "macrs_5_q2", "macrs_5_q3", "macrs_5_q4",
]  # fmt: skip
#: Of any class of assets.
AssetMethod = Literal[
    "straight_line_3", "straight_line_4", "straight_line_5", "straight_line_6", "straight_line_7", "straight_line_10",
    "straight_line_15", "straight_line_20", "straight_line_39",
    "macrs_3", "macrs_3_q1", "macrs_3_q2", "macrs_3_q3", "macrs_3_q4",
    "macrs_5", "macrs_5_q1", "macrs_5_q2", "macrs_5_q3", "macrs_5_q4",
    "macrs_7", "macrs_7_q1", "macrs_7_q2", "macrs_7_q3", "macrs_7_q4",
    "macrs_15", "macrs_15_q1", "macrs_15_q2", "macrs_15_q3", "macrs_15_q4",
    "macrs_39",
]  # fmt: skip
