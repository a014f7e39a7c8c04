"""A folder that stands for a machine: paths and programs are its own, and nothing outside of it changes."""

import socket
from pathlib import Path

import pytest

from clusterwright.checks.preflight.trials import confinement, machine
from clusterwright.checks.preflight.trials.machine import Machine, Ran


def ran(script: str, **files: str) -> Ran:
    """Return what a script does on a machine with some files."""
    found = Machine(files={"/script.sh": script, **files}).run(["/script.sh"], environment={}, timeout_s=60)
    assert found is not None
    return found


def test_paths_of_a_machine_are_in_its_folder(tmp_path: Path) -> None:
    """What a script writes at an absolute path is read back under that path, and is nowhere else."""
    found = ran("mkdir -p /etc/trial && echo yes >/etc/trial/one && chmod 0640 /etc/trial/one\ncat /etc/trial/one\n")
    assert (found.status, found.said) == (0, "yes\n")
    assert (found.files["/etc/trial/one"].content, found.files["/etc/trial/one"].mode) == ("yes\n", 0o640)
    assert not Path("/etc/trial").exists()
    del tmp_path


@pytest.mark.parametrize(
    "destroys",
    [
        'rm -rf "$outside"',
        'rm -rf -- "$outside"/*',
        'mv "$outside/kept" /tmp/taken',
        'chmod 0777 "$outside/kept"',
        'cp /etc/os "$outside/kept"',
        'ln -sf /etc/os "$outside/kept"',
        'echo lost >"$outside/kept"',
        'find "$outside" -exec rm -f {} +',
        'tee "$outside/kept" </etc/os',
    ],
)
def test_nothing_outside_of_the_folder_changes(destroys: str, tmp_path: Path) -> None:
    """Neither a command nor a redirection reaches a path that a script puts together, whoever runs the trial."""
    kept = tmp_path / "kept"
    kept.write_text("here")
    # Whoever is no root may write to files of their own by a redirection: there the folder is somebody else's.
    kept.chmod(0o444)
    mode = kept.stat().st_mode
    letters = " ".join(str(tmp_path).strip("/").split("/"))
    ran(
        f"outside=''\nfor part in {letters}; do outside=\"$outside/$part\"; done\n{destroys}\nexit 0\n",
        **{"/etc/os": "x"},
    )
    assert (kept.read_text(), kept.stat().st_mode) == ("here", mode)


def test_programs_of_a_machine_are_written_down() -> None:
    """Stand-ins are called in the place of programs, an unknown one too, and none of this machine's is found."""
    found = ran("systemctl enable --now one\nno-such-program two\n/usr/sbin/nft -f /x\n", **{"/x": ""})
    assert [str(call) for call in found.calls] == ["systemctl enable --now one", "no-such-program two", "nft -f /x"]


def test_a_script_that_does_not_end_is_ended() -> None:
    """After its time a trial has no status, and what was said is kept."""
    found = Machine(files={"/s": "echo begun\nwhile :; do :; done\n"}).run(["/s"], environment={}, timeout_s=1)
    assert found is not None
    assert found.status is None


def test_texts_that_are_no_paths_stay() -> None:
    """Patterns, addresses and parts of names with a slash in them are not taken for paths of the machine."""
    found = ran(
        "a=https://example.org/etc/x b=10.0.0.4@tcp:/etc c=x\n"
        'echo "$a $b" | sed "s/etc/one/" ; echo "${c}"/etc "[a-z/etc]"\n'
    )
    assert found.said == "https://example.org/one/x 10.0.0.4@tcp:/etc\nx/etc [a-z/etc]\n"


@pytest.mark.parametrize(
    "hostile",
    [
        # Programs of the system by paths that are put together, past the stand-ins.
        'b=/; "${b}usr${b}bin${b}rm" -rf "$outside"',
        'PATH="$REAL"; rm -rf "$outside"',
        'python3 -c "import shutil, sys; shutil.rmtree(sys.argv[1])" "$outside"',
        'python3 -c "import os, sys; os.truncate(sys.argv[1], 0)" "$outside/kept"',
        'python3 -c "import os, sys; os.link(sys.argv[1], \'/tmp/kept\')" "$outside/kept"; : >/tmp/kept',
        'ln -s "$outside" /tmp/link; : >/tmp/link/kept; echo more >>/tmp/link/new',
        'python3 -c "import os, sys; os.mkdir(sys.argv[1])" "$outside/new"',
    ],
)
def test_the_kernel_keeps_a_script_to_its_folder(hostile: str, tmp_path: Path) -> None:
    """A script that gets past the stand-ins changes nothing either, in a folder that everybody may write to."""
    kept = tmp_path / "kept"
    kept.write_text("here")
    kept.chmod(0o666)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.is_relative_to(tmp_path.parents[1]):
            folder.chmod(0o777)
    letters = " ".join(str(tmp_path).strip("/").split("/"))
    ran(f"outside=''\nfor part in {letters}; do outside=\"$outside/$part\"; done\n{hostile}\nexit 0\n")
    assert (kept.read_text(), sorted(one.name for one in tmp_path.iterdir())) == ("here", ["kept"])


def test_home_folders_are_not_read(tmp_path: Path) -> None:
    """What lies outside of the system's own folders, such as a key in a home folder, is not read."""
    secret = tmp_path / "key"
    secret.write_text("private")
    for folder in (secret, tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o777)
    letters = " ".join(str(secret).strip("/").split("/"))
    found = ran(
        f"path=''\nfor part in {letters}; do path=\"$path/$part\"; done\n"
        'cat "$path"; python3 -c "import sys; print(open(sys.argv[1]).read())" "$path"\nexit 0\n'
    )
    assert "Permission denied" in found.said
    assert "private" not in found.said


def test_no_connection_is_made() -> None:
    """A script reaches no server, one of this machine neither."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = ran(
            f"python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}))\" && echo reached\nexit 0\n"
        )
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert "reached" not in found.said


def test_what_a_script_started_ends_with_it() -> None:
    """Programs in the background, in groups of their own too, are ended, and hold nothing up."""
    found = Machine(files={"/s": "set -m\nwhile :; do :; done &\necho $! >/pid\n"}).run(
        ["/s"], environment={}, timeout_s=30
    )
    assert found is not None
    assert found.status == 0
    pid = found.files["/pid"].content.strip()
    place = Path("/proc") / pid / "stat"
    assert not place.exists() or place.read_text().rpartition(")")[2].split()[0] == "Z"


def test_what_a_script_says_and_leaves_is_bounded() -> None:
    """No more is kept than a limit of what is said, of a file and of files together, and a pipe is not waited for."""
    found = ran("yes | head -c 30000000\nhead -c 9000000 /dev/zero >/large\nhead -c 70000000 /dev/zero >/more\n")
    assert len(found.said) <= 1_000_000
    assert not {"/large", "/more"} & set(found.files)
    piped = ran("python3 -c \"import os; os.mkfifo(os.environ['CALLS'] + '/0')\"\necho done\n")
    assert piped.said == "done\n"


def test_without_the_kernel_nothing_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where Landlock is not there no script is started, and the checks say that they do not know."""
    program = tmp_path / "confinement.py"
    text = Path(confinement.__file__).read_text()
    program.write_text(text.replace("_TRUNCATES, _KNOWS_TCP = 3, 4", "_TRUNCATES, _KNOWS_TCP = 3000, 4"))
    assert program.read_text() != text
    monkeypatch.setattr(machine, "_CONFINEMENT", program)
    machine._python.cache_clear()
    try:
        assert Machine(files={"/s": "echo run\n"}).run(["/s"], environment={}, timeout_s=30) is None
    finally:
        machine._python.cache_clear()
