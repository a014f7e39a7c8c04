"""The rules of this cluster on Azure, gathered from the modules beside this one."""

from collections.abc import Sequence

import cluster_parts
import data_rights
import fabric_rules
import rules_compute
import rules_data
import rules_network
import rules_rights
import ways_out
from job_pods import pods_keep_off_the_node
from protection import protected
from rule import Rule, StackRule
from volumes import claims_find_their_volumes
from wanted import rules_of
from wanted_kubernetes import KUBERNETES
from wanted_values import VALUES

# The instance metadata service, and WireServer, which hands out the node's settings (Microsoft, "What is IP address
# 168.63.129.16?"); its port 53 answers names.
_NODES_IDENTITY = (("169.254.169.254", 80), ("168.63.129.16", 80), ("168.63.129.16", 32526))

RULES: Sequence[Rule] = (
    *rules_network.RULES,
    *rules_compute.RULES,
    *rules_data.RULES,
    *rules_rights.RULES,
    *cluster_parts.RULES,
    *rules_of((*VALUES, *KUBERNETES)),
)
STACK_RULES: Sequence[StackRule] = (
    *fabric_rules.STACK_RULES,
    *data_rights.STACK_RULES,
    *ways_out.STACK_RULES,
    *cluster_parts.STACK_RULES,
    *pods_keep_off_the_node(_NODES_IDENTITY),
    *claims_find_their_volumes(),
    protected(
        (
            "azure-native:keyvault:Key",
            "azure-native:keyvault:Vault",
            "azure-native:storage:BlobContainer",
            "azure-native:storagecache:AmlFilesystem",
        )
    ),
)
