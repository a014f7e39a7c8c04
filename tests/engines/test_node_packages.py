"""Package installation on each cloud, with stand-ins for the package manager, inside namespaces of its own."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine

NODE_SCRIPTS = Path(__file__).parents[2] / "templates" / "node"
KERNEL = "6.8.0-1026-azure"
PROGRAMS = {
    "uname": f"echo {KERNEL}",
    "dpkg-query": 'for name; do :; done; case " $INSTALLED " in *" $name "*) echo installed 1.0-1 ;; *) exit 1 ;; esac',
    "curl": 'while [ "$1" != --output ]; do shift; done; echo "$3" >"$2"',
    # The key of a key's address, with a subkey, as `gpg --with-colons` prints them.
    "gpg": """for file; do :; done
case $(cat "$file") in
*fsx*) key=9C36DD9C515F10DBC3AA835C5D5CCC3383A962E1 ;;
*us-apt*) key=35BAA0B33E9EB396F59CA838C0BA5CE6DC6315A3 ;;
*microsoft*) key=BC528686B50D79E339D3721CEB3E94ADBE1229CF ;;
esac
echo "pub:-:4096:1:X:1:::-:::scESC::::::23::0:"
echo "fpr:::::::::${KEY:-$key}:"
echo "sub:-:4096:1:X:1:::-:::e::::::23:"
echo "fpr:::::::::1111111111111111111111111111111111111111:"
""",
    "modinfo": "exit 1",
    "aws": "exit 0",
    "apt-cache": f"""case "$*" in
search*) printf 'amlfs-lustre-client-%s - client\\n' 2.16.1 2.17.0 2.9.0 ;;
*2.17.0) echo 'amlfs-lustre-client-2.17.0 | 6.14.0-1001-azure | repository' ;;
*) echo "$2 | {KERNEL} | repository"; for i in {{1..2000}}; do echo "$2 | 6.8.0-$i-azure | repository"; done ;;
esac""",
}
BASE = "curl ca-certificates gpg python3 munge slurm-client mdadm xfsprogs"
APT = "-o DPkg::Lock::Timeout=600"


@pytest.fixture
def install(tmp_path: Path, require_engine: Callable[..., None]) -> Callable[..., tuple[int, str, list[str], str]]:
    """Return a function that runs the script: status, errors, the package manager's calls, and the source list."""
    require_engine("unshare")
    require_engine(working=os.geteuid() == 0, reason="needs root for a private /etc")
    programs, log = tmp_path / "bin", tmp_path / "log"
    programs.mkdir()
    logged = dict.fromkeys(["apt-get", "modprobe", "snap"], f'[ "$1" = list ] || echo "$(basename "$0") $*" >>{log}')
    for name, body in {**PROGRAMS, **logged}.items():
        (programs / name).write_text(f"#!/bin/bash\n{body}\n")
        (programs / name).chmod(0o755)

    def run(
        cloud: str,
        *,
        role: str = "compute",
        shared: str = "",
        installed: str = "",
        database: str = "",
        key: str = "",
        pins: str = "",
        release: str = "",
        moment: str | None = None,
    ) -> tuple[int, str, list[str], str]:
        scripts = shutil.copytree(NODE_SCRIPTS, tmp_path / "scripts", dirs_exist_ok=True)
        with (scripts / "software.csv").open("a") as table:
            table.write(pins)
        if moment is not None:
            table_path = scripts / "software.csv"
            table_path.write_text(
                re.sub(r"(?m)^ubuntu-archive,[^,]*,", f"ubuntu-archive,{moment},", table_path.read_text())
            )
        (tmp_path / "os-release").write_text(release or Path("/etc/os-release").read_text())
        env = tmp_path / "node.env"
        env.write_text(
            f"CLUSTER_CLOUD={cloud}\nCLUSTER_ROLE={role}\nCLUSTER_NAME=trial\n"
            "CLUSTER_PARTITION=gpu\nCLUSTER_SECRET_ID=key\n"
            "CLUSTER_GPUS_PER_NODE=0\nCLUSTER_FABRIC=none\nCLUSTER_CONTROLLER_ADDRESS=10.0.0.1\n"
            f"CLUSTER_REGION=us-east-1\nCLUSTER_SHARED_SOURCE={shared}\nCLUSTER_DATABASE_HOST={database}\n"
        )
        source_list = "/etc/apt/sources.list.d/lustre-client-*.list /etc/apt/gpu-cluster.list"
        script = (
            f"mount -t tmpfs tmpfs /etc/apt && mount --bind {tmp_path}/os-release /etc/os-release && status=0; "
            f"bash {scripts}/install_packages.sh || status=$?; "
            f"cat {source_list} 2>/dev/null; exit $status"
        )
        # Without the host's own command line, if it has one: the stand-in says whether the machine has.
        folders = [folder for folder in os.environ["PATH"].split(":") if not (Path(folder) / "aws").exists()]
        result = subprocess.run(
            ["unshare", "--mount", "bash", "-c", script],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={
                "PATH": ":".join([str(programs), *folders]),
                "CLUSTER_NODE_ENV": str(env),
                "INSTALLED": installed,
                "KEY": key,
            },
        )
        calls = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return result.returncode, result.stderr, calls, result.stdout

    return run


@pytest.mark.parametrize(("role", "daemon"), [("controller", "slurmctld"), ("compute", "slurmd")])
def test_only_missing_packages_are_installed(
    install: Callable[..., tuple[int, str, list[str], str]], role: str, daemon: str
) -> None:
    """One install names what is missing for the role; with everything there the package manager is not called."""
    status, errors, calls, _ = install("local", role=role, installed="curl ca-certificates gpg python3")
    assert status == 0, errors
    missing = f"munge slurm-client mdadm xfsprogs {daemon}"
    assert calls == [
        f"apt-get {APT} update --quiet",
        f"apt-get {APT} install --quiet --yes --no-install-recommends {missing}",
    ]
    status, errors, calls, _ = install("local", role=role, installed=f"{BASE} {daemon}")
    assert (status, calls) == (0, [])
    assert set(re.findall(r"software.csv: (\S+),1.0-1,apt,,20..-..-..,found at boot", errors)) == {
        *BASE.split(),
        daemon,
    }


_NOBLE = 'ID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n'
_OPTIONS = "-o Dir::Etc::SourceList=/etc/apt/gpu-cluster.list -o Dir::Etc::SourceParts=- -o APT::Get::List-Cleanup=0"


def test_packages_come_from_the_archive_of_the_moment(
    install: Callable[..., tuple[int, str, list[str], str]], tmp_path: Path
) -> None:
    """On Ubuntu the snapshot is the only source of an installation; a vendor's client comes from its archive."""
    (tmp_path / "bin" / "dpkg").write_text("#!/bin/bash\necho amd64\n")
    (tmp_path / "bin" / "dpkg").chmod(0o755)
    status, errors, calls, source = install(
        "gcp", shared="10.0.0.9@tcp:/fs", installed="curl gpg", release=_NOBLE, moment="20261101T000000Z"
    )
    assert status == 0, errors
    missing = "ca-certificates python3 munge slurm-client mdadm xfsprogs slurmd"
    client = f"lustre-client-modules-{KERNEL} lustre-client-utils"
    assert calls == [
        f"apt-get {APT} {_OPTIONS} update --quiet",
        f"apt-get {APT} {_OPTIONS} install --quiet --yes --no-install-recommends {missing}",
        f"apt-get {APT} update --quiet",
        f"apt-get {APT} update --quiet",
        f"apt-get {APT} install --quiet --yes --no-install-recommends {client}",
        "modprobe lustre",
    ]
    address = "https://snapshot.ubuntu.com/ubuntu/20261101T000000Z"
    signed = "deb [signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg]"
    assert [line for line in source.splitlines() if "snapshot" in line] == [
        f"{signed} {address} {suite} main universe" for suite in ("noble", "noble-updates", "noble-security")
    ]


@pytest.mark.parametrize(
    ("release", "moment", "architecture"),
    [
        (_NOBLE, "", "amd64"),
        (_NOBLE, "20261101T000000Z", "arm64"),
        ("ID=debian\nVERSION_CODENAME=bookworm\n", "20261101T000000Z", "amd64"),
        ("ID=debian\n", "20261101T000000Z", "amd64"),
    ],
)
def test_without_a_moment_packages_are_those_of_the_day(
    install: Callable[..., tuple[int, str, list[str], str]],
    tmp_path: Path,
    release: str,
    moment: str,
    architecture: str,
) -> None:
    """An empty version, another distribution or other processors: the machine's own archives, as they are."""
    (tmp_path / "bin" / "dpkg").write_text(f"#!/bin/bash\necho {architecture}\n")
    (tmp_path / "bin" / "dpkg").chmod(0o755)
    status, errors, calls, source = install("local", installed=BASE, release=release, moment=moment)
    assert status == 0, errors
    assert calls == [
        f"apt-get {APT} update --quiet",
        f"apt-get {APT} install --quiet --yes --no-install-recommends slurmd",
    ]
    assert source == ""


def test_the_shipped_moment_is_a_snapshot_of_a_day_that_was() -> None:
    """Named as the service names snapshots, before the day of the row, and after the first that is kept."""
    row = next(
        line.split(",")
        for line in (NODE_SCRIPTS / "software.csv").read_text().splitlines()
        if line.startswith("ubuntu")
    )
    assert re.fullmatch(r"20\d{6}T\d{6}Z", row[1])
    assert "20230301" < row[1][:8] < row[4].replace("-", "")


def test_a_version_of_the_table_is_the_one_installed(install: Callable[..., tuple[int, str, list[str], str]]) -> None:
    """A row for a package or snap makes every machine install that version, and the boot says nothing more of it."""
    pins = "munge,0.5.15-4,apt,,2026-11-22,pinned by us\naws-cli,1234,snap,,2026-11-22,pinned by us\n"
    present = BASE.replace("munge ", "") + " slurmd"
    status, errors, calls, _ = install("aws", installed=present, pins=pins)
    assert f"apt-get {APT} install --quiet --yes --no-install-recommends munge=0.5.15-4" in calls
    # The stand-in installs nothing, so that the version after it is not the one of the table.
    assert status == 3
    assert "munge is , node/software.csv says 0.5.15-4" in errors


def test_another_version_on_the_image_is_refused(install: Callable[..., tuple[int, str, list[str], str]]) -> None:
    """What the image brings is compared with the table too: a node of another Slurm does not join."""
    pins = "slurmd,23.11.4-1.2,apt,,2026-11-22,pinned by us\n"
    status, errors, calls, _ = install("local", installed=f"{BASE} slurmd", pins=pins)
    assert (status, calls) == (3, [])
    assert "slurmd is 1.0-1, node/software.csv says 23.11.4-1.2: correct the table" in errors
    assert install("local", installed=f"{BASE} slurmd", pins=pins.replace("23.11.4-1.2", "1.0-1"))[0] == 0


@pytest.mark.parametrize(("pinned", "said"), [("", "aws-cli,1411,snap,,20"), ("1411", ""), ("1500", "aws-cli is 1411")])
def test_the_revision_of_the_command_line_is_stated_or_checked(
    install: Callable[..., tuple[int, str, list[str], str]], tmp_path: Path, pinned: str, said: str
) -> None:
    """Amazon's command line is a snap: its revision is what the table says, or a row for the table is printed."""
    (tmp_path / "bin" / "snap").write_text(
        f'#!/bin/bash\necho "snap $*" >>{tmp_path / "log"}\n'
        '[ "$1" != list ] || printf "Name Version Rev\\naws-cli 2.31.0 1411\\n"\n'
    )
    # Nor the one of the host, if it has one.
    (tmp_path / "bin" / "aws").unlink()
    pins = f"aws-cli,{pinned},snap,,2026-11-22,pinned by us\n" if pinned else ""
    status, errors, calls, _ = install("aws", installed=f"{BASE} slurmd", pins=pins)
    assert f"snap install aws-cli --classic{f' --revision={pinned}' if pinned else ''}" in calls
    assert status == (3 if pinned == "1500" else 0)
    assert said in errors
    assert ("aws-cli" in errors) == bool(said)


def test_a_login_machine_gets_no_daemon_and_accounting_its_own(
    install: Callable[..., tuple[int, str, list[str], str]],
) -> None:
    """Slurm's commands are enough to submit; slurmdbd is installed where there is a database."""
    status, _, calls, _ = install("local", role="login", installed=BASE)
    assert (status, calls) == (0, [])
    _, _, calls, _ = install("local", role="controller", installed=f"{BASE} slurmctld", database="db.internal")
    assert calls[-1].endswith("--no-install-recommends slurmdbd")


@pytest.mark.parametrize(
    ("cloud", "package", "suite"),
    [
        ("aws", f"lustre-client-modules-{KERNEL}", ""),
        ("gcp", f"lustre-client-modules-{KERNEL} lustre-client-utils", "lustre-client-ubuntu-"),
        ("azure", f"amlfs-lustre-client-2.16.1={KERNEL}", ""),
    ],
)
def test_the_lustre_client_fits_the_running_kernel(
    install: Callable[..., tuple[int, str, list[str], str]], cloud: str, package: str, suite: str
) -> None:
    """Each vendor's repository is added with its key, and the client for this kernel, not a newer one, is installed."""
    status, errors, calls, source = install(cloud, shared="10.0.0.9@tcp:/fs", installed=f"{BASE} slurmd")
    assert status == 0, errors
    assert f"apt-get {APT} install --quiet --yes --no-install-recommends {package}" in calls
    assert calls[-1] == "modprobe lustre"
    assert source.startswith(f"deb [signed-by=/etc/apt/keyrings/lustre-client-{cloud}.asc] https://")
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    assert source.split()[3] == f"{suite}{release['VERSION_CODENAME']}"


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_another_signing_key_is_refused(install: Callable[..., tuple[int, str, list[str], str]], cloud: str) -> None:
    """A repository whose key is not the one known here is not added, and nothing is installed from it."""
    other = "0" * 40
    status, errors, calls, source = install(cloud, shared="10.0.0.9@tcp:/fs", installed=f"{BASE} slurmd", key=other)
    assert status == 3
    assert f"has the fingerprint '{other}'" in errors
    assert "correct node/software.csv" in errors
    assert source == ""
    assert calls == []


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_a_second_key_in_the_file_is_refused(
    install: Callable[..., tuple[int, str, list[str], str]], cloud: str
) -> None:
    """The known key does not vouch for another one beside it, which apt would trust too."""
    known = {"aws": "9C36DD9C515F10DBC3AA835C5D5CCC3383A962E1", "gcp": "35BAA0B33E9EB396F59CA838C0BA5CE6DC6315A3"}
    first = known.get(cloud, "BC528686B50D79E339D3721CEB3E94ADBE1229CF")
    pair = f"{first}:\npub:-:4096:1:Y:1:::-:::scESC::::::23::0:\nfpr:::::::::{'0' * 40}"
    status, errors, _, source = install(cloud, shared="10.0.0.9@tcp:/fs", installed=f"{BASE} slurmd", key=pair)
    assert status == 3
    assert f"'{first} {'0' * 40}'" in errors
    assert source == ""


def test_the_signal_that_a_page_names_is_the_one_sent() -> None:
    """Every page that says how jobs are warned names the signal of the script that warns them."""
    sent = re.search(r"scancel --signal=(\w+)", (NODE_SCRIPTS / "interruption.sh").read_text())
    assert sent is not None
    pages = [*(NODE_SCRIPTS.parents[1] / "stacks").rglob("*.md"), NODE_SCRIPTS / "README.md"]
    named = {name for page in pages for name in re.findall(r"SIG(TERM|USR\d)", page.read_text())}
    assert named == {sent[1]}


def test_a_kernel_without_a_client_is_refused(
    install: Callable[..., tuple[int, str, list[str], str]], tmp_path: Path
) -> None:
    """Where no package knows the kernel, the script says so instead of leaving the mount to hang."""
    (tmp_path / "bin" / "uname").write_text("#!/bin/bash\necho 7.0.0-custom\n")
    (tmp_path / "bin" / "apt-cache").write_text("#!/bin/bash\necho 'amlfs-lustre-client-2.17.0 | 6.8 | repository'\n")
    status, errors, calls, _ = install("azure", shared="10.0.0.9@tcp:/fs", installed=f"{BASE} slurmd")
    assert status == 3
    assert "no Lustre client for kernel 7.0.0-custom" in errors
    assert not any("install" in call for call in calls)
