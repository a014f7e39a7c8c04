"""The on-premises folder: bill of materials, racks, fabric, cables, power and cooling, and a page that explains."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from clusterwright.catalog.parts.media import media
from clusterwright.catalog.records import Catalogue
from clusterwright.facility.cabling.addresses import addresses, subnets
from clusterwright.facility.cabling.cables import Cable
from clusterwright.facility.cabling.layout import lay_out, wire
from clusterwright.facility.cabling.links import compute_network, compute_plane, storage_network
from clusterwright.facility.cabling.netlist import netlist
from clusterwright.facility.checklist.page import checks
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.fabric.counts import FULL_UNITS, Fabric
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK
from clusterwright.facility.hall.power_chain import heat_of
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.inventory import Inventory
from clusterwright.facility.server_roles import server_roles
from clusterwright.outputs.drawing.title_block import TitleBlock
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.kinds import COMMON, outputs_of
from clusterwright.outputs.markdown import cell
from clusterwright.outputs.onprem import network_tables
from clusterwright.outputs.onprem.acceptance import acceptance, checklist
from clusterwright.outputs.onprem.address_tables import address_files
from clusterwright.outputs.onprem.bill.tables import PartPrice, Prices, bill_csv, bill_markdown, quoted_lines
from clusterwright.outputs.onprem.bill.workbook import bill_xlsx, procurement, spares_in_words
from clusterwright.outputs.onprem.cutsheet import MOST_IN_WORKBOOK, cables_csv, cables_xlsx, in_order, labels_csv
from clusterwright.outputs.onprem.drawings.fabric import fabric_svg, tiers_text
from clusterwright.outputs.onprem.drawings.floor_plan import SCALE as FLOOR_SCALE
from clusterwright.outputs.onprem.drawings.floor_plan import floor_plans
from clusterwright.outputs.onprem.drawings.links import links_of
from clusterwright.outputs.onprem.drawings.racks import MOST_IN_FILE, rack_pages
from clusterwright.outputs.onprem.drawings.racks import SCALE as RACK_SCALE
from clusterwright.outputs.onprem.netbox.site import SITE, netbox_files
from clusterwright.outputs.onprem.network_tables import fabric_csv, racks_csv
from clusterwright.outputs.onprem.order_of_work import ORDER_OF_WORK
from clusterwright.outputs.onprem.power.sheet import power_and_cooling
from clusterwright.outputs.onprem.runbook import runbook
from clusterwright.outputs.onprem.storage_page import storage_page
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.words import own_facts_lines
from clusterwright.pricing.quoted import by_part
from clusterwright.tco.ledger.priced_lines import quotes_by_length
from clusterwright.units import counted


def own_parts(plan: Plan) -> dict[str, File]:
    """Return the page of the user's own facts and prices by its name; nothing where there are none."""
    prices = [f"{one.sku}: {one.usd:,.2f} USD ({one.source})" for one in plan.quotes if not one.vendor]
    lines = [*own_facts_lines(plan), *prices]
    if not lines:
        return {}
    head = [f"# Own parts of {plan.name}", "", "These stand in the place of the catalogue's facts and prices:", ""]
    return {"own_parts.md": text("\n".join([*head, *(f"- {cell(line)}" for line in lines)]))}


#: The line of the README on the files of each scheduler.
_SCHEDULERS = {
    "slurm": "| `slurm.conf`, `gres.conf`, `topology.conf`, `cgroup.conf` | for `/etc/slurm` of the controllers; "
    "nodes fetch them there |\n"
    "| `slurmdbd.conf` | for its accounting; the database's password is not in it |\n"
    "| `job_container.conf` | folders that each job has of its own; beside `slurm.conf` |\n"
    "{jobs}\n"
    "| `users.md`, `node/` | users and groups with the same numbers everywhere; the scripts of the machines |",
    "kubernetes": "| `kubernetes/` | labels of nodes, operators, ports of the fabric, queue, storage, jobs |",
}


def onprem_documents(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, File]:
    """Return the documents of a plan's cluster on premises by file name; those of its scheduler are apart.

    Args:
        plan: for its names and date.
        option: the on-premises option, with its design and priced lines.
        catalogue: for sizes and power of devices.

    Raises:
        ValueError: the option has no on-premises design.
    """
    if option.design.facility is None:
        raise ValueError(f"{option.target} has no on-premises design")
    inventory = replace(option.design.facility.inventory, host_prefix=plan.cluster.host_prefix)
    quotes = by_part(plan.quotes)
    prices = {
        priced.line.sku: PartPrice(
            unit_usd=priced.unit_usd,
            basis=priced.basis,
            source=priced.source,
            date=str(priced.price_date),
            quote=next((one for one in quotes.get(priced.line.sku, ()) if one.length_m is None), None),
            lengths=quotes_by_length(priced, quotes.get(priced.line.sku, ())),
        )
        for priced in option.money.lines
    }
    design = replace(option.design.facility, inventory=inventory)
    standing, cables = _drawn(design, catalogue)
    tests = acceptance(plan, option, catalogue, standing=standing, cables=cables)
    return _documents(
        design,
        catalogue,
        title=plan.name,
        made_on=dt.date.fromisoformat(plan.as_of),
        prices=prices,
        drawn=(standing, cables),
        scheduler=option.deployment.scheduler,
        job_row=outputs_of(plan).job_row,
    ) | {"acceptance.md": text(tests), **runbook(plan, option, design, catalogue, cables=cables), **own_parts(plan)}


def _drawn(design: OnPremDesign, catalogue: Catalogue) -> tuple[Sequence[Rack], Sequence[Cable]]:
    """Return the racks and cables of a design that is in counts."""
    standing = lay_out(design.inventory, site=design.site, rules=design.rules, catalogue=catalogue)
    return standing, wire(design.inventory, standing, site=design.site, rules=design.rules)


def documents(
    design: OnPremDesign, catalogue: Catalogue, *, title: str, made_on: dt.date, prices: Prices | None = None
) -> dict[str, File]:
    """Return the documents of a design by file name.

    Args:
        design: in counts; racks and cables are derived here.
        catalogue: for sizes and power of devices.
        title: name of the cluster, in headings.
        made_on: date in the workbook's properties.
        prices: by price key; every price is unknown if None.
    """
    drawn = _drawn(design, catalogue)
    return _documents(design, catalogue, title=title, made_on=made_on, prices=prices, drawn=drawn)


def _documents(
    design: OnPremDesign,
    catalogue: Catalogue,
    *,
    title: str,
    made_on: dt.date,
    prices: Prices | None,
    drawn: tuple[Sequence[Rack], Sequence[Cable]],
    scheduler: str = "slurm",
    job_row: str = COMMON.job_row,
) -> dict[str, File]:
    standing, cables = drawn
    known, besides = prices or {}, quoted_lines(design, standing)
    rates = _link_rates(design.inventory)
    names = {key: part.name for key, part in catalogue.parts.items()}
    heat = heat_of(
        compute_w=design.power.compute_w,
        it_w=design.power.it_w,
        system=catalogue.systems[design.inventory.system],
        site=design.site,
    )
    sheets = {
        drawing: TitleBlock(project=title, drawing=drawing, made_on=made_on, scale=scale)
        for drawing, scale in (("racks", RACK_SCALE), ("networks", "not to scale"), ("floor plan", FLOOR_SCALE))
    }
    return {
        "README.md": text(_readme(design, standing, cables, title=title, scheduler=scheduler, job_row=job_row)),
        "bill_of_materials.csv": text(bill_csv(design.bill, known, besides)),
        "bill_of_materials.md": text(bill_markdown(design.bill, known, title=title, besides=besides)),
        "bill_of_materials.xlsx": File(content=bill_xlsx(design, known, made_on=made_on, besides=besides)),
        "racks.csv": text(racks_csv(standing)),
        **{
            name: text(page)
            for name, page in rack_pages(
                standing,
                title=f"{title}: racks",
                unknown_items=design.bill.unknown_power_items,
                block=sheets["racks"],
            ).items()
        },
        "fabric.csv": text(fabric_csv(design)),
        "fabric.svg": text(
            fabric_svg(
                design.inventory,
                title=f"{title}: compute fabric",
                links=links_of(cables, names, rates),
                block=sheets["networks"],
            )
        ),
        **_fabric_graphs(design),
        **_cable_files(cables, made_on),
        **_uplinks(design, cables),
        **_address_files(design, cables),
        **{f"netbox/{name}": file for name, file in _netbox(design, standing, cables, catalogue).items()},
        **{
            name: text(plan)
            for name, plan in floor_plans(
                standing, design.site, title=f"{title}: floor plan", heat=heat, block=sheets["floor plan"]
            ).items()
        },
        "checklist.md": text(checklist(checks(design, standing, cables, catalogue), title=title)),
        "procurement.md": text(procurement(design, catalogue, title=title)),
        "power_and_cooling.md": text(power_and_cooling(design, standing, catalogue, title=title)),
        "storage.md": text(storage_page(design, catalogue, title=title)),
    }


def _fabric_graphs(design: OnPremDesign) -> dict[str, File]:
    """Return compute fabric and storage network as `ibnetdiscover` would print them, where they are InfiniBand.

    The compute fabric is a Graphviz graph too.
    """
    inventory = design.inventory
    radix, infiniband = inventory.fabric.radix, inventory.compute_network == INFINIBAND_NETWORK
    files = {"fabric.dot": text(netlist(links=compute_network(inventory), radix=radix).dot())}
    for plane in inventory.each_plane() if infiniband else ():
        # A plane is a subnet of its own, and so a file of its own.
        name = "fabric.ibnetdiscover" if plane.count == 1 else f"fabric-p{plane.number + 1}.ibnetdiscover"
        files[name] = text(netlist(links=compute_plane(inventory, plane), radix=radix).text())
    if infiniband:
        storage = netlist(links=storage_network(inventory), radix=inventory.storage_fabric.radix)
        files["storage.ibnetdiscover"] = text(storage.text())
    return files


def _cable_files(cables: Sequence[Cable], made_on: dt.date) -> dict[str, File]:
    """Return the cable list and its labels; the workbook only where it can be worked with."""
    ordered = in_order(cables)
    files = {"cables.csv": text(cables_csv(ordered)), "labels.csv": text(labels_csv(ordered))}
    if len(ordered) <= MOST_IN_WORKBOOK:
        files["cables.xlsx"] = File(content=cables_xlsx(ordered, made_on=made_on))
    return files


def _uplinks(design: OnPremDesign, cables: Sequence[Cable]) -> dict[str, File]:
    """Return the links to the users' network, where there are any."""
    if not design.inventory.inband.uplinks:
        return {}
    return {
        network_tables.FILE: text(
            network_tables.uplinks_csv(design.inventory, cables, ports=design.rules.inband_leaf_ports)
        )
    }


def _address_files(design: OnPremDesign, cables: Sequence[Cable]) -> dict[str, File]:
    """Return networks, addresses and hosts for DHCP, as tables and for NetBox."""
    managed = sum(cable.tier == "management" for cable in cables)
    networks = subnets(design.inventory, design.rules.network, managed=managed)
    return address_files(networks, addresses(design.inventory, networks, in_order(cables)), site=SITE)


def _netbox(
    design: OnPremDesign, standing: Sequence[Rack], cables: Sequence[Cable], catalogue: Catalogue
) -> dict[str, File]:
    return netbox_files(standing, cables, catalogue, _link_rates(design.inventory), design.site.feed)


def _link_rates(inventory: Inventory) -> dict[str, int]:
    """Return the rate of a port of each network, in Gb/s."""
    return {
        "compute": round(inventory.compute_port_bytes_per_s * 8 / 1e9),
        "storage": round(media()[inventory.storage_family][0].port_bytes_per_s_one_way * 8 / 1e9),
        "in-band": 100,
        "out-of-band": 1,
    }


def _readme(
    design: OnPremDesign, standing: Sequence[Rack], cables: Sequence[Cable], *, title: str, scheduler: str, job_row: str
) -> str:
    inventory, fabric, rows = design.inventory, design.fabric, design.site.rows
    longest = max(cables, key=lambda cable: cable.length_m)
    kinds = Counter(cable.kind for cable in cables)
    drawn = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
    unknown = ", ".join(map(cell, design.bill.unknown_power_items)) or "none"
    fullest = max(standing, key=lambda rack: rack.power_w)
    lines = [
        f"# {title} on premises",
        "",
        (
            f"{inventory.nodes:,} × {cell(inventory.system_name)} with {inventory.gpus:,} GPUs in {design.racks} racks"
            f", {design.power.it_w / 1e3:,.0f} kW of IT load at nameplate."
        ),
        "",
        "| file | what it is |",
        "|---|---|",
        (
            "| `bill_of_materials.xlsx`, `.csv`, `.md` | every part with its price; a vendor fills the quote columns, "
            "`clusterwright build … --quotes FILE` reads them |"
        ),
        (
            f"| `racks.svg`{', `racks/`' if len(standing) > MOST_IN_FILE else ''}, `racks.csv` | elevations, front and "
            "rear, and what stands in which rack unit |"
        ),
        "| `fabric.svg`, `fabric.csv` | the networks with rates and optics, switches and ports per tier |",
        "| `fabric.dot` | the compute fabric for Graphviz |",
        *_graph_rows(inventory),
        (
            f"| `cables.csv`{', `cables.xlsx`' if len(cables) <= MOST_IN_WORKBOOK else ''} | every link from port to "
            "port, rack by rack, with kind and length, to tick off |"
        ),
        *(
            ["| `uplinks.csv` | every link to the users' network: the near end's port, the far end to be filled in |"]
            if inventory.inband.uplinks
            else []
        ),
        "| `labels.csv` | what to print on both ends of every link, by lines of a wrap-around label |",
        "| `ip-networks.csv`, `ip-plan.csv` | networks with VLAN, prefix and gateway; the address of every interface |",
        "| `dhcp-hosts.csv` | machines that ask for an address; fill in the MACs when they are delivered |",
        "| `netbox/` | device types, racks, devices, interfaces, cables for NetBox; import in order of the numbers |",
        "| `floor_plan.svg` | rows, aisles and trays, every rack by kind with power and feeds, the room's notes |",
        "| `checklist.md` | the check-list of the data centre: pass, fail or unknown with number and limit |",
        "| `procurement.md` | spares, and how long each kind of part takes to come |",
        "| `power_and_cooling.md` | load per rack, failures of feeds, breakers, UPS, energy, caps, heat and floor |",
        "| `storage.md` | what shared storage must give and why, boxes by rule, targets, local drives |",
        "| `acceptance.md` | what to test before it is paid for, with the number that must come out |",
        "| `runbook.md` | bringing up, what to watch, replacing parts, upgrades, growth |",
        "| `software.md` | driver, CUDA, fabric software and scheduler: one set of versions for every node |",
        _SCHEDULERS[scheduler].format(jobs=job_row),
        "| `provisioning/` | from bare metal to the first job: machines, images, firmware, switches, time, figures |",
        "",
        *ORDER_OF_WORK,
        "",
        "## What was decided",
        "",
        (
            f"- Compute fabric: {_planes(inventory)}{tiers_text(fabric)} {inventory.compute_switch} in "
            f"{fabric.levels} level{'s' if fabric.levels > 1 else ''}; {fabric.units} scalable unit"
            f"{'s' if fabric.units > 1 else ''} of {counted(fabric.nodes_per_unit, 'node')}. {_purchase(fabric)}"
        ),
        f"- Storage network: {tiers_text(inventory.storage_fabric)} {inventory.storage_switch}, sides A and B.",
        f"- Ethernet: {inventory.inband.switches} in-band and {inventory.oob_switches} out-of-band switches.",
        *_inband_words(design),
        (
            f"- Racks: {design.compute_racks} with {_nodes_each(design.nodes_per_rack)}, "
            f"{design.network_racks + design.service_racks} for switches, storage and servers, half of all on "
            "either of two sides, so that no rack holds all of a function. The fullest draws "
            f"{fullest.power_w / 1e3:.1f} of {design.site.rack_power_w / 1e3:.1f} kW ({fullest.name})."
        ),
        _servers(inventory, scheduler),
        f"- Cables: {len(cables):,} links ({drawn}); the longest is {longest.length_m:g} m.",
        f"- Spares: {spares_in_words(design.rules.spares)}; `procurement.md` has them and the lead times.",
        *(f"- {cell(note)}" for note in inventory.notes),
        "",
        "## What to check",
        "",
        "- `clusterwright prove` on this folder writes `proof.md`: what other people's programs say of these files.",
        f"- Power is unknown for: {unknown}. It is not in the sums.",
        (
            f"- Lengths assume rows of {rows.racks_per_row} racks, {rows.rack_width_m:g} m wide, "
            f"{rows.rack_depth_m:g} m deep, with cold aisles of {rows.cold_aisle_m:g} m and hot aisles of "
            f"{rows.hot_aisle_m:g} m between rows, and overhead trays in both directions at "
            f"{rows.tray_height_m:g} m. Measure before you order."
        ),
        "- Which connector of a node carries which rail is in the system's manual; `cables.csv` counts ports by rail.",
    ]
    return "\n".join(lines)


def _inband_words(design: OnPremDesign) -> list[str]:
    """Return what the in-band network carries when everybody sends, and its way to the users, in sentences."""
    inventory, inband = design.inventory, design.inventory.inband
    hosts = len(inventory.hosts())
    ratio = inband.oversubscription(design.rules.inband_hosts_per_leaf)
    words = "- In-band: two leaves join every host and server directly, so nothing is shared between them."
    if inband.aggregation:
        words = (
            f"- In-band: {ratio:.3g}:1 oversubscribed between leaves that are furthest apart: when all hosts send "
            f"across the top at once, each has {100 / ratio:.3g} Gb/s of a port's 100. Logins, provisioning and NFS "
            "live with it, checkpoints and data sets do not: those go over the storage network. "
            "`site.network.leaf_uplinks` (now "
            f"{inband.leaf_uplinks}) widens it."
        )
    if not inband.border:
        return [
            words,
            "- Border: none (site.network.uplinks: 0): users reach the cluster in no way that is planned here.",
        ]
    shared = inband.uplinks * 100 / hosts
    return [
        words,
        (
            f"- Border: {inband.border} switches with {inband.uplinks} links of 100 Gb/s to the users' network, "
            f"{shared:.3g} Gb/s for each host. One link for 32 hosts, from 4 to 32: NVIDIA's reference design buys 4 "
            "for 127 nodes (RA-11333-001, Table 8), the ratio beyond is assumed; `site.network.uplinks` sets another "
            "number. The firewall is the users' network's."
        ),
    ]


def _graph_rows(inventory: Inventory) -> list[str]:
    if inventory.compute_network != INFINIBAND_NETWORK:
        return []
    file = "fabric.ibnetdiscover" if inventory.planes == 1 else "fabric-p1.ibnetdiscover`, `fabric-p2…"
    return [
        f"| `{file}` | the compute fabric for InfiniBand tools |",
        "| `storage.ibnetdiscover` | the storage network for InfiniBand tools |",
    ]


def _nodes_each(count: int) -> str:
    return "1 node each" if count == 1 else f"at most {count} nodes each"


def _servers(inventory: Inventory, scheduler: str) -> str:
    said = []
    for role in server_roles(inventory.servers(), scheduler=scheduler):
        first, last = role.servers[0], role.servers[-1]
        said.append(f"{role.role} on {first if first == last else f'{first} to {last}'}")
    return f"- Management servers, in turn on either side: {'; '.join(said)}."


def _planes(inventory: Inventory) -> str:
    return f"{inventory.planes} planes, each with " if inventory.planes > 1 else ""


def _purchase(fabric: Fabric) -> str:
    if fabric.purchase == FULL_UNITS:
        return (
            "All leaves and leaf–spine cables of a unit are bought even if it is not full, as NVIDIA's reference "
            "architecture asks."
        )
    return "Only the switches and cables that these nodes need are bought; more nodes will need a new design."
