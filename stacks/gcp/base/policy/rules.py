"""The rules of this cluster on Google Cloud, gathered from the modules beside this one."""

from collections.abc import Sequence

import cluster_parts
import data_rights
import fabric_rules
import rules_data
import rules_machines
import rules_network
import rules_rights
from job_pods import pods_keep_off_the_node
from protection import protected
from rule import Rule, StackRule
from volumes import claims_find_their_volumes
from wanted import rules_of
from wanted_kubernetes import KUBERNETES
from wanted_values import VALUES

RULES: Sequence[Rule] = (
    *rules_network.RULES,
    *rules_machines.RULES,
    *rules_data.RULES,
    *rules_rights.RULES,
    *cluster_parts.RULES,
    *rules_of((*VALUES, *KUBERNETES)),
)
STACK_RULES: Sequence[StackRule] = (
    *fabric_rules.STACK_RULES,
    *data_rights.STACK_RULES,
    *cluster_parts.STACK_RULES,
    *pods_keep_off_the_node(),
    *claims_find_their_volumes(),
    protected(
        (
            "gcp:kms/cryptoKey:CryptoKey",
            "gcp:kms/keyRing:KeyRing",
            "gcp:lustre/instance:Instance",
            "gcp:storage/bucket:Bucket",
        )
    ),
)
