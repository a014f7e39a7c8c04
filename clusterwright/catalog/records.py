"""The catalogue's records. Field names carry unit and scope; the loader checks each claim's unit against them."""

from dataclasses import dataclass, field

from clusterwright.catalog.clouds.objects import CapacityObject, Offering, PlacementObject, Quota, Region
from clusterwright.catalog.host import Host
from clusterwright.catalog.parts.supplies import Cooling, Supply
from clusterwright.catalog.provenance import Claim, Source
from clusterwright.catalog.storage import StorageSystem
from clusterwright.catalog.tpu import TpuSlice


@dataclass(frozen=True, kw_only=True, slots=True)
class System:
    """One on-premises server (or rack-scale system) as bought.

    Attributes:
        accelerator: catalogue id.
        fabric_bytes_per_s_per_gpu_one_way: compute-fabric bandwidth of one GPU, one direction.
        fabric_ports: compute-fabric ports of the node (a rail each).
        fabric_rails: leaves that its ports hang on, where that is not one port each.
        fabric_ports_per_cage: ports that share a transceiver.
        local_nvme_bytes, local_nvme_read_bytes_per_s: of all drives for data together.
        storage_ports, inband_ports, oob_ports: ports into the other networks.
        psu_count, psu_needed: power supplies, and how many must live to carry the load; psu_needed_slowed: to go on at
            lower power, where a source says so.
        liquid_heat_fraction: share of the heat that leaves through liquid; 0 for systems that are cooled by air.
        busbar: it has no power supplies: a bus bar of its rack feeds it with direct current.
        weight_kg, height_u, power_max_w, airflow_cfm: of one system.
    """

    id: str
    name: str
    vendor: str
    accelerator: str
    gpus: int
    cpu_sockets: int | None = None
    cpu_cores_per_socket: int | None = None
    cpu_threads_per_core: int | None = None
    memory_bytes: float | None = None
    local_nvme_bytes: float | None = None
    local_nvme_read_bytes_per_s: float | None = None
    fabric_kind: str | None = None
    fabric_ports: int | None = None
    fabric_rails: int | None = None
    fabric_ports_per_cage: int | None = None
    fabric_bytes_per_s_per_gpu_one_way: float | None = None
    storage_ports: int | None = None
    inband_ports: int | None = None
    oob_ports: int | None = None
    height_u: float | None = None
    weight_kg: float | None = None
    power_max_w: float | None = None
    airflow_cfm: float | None = None
    psu_count: int | None = None
    psu_needed: int | None = None
    psu_needed_slowed: int | None = None
    liquid_heat_fraction: float | None = None
    busbar: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Instance:
    """One cloud instance type: size, fabric, and what placement and capacity objects accept it.

    Attributes:
        id: the cloud's own type name.
        cloud: `aws`, `azure` or `gcp`.
        accelerator: catalogue id.
        local_nvme_bytes, local_nvme_read_bytes_per_s: of all its local drives together.
        front_end_bytes_per_s_one_way: of the NICs that are not for GPU traffic, all together: the way to storage.
        fabric_kind: `efa`, `infiniband`, `tcpx`, `tcpxo`, `roce`, `gvnic`, `ici` or `none`.
        fabric_interfaces: fabric NICs; fabric_bytes_per_s_per_interface_one_way: of each.
        network_cards, card_zero_has_fabric, interfaces_per_card: AWS network cards.
        gpu_networks, rdma_subnets, mtu_bytes, nic_type: GCP networks beside the first.
        placement_kind: id of the placement object that keeps nodes close; placement_max_nodes: its limit, on request
            where that takes one, filled in when the catalogue is loaded.
        image: default image reference of this type; None where the user must build one. For TPUs the runtime version.
        kubernetes_image: of managed Kubernetes: on AWS the path of the parameter that holds the image's id, on Azure
            the node pool's system, on Google Cloud the image type.
        vendor_software: what drives its accelerators: `nvidia`, `rocm`, `neuron`, `tpu` or `gaudi`.
        quota: id of the account's limit that it counts against.
        capacity_objects: ids of the kinds of capacity that it can be had by.
        regions: regions (zones for GCP) where a source lists it (Azure: where a price is published); empty if unknown.
        verified: False when a fact of the row could not be checked.
    """

    id: str
    cloud: str
    accelerator: str
    gpus: int
    vcpus: int | None = None
    memory_bytes: float | None = None
    local_nvme_bytes: float | None = None
    local_nvme_read_bytes_per_s: float | None = None
    visible_hbm_bytes_per_gpu: float | None = None
    front_end_bytes_per_s_one_way: float | None = None
    fabric_kind: str = "none"
    fabric_interfaces: int | None = None
    fabric_bytes_per_s_per_interface_one_way: float | None = None
    network_cards: int | None = None
    card_zero_has_fabric: bool | None = None
    interfaces_per_card: int | None = None
    gpu_networks: int | None = None
    rdma_subnets: int | None = None
    mtu_bytes: int | None = None
    nic_type: str | None = None
    placement_kind: str | None = None
    placement_max_nodes: int | None = None
    image: str | None = None
    kubernetes_image: str | None = None
    vendor_software: str = "nvidia"
    quota: str | None = None
    capacity_objects: tuple[str, ...] = ()
    architecture: str = "x86_64"
    regions: tuple[str, ...] = ()
    verified: bool = True
    source: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """A transformer's architecture, by the names of its configuration file.

    Attributes:
        parameters: exact count from the dimensions; active_parameters: used per token.
        ffn_hidden: width of the MLP; gated: three matrices instead of two.
        experts, experts_per_token, shared_experts, moe_ffn_hidden, dense_layers: mixture of experts; all None if dense.
        attention_kind: `mha`, `gqa`, `mqa`, `mla`.
        learned_positions: rows of a learned position table (0 for rotary or ALiBi).
        linear_biases, norm_biases: whether linear layers and norms carry bias vectors.
        qkv_biases: whether only the query, key and value projections carry them.
        norms_per_layer: norms over the hidden width in each layer; one more is after the last layer.
        head_norms: whether queries and keys are normalised per head (a weight of `head_dim` each).
        extra_parameters: what the fields above do not describe (token types, pooler, attention sinks, output bias).
        causal: a token attends to those before it, not to the whole sequence as in an encoder.
        further_token_layers: layers trained beside the model's to predict tokens after the next (DeepSeek-V3, arXiv
            2412.19437, section 2.2), each with a pass of the output matrix.
    """

    id: str
    name: str
    parameters: int | None
    active_parameters: float | None
    published_parameters: float | None
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn_hidden: int
    gated: bool
    vocab: int
    tied_embeddings: bool
    max_context: int | None
    attention_kind: str
    experts: int | None = None
    experts_per_token: int | None = None
    shared_experts: int | None = None
    moe_ffn_hidden: int | None = None
    dense_layers: int | None = None
    mla_q_lora: int | None = None
    mla_kv_lora: int | None = None
    mla_rope_dim: int | None = None
    mla_nope_dim: int | None = None
    mla_v_dim: int | None = None
    sliding_window: int | None = None
    sliding_layer_fraction: float | None = None
    learned_positions: int = 0
    linear_biases: bool = False
    norm_biases: bool = False
    qkv_biases: bool = False
    norms_per_layer: int = 2
    head_norms: bool = False
    extra_parameters: int = 0
    causal: bool = True
    further_token_layers: int = 0
    source: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeNetwork:
    """Levels of the network above a node, and what its collectives may use.

    Attributes:
        leaf_gpus: accelerators below one leaf of each rail; spine_gpus: below one set of spines; None where the network
            is not given, and then not oversubscribed either.
        leaf_oversubscription, spine_oversubscription: downlinks over uplinks of a leaf and of a spine, at least 1.
        in_network: switches of the network reduce (InfiniBand SHARP); in_domain: those of the scale-up domain (NVLink
            SHARP).
        flat: collectives may go round one ring through all ranks; leafwise: leaf by leaf; tree: all-reduces may use
            trees.
    """

    leaf_gpus: float | None = None
    spine_gpus: float | None = None
    leaf_oversubscription: float = 1.0
    spine_oversubscription: float = 1.0
    in_network: bool = False
    in_domain: bool = False
    flat: bool = False
    leafwise: bool = False
    tree: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Accelerator:
    """One accelerator as the software sees it. FLOP/s are dense; None is unknown or not supported.

    Attributes:
        generation: calibration key, for example `hopper`, `ampere`, `blackwell`, `cdna3`, `tpu`.
        form: `sxm`, `pcie`, `oam`, `superchip`, `chip`.
        scale_up_kind: `nvlink`, `xgmi`, `ethernet`, `ici`, `neuronlink`, `pcie`.
        scale_up_bytes_per_s_per_gpu_one_way: bandwidth of one accelerator into its scale-up domain, one direction.
        scale_up_domain_gpus: accelerators that reach each other at that bandwidth.
        scale_up_topology: `switch`, `mesh` (a link of its own to every peer), `torus`, or `host` (PCIe).
        scale_up_axes: of a torus; scale_up_wrap_gpus: accelerators along an axis from which it closes to a ring.
        host_link_bytes_per_s_one_way: nominal, between host memory and one accelerator.
        peak_power_w: of the board that the peaks were documented of, where it is not power_w.
        gres_type: the type name used in Slurm's gres and in node labels.
    """

    id: str
    name: str
    vendor: str
    generation: str
    form: str
    gres_type: str
    hbm_bytes: float | None = None
    hbm_bytes_per_s: float | None = None
    dense_fp64_flop_per_s: float | None = None
    dense_tf32_flop_per_s: float | None = None
    dense_bf16_flop_per_s: float | None = None
    dense_fp16_flop_per_s: float | None = None
    dense_fp8_flop_per_s: float | None = None
    dense_fp4_flop_per_s: float | None = None
    dense_int8_op_per_s: float | None = None
    sparse_bf16_flop_per_s: float | None = None
    sparse_fp8_flop_per_s: float | None = None
    scale_up_kind: str | None = None
    scale_up_bytes_per_s_per_gpu_one_way: float | None = None
    scale_up_domain_gpus: int | None = None
    scale_up_topology: str | None = None
    scale_up_axes: int | None = None
    scale_up_wrap_gpus: int | None = None
    host_link_bytes_per_s_one_way: float | None = None
    power_w: float | None = None
    peak_power_w: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeType:
    """What sizing needs to know of a node, whether it is rented or bought.

    Attributes:
        id: instance type or system id.
        gpus: accelerators per node.
        hbm_bytes_per_gpu: memory that software can use.
        network_bytes_per_s_per_gpu_one_way: scale-out bandwidth of one GPU, one direction.
        placement_max_nodes: nodes one fabric can hold; None when there is no known limit.
        cpu_threads: that a node's processors run at once.
        local_nvme_bytes, local_nvme_read_bytes_per_s: of a node's local drives.
        storage_bytes_per_s_one_way: at most which a node reads from shared storage. None is unknown.
        network: levels above the node, and what collectives may use; power_cap_w: of one accelerator, None for none.
        host: memory and drives beside the accelerators, and the links to them.
    """

    id: str
    accelerator: Accelerator
    gpus: int
    hbm_bytes_per_gpu: float
    network_kind: str
    network_bytes_per_s_per_gpu_one_way: float
    placement_max_nodes: int | None = None
    cpu_threads: int | None = None
    local_nvme_bytes: float | None = None
    local_nvme_read_bytes_per_s: float | None = None
    storage_bytes_per_s_one_way: float | None = None
    network: NodeNetwork = field(default_factory=NodeNetwork)
    power_cap_w: float | None = None
    host: Host = field(default_factory=Host)

    @property
    def reaches_others(self) -> bool:
        """A bandwidth to other nodes is known; one that is not is 0, where work may stay within a node."""
        return self.network_bytes_per_s_per_gpu_one_way > 0

    @property
    def alone_text(self) -> str:
        """Why one node alone is sized, to end a message with; empty where several are."""
        return "" if self.reaches_others else f"; no bandwidth between several {self.id} is known, so one is sized"


@dataclass(frozen=True, kw_only=True, slots=True)
class Switch:
    """One switch: ports at a rate, height, power and what network it is for (`infiniband`, `ethernet`, `oob`)."""

    id: str
    name: str
    network: str
    ports: int
    port_bytes_per_s_one_way: float
    ports_per_cage: int
    height_u: float
    power_typical_w: float | None = None
    power_max_w: float | None = None
    weight_kg: float | None = None
    source: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Anything else on the bill: optic, cable, PDU, rack, appliance, server.

    Attributes:
        kind: `optic`, `fibre`, `dac`, `pdu`, `rack`, `management`, `storage`, `copper`.
        reach_m: longest run of an optic or cable.
    """

    id: str
    name: str
    kind: str
    height_u: float | None = None
    power_typical_w: float | None = None
    power_max_w: float | None = None
    weight_kg: float | None = None
    reach_m: float | None = None
    capacity_bytes: float | None = None
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    power_capacity_w: float | None = None
    source: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalogue:
    """Every fact, by id, and the claims and sources behind them.

    Attributes:
        version: short hash of the catalogue's files; a plan names it.
        aliases: other names people write, to the id they mean.
        capacity_objects, placement_objects, quotas, tpu_slices: what instance types refer to, by id.
        regions: by name; offerings: further sources on where types are sold.
    cooling, feeds: how heat leaves racks, and what reaches them.
    """

    version: str
    accelerators: dict[str, Accelerator]
    systems: dict[str, System]
    instances: dict[str, Instance]
    switches: dict[str, Switch]
    parts: dict[str, Part]
    models: dict[str, Model]
    claims: tuple[Claim, ...]
    sources: dict[str, Source]
    storage_systems: dict[str, StorageSystem] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    capacity_objects: dict[str, CapacityObject] = field(default_factory=dict)
    placement_objects: dict[str, PlacementObject] = field(default_factory=dict)
    quotas: dict[str, Quota] = field(default_factory=dict)
    tpu_slices: dict[str, TpuSlice] = field(default_factory=dict)
    regions: dict[str, Region] = field(default_factory=dict)
    offerings: tuple[Offering, ...] = ()
    cooling: dict[str, Cooling] = field(default_factory=dict)
    feeds: dict[str, Supply] = field(default_factory=dict)

    def cooling_of(self, method: str) -> Cooling:
        """Return the cooling that blueprints call so."""
        return next(entry for entry in self.cooling.values() if entry.method == method)

    def feed_of(self, name: str) -> Supply:
        """Return the kind of feed that blueprints call so."""
        return next(entry for entry in self.feeds.values() if entry.name == name)

    def capacity(self, instance: Instance, kind: str) -> CapacityObject | None:
        """Return the capacity object of a kind by which an instance type can be had; None where it cannot."""
        objects = (self.capacity_objects[key] for key in instance.capacity_objects)
        return next((entry for entry in objects if entry.kind == kind), None)

    def placement(self, instance: Instance) -> PlacementObject | None:
        """Return what keeps the nodes of an instance type close; None where nothing does."""
        return None if instance.placement_kind is None else self.placement_objects[instance.placement_kind]

    def tpu_slice(self, instance: Instance) -> TpuSlice | None:
        """Return the slices that an instance type's chips form; None for other accelerators."""
        return None if instance.placement_kind is None else self.tpu_slices.get(instance.placement_kind)
