"""Valid sizes of FSx for Lustre file systems (PERSISTENT_2 on SSD)."""

# Throughput tier in MB/s per TiB -> smallest capacity and step in GiB with EFA.
# Source: Amazon FSx for Lustre User Guide, "Increasing storage capacity".
EFA_STEP_GIB = {125: 38400, 250: 19200, 500: 9600, 1000: 4800}
# Without EFA: 1,200 GiB, or any multiple of 2,400 GiB. Same source.
SMALLEST_GIB = 1200
STEP_GIB = 2400


def capacity_problem(*, capacity_gib: int, throughput_mb_per_s_per_tib: int, efa_enabled: bool) -> str | None:
    """Say why a capacity is refused and name the nearest valid ones; None means it is valid."""
    if throughput_mb_per_s_per_tib not in EFA_STEP_GIB:
        return None  # an unknown tier is its own problem
    step = EFA_STEP_GIB[throughput_mb_per_s_per_tib] if efa_enabled else STEP_GIB
    if (capacity_gib > 0 and capacity_gib % step == 0) or (not efa_enabled and capacity_gib == SMALLEST_GIB):
        return None
    below = capacity_gib // step * step
    if below == 0:
        nearest = f"the smallest is {step if efa_enabled else SMALLEST_GIB}"
    else:
        nearest = f"the nearest are {below} and {below + step}"
    rule = f"a multiple of {step}" if efa_enabled else f"{SMALLEST_GIB} or a multiple of {step}"
    tier = f" for an EFA file system of {throughput_mb_per_s_per_tib} MB/s per TiB" if efa_enabled else ""
    return f"needs {rule} (GiB){tier}, got {capacity_gib}; {nearest}"
