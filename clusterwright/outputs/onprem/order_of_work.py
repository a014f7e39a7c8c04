"""The order in which the documents of a cluster on premises are used, from the first look to the first job."""

#: Each step with the documents that it needs, and what must be so before the next.
_STEPS = (
    (
        "Approve",
        "`checklist.md`, `floor_plan.svg`, `power_and_cooling.md`",
        "no line fails, each unknown one has an owner",
    ),
    (
        "Ask for quotes",
        "`bill_of_materials.xlsx`, `procurement.md`",
        "quotes are read back with `--quotes`",
    ),
    ("Order", "`bill_of_materials.xlsx`, `cables.csv`", "lengths measured in the hall; spares are in the order"),
    (
        "Prepare the room",
        "`floor_plan.svg`, `power_and_cooling.md`",
        "feeds, cooling and trays are accepted",
    ),
    ("Place racks", "`racks.svg`, `racks.csv`, `netbox/`", "every device in its unit, free units closed by panels"),
    ("Cable", "`cables.csv`, `labels.csv`, `fabric.svg`", "both ends labelled, every row ticked off"),
    (
        "Power up, provision",
        "`dhcp-hosts.csv`, `provisioning/`, `software.md`",
        "all hosts answer, one set of versions",
    ),
    ("Accept", "`acceptance.md`", "every number is reached before the invoice is paid"),
    ("Run", "`runbook.md`, the scheduler's folder", "the first job has ended, alerts reach somebody"),
)

#: The section of the README.
ORDER_OF_WORK = (
    "## Order of work",
    "",
    "| | step | with | go on when |",
    "|--:|---|---|---|",
    *(f"| {number} | {step} | {files} | {done} |" for number, (step, files, done) in enumerate(_STEPS, start=1)),
)
