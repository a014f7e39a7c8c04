"""The Kubernetes files of a cluster on premises: labels, operators, network of the rails, queue, storage, jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

from clusterwright.catalog.records import Catalogue
from clusterwright.facility.cabling.addresses import IN_BAND
from clusterwright.facility.cabling.layout import lay_out
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.kind import ClusterJob
from clusterwright.outputs.kinds import outputs_of
from clusterwright.outputs.kubernetes import jobs as kubernetes_jobs
from clusterwright.outputs.kubernetes import network as kubernetes_network
from clusterwright.outputs.kubernetes import queues as kubernetes_queues
from clusterwright.outputs.kubernetes import sharing as kubernetes_sharing
from clusterwright.outputs.kubernetes import slices as kubernetes_slices
from clusterwright.outputs.kubernetes.cluster import (
    NAMESPACE,
    RACK_LABEL,
    RAIL_RESOURCE,
    UNIT_LABEL,
    KubernetesCluster,
    charts,
    cluster_of,
)
from clusterwright.outputs.kubernetes.control_plane import control_plane_files, control_plane_of
from clusterwright.outputs.kubernetes.jobs import documents_text
from clusterwright.outputs.kubernetes.queues import SHARED
from clusterwright.outputs.onprem.provisioning.machines import CONTROL, machines_of, network_named, networks_of
from clusterwright.outputs.onprem.provisioning.pod_addresses import around, pod_ports
from clusterwright.outputs.templates import render
from clusterwright.plan.record import Option, Plan
from clusterwright.units import counted


def kubernetes_files(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, File]:
    """Return the files of a plan's cluster on premises by name within their folder.

    Args:
        plan: for names and the job.
        option: the on-premises option, with its design.
        catalogue: for the system and its accelerators.

    Raises:
        MissingFactError: the catalogue does not know the system's processors or memory.
        ValueError: the option has no on-premises design.
    """
    if option.design.facility is None:
        raise ValueError(f"{option.target} has no on-premises design")
    cluster = _cluster(plan, option, catalogue)
    files = {
        "node-labels.yaml": _labels(cluster),
        "namespace.yaml": documents_text(kubernetes_queues.namespace(cluster)),
        "queues.yaml": documents_text(kubernetes_queues.queues(cluster)),
        "jobs/all_reduce.yaml": documents_text(kubernetes_jobs.all_reduce(cluster)),
    }
    if cluster.tenants:
        files["tenants.yaml"] = documents_text(kubernetes_queues.tenants(cluster))
    if cluster.posix:
        files["storage.yaml"] = documents_text(kubernetes_queues.storage(cluster))
    files["kustomization.yaml"] = documents_text([_kustomization(sorted({*files} - {"node-labels.yaml"}))])
    if cluster.operators:
        files["values/gpu-operator.yaml"] = documents_text([kubernetes_network.gpu_operator_values(cluster)])
    if cluster.divided_nodes:
        files["slices/mig-config.yaml"] = documents_text(kubernetes_slices.mig_config(cluster))
    files |= _sharing(cluster)
    if cluster.vendor == "AMD":
        files["values/cert-manager.yaml"] = documents_text([{"crds": {"enabled": True}}])
    if cluster.hands_out_rails:
        files["values/network-operator.yaml"] = documents_text([kubernetes_network.network_operator_values(cluster)])
        files["network/nic-cluster-policy.yaml"] = documents_text([kubernetes_network.nic_cluster_policy(cluster)])
        if not cluster.routed:
            files["network/rails.yaml"] = documents_text(
                kubernetes_network.rail_network(cluster, site=IPv4Network(option.design.facility.rules.network.range))
            )
    job = outputs_of(plan).cluster_job(plan, option, cluster)
    if job is not None:
        files |= {f"jobs/{name}": content for name, content in job.files.items()}
    files["README.md"] = _readme(cluster, job)
    further = outputs_of(plan).cluster_files(plan, option, cluster)
    written = {name: replace(text(content), executable=name.endswith(".sh")) for name, content in files.items()}
    return {**written, **further}


def _sharing(cluster: KubernetesCluster) -> dict[str, str]:
    """Return what offers GPUs in parts; nothing where they are whole."""
    if cluster.software is None or not cluster.shared_nodes:
        return {}
    objects = kubernetes_sharing.sharing_config(cluster)
    files = {"sharing/device-plugin.yaml": documents_text(objects)} if objects else {}
    if cluster.software.sharing == "hami":
        files["values/hami.yaml"] = documents_text([kubernetes_sharing.hami_values(cluster.software.shared_parts)])
    return files


def _cluster(plan: Plan, option: Option, catalogue: Catalogue) -> KubernetesCluster:
    assert option.design.facility is not None  # noqa: S101 - on premises
    design, inventory = option.design.facility, option.design.facility.inventory
    system = catalogue.systems[inventory.system]
    standing = lay_out(inventory, site=design.site, rules=design.rules, catalogue=catalogue)
    cluster = cluster_of(
        inventory,
        standing,
        system,
        vendor=catalogue.accelerators[system.accelerator].vendor,
        software=plan.software_of(option.target),
    )
    return replace(cluster, tenants=plan.cluster.tenants)


def control_plane(plan: Plan, option: Option, catalogue: Catalogue, tables: Mapping[str, str]) -> dict[str, File]:
    """Return the files of the control plane by name within the folder of Kubernetes.

    Args:
        plan: for names.
        option: on premises.
        catalogue: for the system.
        tables: texts of `dhcp-hosts.csv` and `ip-networks.csv`.

    Raises:
        InputError: the in-band network overlaps the ranges of pods or services.
    """
    assert option.design.facility is not None  # noqa: S101 - on premises
    machines = machines_of(
        option.design.facility.inventory, tables["dhcp-hosts.csv"], scheduler=option.deployment.scheduler
    )
    servers = [(machine.name, machine.address) for machine in machines if machine.role == CONTROL]
    prefix = network_named(networks_of(tables["ip-networks.csv"]), IN_BAND).prefix
    plane = control_plane_of(plan.cluster.name, servers, prefix)
    files = control_plane_files(plane, _cluster(plan, option, catalogue))
    return {name: replace(text(content), executable=name.endswith(".sh")) for name, content in files.items()}


def rails(plan: Plan, option: Option, catalogue: Catalogue, tables: Mapping[str, str]) -> dict[str, File]:
    """Return the networks of an Ethernet fabric's rails by name within the folder of Kubernetes; nothing on InfiniBand.

    Args:
        plan: for names.
        option: on premises.
        catalogue: for the system.
        tables: text of `ip-plan.csv`.

    Raises:
        InputError: a leaf's network has no room for addresses of pods.
    """
    cluster = _cluster(plan, option, catalogue)
    if not (cluster.hands_out_rails and cluster.routed):
        return {}
    pools = {}
    ports = pod_ports(tables["ip-plan.csv"])
    for rail, resource in enumerate(cluster.rail_resources, start=1):
        own = [port for port in ports if port.rail == rail]
        addresses = [
            kubernetes_network.RailAddress(node=port.host, gateway=str(port.gateway), pair=str(port.pair))
            for port in own
        ]
        pools[resource] = (str(around([port.pair for port in own])), addresses)
    return {"network/rails.yaml": text(documents_text(kubernetes_network.routed_rails(pools)))}


def _kustomization(names: Sequence[str]) -> dict[str, Any]:
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [name for name in names if "/" not in name],
    }


def _labels(cluster: KubernetesCluster) -> str:
    return render(
        "kubernetes",
        "node-labels.yaml.j2",
        nodes=len(cluster.nodes),
        nodes_with_places=cluster.nodes,
        unit_label=UNIT_LABEL,
        rack_label=RACK_LABEL,
        gpu_resource=cluster.gpu_resource,
        divided=cluster.divided,
        shared=cluster.shared,
        shared_labels=kubernetes_sharing.shared_labels(cluster.software.sharing if cluster.software else ""),
        mig_label=f"{kubernetes_slices.LABEL}: {kubernetes_slices.DIVIDED}",
    )


def _span(names: Sequence[str]) -> str:
    """Return names as a page has them within one pair of backticks: the first and the last."""
    return "` to `".join(dict.fromkeys((names[0], names[-1]))) if names else ""


def _whole_gpus(cluster: KubernetesCluster) -> list[dict[str, str]]:
    """Return what nodes offer of whole GPUs, and of parts where nodes share theirs under a name of its own."""
    gpus, each = cluster.whole_gpus, f"{cluster.gpus_per_node}; "
    of = "the nodes that share no GPU" if cluster.shared_nodes else "every node"
    rows = [
        {
            "do": f"allocatable `{cluster.gpu_resource}` of {of}",
            "expect": f"{'' if cluster.slices else each}{gpus:,} in all",
        }
    ]
    parts = [
        {
            "do": f"allocatable `{name}` of the nodes that share GPUs",
            "expect": f"{count // cluster.shared_nodes:,}; {count:,} in all",
        }
        for name, count in cluster.parts.items()
    ]
    return [*(rows if gpus else ()), *parts]


def _readme(cluster: KubernetesCluster, job: ClusterJob | None) -> str:
    used = [
        chart
        for chart in charts(cluster.vendor, cluster.software)
        if chart.chart != "network-operator" or cluster.hands_out_rails
    ]
    to_set = ["the quota in `queues.yaml`, if not all of the cluster is for one queue."]
    checks = [
        {"do": "`kubectl get nodes -l node-kind=gpu`", "expect": f"{counted(len(cluster.nodes), 'node')}, all Ready"},
        *_whole_gpus(cluster),
        *(
            {"do": f"allocatable `{name}` of the nodes with slices", "expect": f"{count:,} in all"}
            for name, count in cluster.slices.items()
        ),
        {"do": "the log of `jobs/all_reduce.yaml`", "expect": "the bus bandwidth of `../acceptance.md`, phase 6"},
    ]
    if cluster.posix:
        to_set.append(f"`mkdir {SHARED}/{NAMESPACE}` on one node: a node that does not have it has nothing mounted.")
    else:
        to_set.append("an S3 client in the image: this storage has no files to mount, so there is no claim `shared`.")
    if job is not None:
        to_set.append(job.to_set)
    if not cluster.hands_out_rails:
        to_set.append(
            f"how pods reach the compute ports of {cluster.system.name}: nothing here hands them out, so the "
            "collective library falls back to the pod network."
        )
    elif cluster.routed:
        first, last = next(iter(cluster.rail_resources)), [*cluster.rail_resources][-1]
        each = f"1 of each of the {cluster.rails} on every node"
        way = "`ip route get ADDRESS from OWN` in a pod, to every rail of another node's pod"
        checks[2:2] = [
            {"do": f"allocatable `{first}` to `{last}` of a node", "expect": each},
            {"do": way, "expect": "by the port that has OWN, through its leaf"},
        ]
        names = f"`{kubernetes_network.port_name(first)}` to `{kubernetes_network.port_name(last)}`"
        to_set.append(
            f"names {names} of the compute ports, on every node, in the order of `../ip-plan.csv`: for each port "
            "`/etc/systemd/network/10-rail1.link` with `[Match] Path=pci-ADDRESS` and `[Link] Name=rail1`. "
            "`network/nic-cluster-policy.yaml` offers ports of these names alone, so that no pod gets a storage or "
            "in-band port."
        )
        to_set.append(
            "`network/rails.yaml`: RoCE routes by these addresses. A node that is added needs its pair there and the "
            "first one of it on its leaf (`../provisioning/switches`): write the folder again."
        )
    else:
        expect = f"{cluster.rails} on every node"
        checks.insert(2, {"do": f"allocatable `{RAIL_RESOURCE}` of a node", "expect": expect})
        instead = "in the place of `linkTypes`" if cluster.infiniband else "beside `isRdma`"
        to_set.append(
            f"`network/nic-cluster-policy.yaml`: if a node offers more than {cluster.rails} `{RAIL_RESOURCE}`, its "
            f"storage ports are among them; name the compute ports by `pfNames` {instead}."
        )
        to_set.append(
            "`network/rails.yaml`: the addresses, if another site within reach has them. Verbs do not use them."
            if cluster.infiniband
            else "`network/rails.yaml`: RoCE routes by its addresses, and one pool has no way through the leaves of "
            "several planes: give each port of a plane a pool inside the network of its leaf (`../ip-networks.csv`)."
        )
    return render(
        "kubernetes",
        "README.md.j2",
        nodes=len(cluster.nodes),
        system=cluster.system.name,
        first=cluster.nodes[0].name,
        last=cluster.nodes[-1].name,
        charts=[chart.command for chart in used],
        slices=bool(cluster.slices),
        tenants=cluster.tenants,
        plugin=bool(cluster.shared_nodes and kubernetes_sharing.sharing_config(cluster)),
        network=cluster.hands_out_rails,
        rails=cluster.rails,
        rail_resource=_span([*cluster.rail_resources]),
        job=job,
        to_set=to_set,
        checks=checks,
    )
