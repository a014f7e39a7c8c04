"""Values that resources of this cloud have to have; the figures and names are those of Microsoft's documentation."""

from rule import PLACEMENT
from wanted import Wanted

SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
POOL = "azure-native:containerservice:AgentPool"
CLUSTER = "azure-native:containerservice:ManagedCluster"
MYSQL_VALUE = "azure-native:dbformysql:Configuration"
# N is the family of sizes with accelerators.
_ACCELERATED = "Standard_N.*"

VALUES: tuple[Wanted, ...] = (
    Wanted(
        name="images-have-a-driver",
        type=SCALE_SET,
        path="virtualMachineProfile.storageProfile.imageReference.publisher",
        pattern="(?i)(?!canonical$|debian$|redhat$|suse$|openlogic$|almalinux$|resf$|microsoft-?windows.*$|oracle$).*",
        when=(("sku.name", _ACCELERATED),),
        absent=True,
        message="the image of {value} has no driver for InfiniBand and GPUs",
    ),
    Wanted(
        name="images-have-a-driver",
        type=POOL,
        path="gpuProfile.driver",
        pattern="Install",
        when=(("vmSize", _ACCELERATED),),
        absent=True,
        message="gpuProfile.driver is {value}: nodes have no driver",
    ),
    Wanted(
        name="fast-interfaces",
        description="Machines talk to the network without a switch in software.",
        type=SCALE_SET,
        path="virtualMachineProfile.networkProfile.networkInterfaceConfigurations.enableAcceleratedNetworking",
        pattern="true",
        message="enableAcceleratedNetworking is {value}",
    ),
    Wanted(
        name="pods-have-addresses",
        type=POOL,
        path="maxPods",
        pattern="[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|250",
        message="maxPods is {value}: each pod takes an address of the subnet, choose 10 to 250",
    ),
    Wanted(
        name="pods-have-addresses",
        type=CLUSTER,
        path="agentPoolProfiles.maxPods",
        pattern="[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|250",
        message="maxPods is {value}: each pod takes an address of the subnet, choose 10 to 250",
    ),
    Wanted(
        name="pool-has-its-size",
        description="A pool of GPU nodes keeps its size.",
        type=POOL,
        path="enableAutoScaling",
        pattern="false",
        absent=True,
        message="enableAutoScaling is {value}: nodes come and go during a run",
    ),
    Wanted(
        name="access-by-roles",
        description="Access to Kubernetes is granted by roles of Azure.",
        type=CLUSTER,
        path="aadProfile.enableAzureRBAC",
        pattern="true",
        message="aadProfile.enableAzureRBAC is {value}",
    ),
    Wanted(
        name="access-by-roles",
        type=CLUSTER,
        path="enableRBAC",
        pattern="true",
        message="enableRBAC is {value}: every pod may do everything",
    ),
    *(
        Wanted(
            name="audit-log",
            type="azure-native:monitor:DiagnosticSetting",
            path=path,
            pattern=pattern,
            some=some,
            # Settings of other services have other categories.
            when=(("logs.category", "guard|kube-.*"),),
            message=f"{path} is {{value}}: nobody can tell who did what; {fix}",
        )
        for path, pattern, some, fix in (
            ("logs.category", "kube-audit(-admin)?", True, "add kube-audit-admin"),
            ("logs.enabled", "true", False, "set true"),
        )
    ),
    Wanted(
        name="networks-of-pods-are-ruled",
        description="Rules between pods are kept.",
        type=CLUSTER,
        path="networkProfile.networkPolicy",
        pattern="azure|calico|cilium",
        message="networkPolicy is {value}: rules between pods have no effect",
    ),
    Wanted(
        name="storage-over-tls",
        description="Objects travel encrypted, and no shared key opens them.",
        type="azure-native:storage:StorageAccount",
        path="enableHttpsTrafficOnly",
        pattern="true",
        message="enableHttpsTrafficOnly is {value}",
    ),
    Wanted(
        name="storage-over-tls",
        type="azure-native:storage:StorageAccount",
        path="allowSharedKeyAccess",
        pattern="false",
        message="allowSharedKeyAccess is {value}: whoever has the key has everything",
    ),
    Wanted(
        name="own-key-on-lustre",
        description="The parallel file system is encrypted with a key of the project, which can be withdrawn.",
        type="azure-native:storagecache:AmlFilesystem",
        path="encryptionSettings.keyEncryptionKey.keyUrl",
        pattern=".+",
        message="keyEncryptionKey is {value}: Azure's own keys encrypt Lustre, and creation alone can change that",
    ),
    *(
        Wanted(
            name="database-over-tls",
            type=MYSQL_VALUE,
            path="value",
            pattern=pattern,
            when=(("configurationName", name),),
            message=f"{name} is {{value}}",
        )
        for name, pattern in (("require_secure_transport", "(?i)on"), ("tls_version", r"TLSv1\.[23](,TLSv1\.[23])*"))
    ),
    Wanted(
        name="one-scale-set",
        description="Nodes stand close to each other.",
        type=SCALE_SET,
        path="platformFaultDomainCount",
        pattern="1",
        absent=True,
        when=(("sku.name", _ACCELERATED),),
        message="platformFaultDomainCount is {value}: nodes are spread",
        about=PLACEMENT,
    ),
    *(
        Wanted(
            name="nodes-stay-under-jobs",
            type=kind,
            path=path,
            pattern=pattern,
            absent=absent,
            message=f"{path} is {{value}}: nodes are replaced under jobs",
        )
        for kind, path, pattern, absent in (
            (CLUSTER, "autoUpgradeProfile.upgradeChannel", "none", False),
            (CLUSTER, "autoUpgradeProfile.nodeOSUpgradeChannel", "None|Unmanaged", False),
            (SCALE_SET, "upgradePolicy.mode", "Manual", False),
        )
    ),
    *(
        Wanted(
            name="nodes-stay-under-jobs",
            type=POOL,
            path=f"upgradeSettings.{name}",
            pattern=pattern,
            absent=True,
            when=(("vmSize", _ACCELERATED),),
            message=f"upgradeSettings.{name} is {{value}}: an upgrade takes that many nodes at once",
        )
        for name, pattern in (("maxUnavailable", "[0-9]|10|([0-9]|10)%"), ("maxSurge", "[0-9]|10|([0-9]|10)%"))
    ),
    Wanted(
        name="encrypted-kubernetes-secrets",
        description="Kubernetes' secrets are encrypted with the cluster's key.",
        type=CLUSTER,
        path="securityProfile.azureKeyVaultKms.enabled",
        pattern="true",
        message="azureKeyVaultKms.enabled is {value}: secrets are under Azure's key",
    ),
    Wanted(
        name="commands-by-the-network",
        description="Nobody runs commands in the cluster past its network.",
        type=CLUSTER,
        path="apiServerAccessProfile.disableRunCommand",
        pattern="true",
        message="disableRunCommand is {value}: Azure runs commands past the closed API server",
    ),
    Wanted(
        name="chosen-way-out",
        description="Pods get out by the way that is watched.",
        type=CLUSTER,
        path="networkProfile.outboundType",
        pattern="userAssignedNATGateway|userDefinedRouting|none|block",
        message="outboundType is {value}: nodes get a public address of their own for the way out",
    ),
    *(
        Wanted(
            name="deleted-data-comes-back",
            description="What is deleted can be had back for a while.",
            type=kind,
            path=path,
            pattern=pattern,
            absent=absent,
            message=f"{path} is {{value}}",
        )
        for kind, path, pattern, absent in (
            ("azure-native:keyvault:Vault", "properties.softDeleteRetentionInDays", "[3-9][0-9]", True),
            ("azure-native:keyvault:Vault", "properties.enableSoftDelete", "true", True),
            ("azure-native:storage:BlobServiceProperties", "deleteRetentionPolicy.enabled", "true", False),
            ("azure-native:storage:BlobServiceProperties", "deleteRetentionPolicy.days", "[7-9]|[1-9][0-9]+", False),
            ("azure-native:storage:BlobServiceProperties", "containerDeleteRetentionPolicy.enabled", "true", False),
            ("azure-native:dbformysql:Server", "backup.backupRetentionDays", "[7-9]|[1-3][0-9]", False),
        )
    ),
    *(
        Wanted(
            name="logs-are-kept",
            description="Logs stay long enough to be asked.",
            type=kind,
            path=path,
            pattern="[3-9][0-9]|[1-9][0-9][0-9]+",
            message=f"{path} is {{value}}: choose 30 days or more",
        )
        for kind, path in (
            ("azure-native:operationalinsights:Workspace", "retentionInDays"),
            ("azure-native:network:FlowLog", "retentionPolicy.days"),
        )
    ),
    Wanted(
        name="gpu-nodes-are-tainted",
        type=POOL,
        path="nodeTaints",
        pattern=".*:(NoSchedule|NoExecute)",
        when=(("vmSize", _ACCELERATED),),
        message="the taint is {value}: other pods land on GPU nodes",
    ),
)
