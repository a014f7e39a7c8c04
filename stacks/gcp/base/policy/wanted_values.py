"""Values that resources of this cloud have to have; the figures and names are those of Google Cloud's documentation."""

from rule import PROTECTION
from wanted import Wanted

TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
POOL = "gcp:container/nodePool:NodePool"
CLUSTER = "gcp:container/cluster:Cluster"
DATABASE = "gcp:sql/databaseInstance:DatabaseInstance"
# Machine types that come with GPUs.
_ACCELERATED = "(a2|a3|a4|a4x|g2)-.*"
# Google's projects of plain systems.
_PLAIN_SYSTEMS = (
    "ubuntu-os(-pro)?|debian|rocky-linux|centos|rhel(-sap)?|cos|suse(-sap)?|opensuse|almalinux|fedora-coreos|windows"
)

VALUES: tuple[Wanted, ...] = (
    Wanted(
        name="images-have-a-driver",
        type=TEMPLATE,
        path="disks.sourceImage",
        pattern=rf"(?!(.*/)?({_PLAIN_SYSTEMS})-cloud/).*",
        when=(("machineType", _ACCELERATED),),
        message="the image {value} has no driver",
    ),
    Wanted(
        name="images-have-a-driver",
        type=POOL,
        path="nodeConfig.guestAccelerators.gpuDriverInstallationConfig.gpuDriverVersion",
        pattern="DEFAULT|LATEST",
        absent=True,
        message="gpuDriverVersion is {value}: nodes have no driver",
    ),
    *(
        Wanted(
            name="every-gpu",
            description="Pods see every GPU of a node.",
            type=POOL,
            path="nodeConfig.guestAccelerators.count",
            pattern=count,
            when=(("nodeConfig.machineType", f"(a2|a3|a4|a4x)-.*-{count}g"),),
            absent=True,
            message=f"guestAccelerators.count is {{value}}, the machine type has {count}",
        )
        for count in ("1", "2", "4", "8", "16")
    ),
    Wanted(
        name="pods-have-addresses",
        type=CLUSTER,
        path="defaultMaxPodsPerNode",
        pattern="[89]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-6]",
        when=(("ipAllocationPolicy.clusterIpv4CidrBlock", ".+"),),
        message="defaultMaxPodsPerNode is {value}: each node takes the addresses of 110 pods, choose 8 to 256",
    ),
    Wanted(
        name="pods-have-addresses",
        type=POOL,
        path="maxPodsPerNode",
        pattern="[89]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-6]",
        absent=True,
        message="maxPodsPerNode is {value}: choose 8 to 256",
    ),
    Wanted(
        name="compact-placement",
        type="gcp:compute/resourcePolicy:ResourcePolicy",
        path="groupPlacementPolicy.collocation",
        pattern="COLLOCATED",
        when=(("groupPlacementPolicy.collocation", ".*"),),
        message="collocation is {value}: nodes are spread",
    ),
    Wanted(
        name="compact-placement",
        type="gcp:compute/resourcePolicy:ResourcePolicy",
        path="groupPlacementPolicy.availabilityDomainCount",
        pattern="1",
        absent=True,
        message="availabilityDomainCount is {value}: nodes are spread",
    ),
    Wanted(
        name="compact-placement",
        type=POOL,
        path="placementPolicy.type",
        pattern="COMPACT",
        absent=True,
        message="placementPolicy.type is {value}: nodes are spread",
    ),
    Wanted(
        name="services-by-private-ways",
        description="Machines without public addresses reach Google's services.",
        type="gcp:compute/subnetwork:Subnetwork",
        path="privateIpGoogleAccess",
        pattern="true",
        # The subnetworks between GPUs have no logs and no way out.
        when=(("logConfig.metadata", ".*"),),
        message="privateIpGoogleAccess is {value}: buckets, secrets and metrics cannot be reached",
    ),
    Wanted(
        name="kubernetes-by-identity",
        description="Nobody gets a certificate that cannot be taken back.",
        type=CLUSTER,
        path="masterAuth.clientCertificateConfig.issueClientCertificate",
        pattern="false",
        absent=True,
        message="issueClientCertificate is {value}",
    ),
    Wanted(
        name="kubernetes-by-identity",
        type=CLUSTER,
        path="enableLegacyAbac",
        pattern="false",
        absent=True,
        message="enableLegacyAbac is {value}: roles have no effect",
    ),
    Wanted(
        name="kubernetes-by-identity",
        type=CLUSTER,
        path="enableShieldedNodes",
        pattern="true",
        absent=True,
        message="enableShieldedNodes is {value}: any machine can pass for a node",
    ),
    Wanted(
        name="database-over-tls",
        type=DATABASE,
        path="settings.ipConfiguration.sslMode",
        pattern="ENCRYPTED_ONLY|TRUSTED_CLIENT_CERTIFICATE_REQUIRED",
        message="sslMode is {value}: connections in plain text are taken; set ENCRYPTED_ONLY",
    ),
    Wanted(
        name="database-has-backups",
        description="A lost database can be restored.",
        type=DATABASE,
        path="settings.backupConfiguration.enabled",
        pattern="true",
        message="backupConfiguration.enabled is {value}: there are no backups",
    ),
    *(
        Wanted(
            name="data-stays",
            description="Data are not deleted by a slip.",
            type=kind,
            path=path,
            pattern=pattern,
            message=f"{path} is {{value}}",
            about=PROTECTION,
        )
        for kind, path, pattern in (
            (DATABASE, "settings.deletionProtectionEnabled", "true"),
            ("gcp:lustre/instance:Instance", "deletionPolicy", "PREVENT"),
        )
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
            ("gcp:compute/instanceGroupManager:InstanceGroupManager", "updatePolicy.type", "OPPORTUNISTIC", False),
            (CLUSTER, "releaseChannel.channel", "UNSPECIFIED|EXTENDED", True),
        )
    ),
    Wanted(
        name="nodes-stay-under-jobs",
        type=POOL,
        path="management.autoUpgrade",
        pattern="false",
        when=(("nodeConfig.guestAccelerators.type", ".+"),),
        message="autoUpgrade is {value}: nodes are replaced under jobs",
    ),
    Wanted(
        name="gpu-nodes-are-tainted",
        type=POOL,
        path="nodeConfig.taints.effect",
        pattern="NO_SCHEDULE|NO_EXECUTE",
        when=(("nodeConfig.guestAccelerators.type", ".+"),),
        absent=True,
        message="the effect of the taint is {value}: other pods land on GPU nodes",
    ),
)
