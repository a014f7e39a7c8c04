"""All rules of this pack. Each is a function of one resource's type and inputs; none needs an account or Pulumi."""

import encryption
import exposure
import gpu_nodes
import lifecycle
import rights
from rule import Rule

RULES: tuple[Rule, ...] = (
    *exposure.RULES,
    *encryption.RULES,
    *rights.RULES,
    *gpu_nodes.RULES,
    *lifecycle.RULES,
)
