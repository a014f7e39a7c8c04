"""Values that resources of this cloud have to have; the figures and names are those of AWS's own documentation."""

from rule import PROTECTION
from wanted import Wanted

VPC = "aws:ec2/vpc:Vpc"
EKS = "aws:eks/cluster:Cluster"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"

VALUES: tuple[Wanted, ...] = (
    Wanted(
        name="names-resolve",
        description="Machines find AWS's services by name.",
        type=VPC,
        path="enableDnsHostnames",
        pattern="true",
        message="enableDnsHostnames is {value}: endpoints and the file system have no names",
    ),
    Wanted(
        name="names-resolve",
        type=VPC,
        path="enableDnsSupport",
        pattern="true",
        absent=True,
        message="enableDnsSupport is {value}: no name resolves",
    ),
    Wanted(
        name="names-resolve",
        type="aws:ec2/vpcEndpoint:VpcEndpoint",
        path="privateDnsEnabled",
        pattern="true",
        when=(("vpcEndpointType", "Interface"),),
        message="privateDnsEnabled is {value}: the service's name leads past its endpoint",
    ),
    Wanted(
        name="capacity-is-waited-for",
        description="`up` ends when the nodes are there.",
        type="aws:autoscaling/group:Group",
        path="waitForCapacityTimeout",
        # 0 turns the waiting off; left out it is 10 minutes.
        pattern=r"(?!0+(\.0*)?(ns|us|ms|s|m|h)?$).+",
        absent=True,
        message="waitForCapacityTimeout is {value}: `up` ends before there is a single node",
    ),
    Wanted(
        name="compact-placement",
        type="aws:ec2/placementGroup:PlacementGroup",
        path="strategy",
        pattern="cluster",
        message="strategy is {value}: EFA needs cluster",
    ),
    Wanted(
        name="images-have-a-driver",
        type=NODE_GROUP,
        path="amiType",
        pattern=".*(NVIDIA|NEURON).*|CUSTOM",
        when=(("labels.node-kind", "gpu"),),
        absent=True,
        message="amiType is {value}, which has no driver",
    ),
    Wanted(
        name="access-by-the-api",
        description="Access to Kubernetes is granted by the API alone.",
        type=EKS,
        path="accessConfig.authenticationMode",
        pattern="API",
        message="authenticationMode is {value}: whoever edits the map aws-auth is an administrator; set API",
    ),
    Wanted(
        name="api-server-inside",
        description="Nodes reach the API server within the network.",
        type=EKS,
        path="vpcConfig.endpointPrivateAccess",
        pattern="true",
        message="endpointPrivateAccess is {value}",
    ),
    Wanted(
        name="supported-file-system",
        description="The shared file system keeps its data.",
        type=LUSTRE,
        path="deploymentType",
        pattern="PERSISTENT_[12]",
        message="deploymentType is {value}: it keeps no copy, and a lost server loses data",
    ),
    Wanted(
        name="database-stays",
        description="The accounting database is not deleted by a slip.",
        type="aws:rds/cluster:Cluster",
        path="deletionProtection",
        pattern="true",
        message="deletionProtection is {value}",
        about=PROTECTION,
    ),
    Wanted(
        name="links-keep-data",
        description="Links between bucket and file system delete nothing on the other side.",
        type="aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation",
        path="deleteDataInFilesystem",
        pattern="false",
        absent=True,
        message="deleteDataInFilesystem is {value}: data goes with the link",
    ),
    Wanted(
        name="links-keep-data",
        type="aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation",
        path="s3.autoExportPolicy.events",
        pattern="NEW|CHANGED",
        absent=True,
        message="exports {value}: a checkpoint that is deleted on the file system goes from the bucket too",
    ),
    Wanted(
        name="nodes-stay-under-jobs",
        type="aws:autoscaling/group:Group",
        path="suspendedProcesses",
        pattern="AZRebalance",
        some=True,
        message="suspendedProcesses is {value}: nodes are moved under jobs; suspend AZRebalance",
    ),
    Wanted(
        name="nodes-stay-under-jobs",
        type="aws:autoscaling/group:Group",
        path="maxInstanceLifetime",
        pattern="0",
        absent=True,
        message="maxInstanceLifetime is {value}: nodes are replaced under jobs",
    ),
    Wanted(
        name="closed-secrets",
        description="Policies of secrets cannot be public.",
        type="aws:secretsmanager/secretPolicy:SecretPolicy",
        path="blockPublicPolicy",
        pattern="true",
        message="blockPublicPolicy is {value}",
    ),
    Wanted(
        name="encrypted-kubernetes-secrets",
        description="Kubernetes' secrets are encrypted.",
        type=EKS,
        path="encryptionConfig.resources",
        pattern="secrets",
        message="encryptionConfig covers {value}: name secrets",
    ),
    Wanted(
        name="gpu-nodes-are-tainted",
        type=NODE_GROUP,
        path="taints.effect",
        pattern="NO_SCHEDULE|NO_EXECUTE",
        when=(("labels.node-kind", "gpu"),),
        message="the effect of the taint is {value}: other pods land on GPU nodes",
    ),
)
