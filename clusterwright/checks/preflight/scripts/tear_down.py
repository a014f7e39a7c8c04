"""What `./cluster.sh destroy` would do: tried in a copy, with stand-ins for pulumi and for the providers' commands.

Nothing is asked of an engine or a cloud: the stand-ins write down how they are called, answer as if the cluster were
there, and the script finds no other program than those of a POSIX system. A script that names programs elsewhere by
their path is not tried.
"""

import contextlib
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clusterwright.checks.preflight.files.values import text as text_of
from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.subject import Subject

SCRIPT = "cluster.sh"
_TIMEOUT_S = 60
#: Seconds between two looks at a trial that goes on; calls of one kind that are a loop once its mistake is made.
_LOOK_S, _A_LOOP = 1.0, 20
_TOOLS = (
    "bash",
    "sh",
    "env",
    "cat",
    "sed",
    "tr",
    "grep",
    "egrep",
    "head",
    "tail",
    "cut",
    "sort",
    "uniq",
    "wc",
    "cksum",
    "awk",
    "dirname",
    "basename",
    "printf",
    "true",
    "false",
    "test",
    "mkdir",
    "mktemp",
    "rm",
    "cp",
    "mv",
    "ls",
    "date",
    "sleep",
    "tee",
    "xargs",
    "seq",
    "expr",
    "uname",
    "id",
    "find",
    "lsof",
)
_STAND_INS = ("pulumi", "python3", "pip", "aws", "az", "gcloud", "kubectl", "helm", "jq", "curl", "git", "ssh")
_BY_PATH = re.compile(r"(?<![\w.$}\"/-])/(usr|bin|sbin|opt|home|root|snap|Users)/\S*")
#: For the tunnel's end; the kernel gives ports from 32768 on to whoever asks for any, on Linux.
_PORTS = range(20_000, 32_000)
#: Stands for the tunnel to a private API server: takes connections until it is ended, or the trial's folder is gone.
_LISTEN = """\
import os, socket
taking = socket.create_server(("127.0.0.1", int(os.environ["TUNNEL_PORT"])))
taking.settimeout(0.2)
while os.path.exists(os.environ["CALLS"]):
    try:
        taking.accept()[0].close()
    except TimeoutError:
        pass
"""
_WRITE_DOWN = """\
#!{shell}
printf '%s' "${{0##*/}}" >>"$CALLS"
for one in "$@"; do printf ' %s' "$one" >>"$CALLS"; done
printf '\\n' >>"$CALLS"
case "${{FAILING:+on}}:${{0##*/}} $*" in on:*"$FAILING"*) exit 1 ;; esac
case "${{0##*/}} $*" in
  pulumi*"stack output"*api_tunnel*) printf '%s\\n' "$TUNNEL_PORT" ;;
  aws*"localPortNumber=$TUNNEL_PORT"* | az*"--port $TUNNEL_PORT"*) exec "{python}" -I -c '{listen}' ;;
  pulumi*"stack output --stack"*--json*) printf '{{"id": "x"}}\\n' ;;
  pulumi*"stack output"*) printf 'x\\n' ;;
  pulumi*--show-urns*) printf 'urn:pulumi:x::x::%s::x\\n' aws:s3/bucket:Bucket gcp:storage/bucket:Bucket ;;
  gcloud*"storage ls"*) printf 'gs://x/one\\n' ;;
esac
exit 0
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One way to call the script.

    Attributes:
        arguments, answer: of the command, and what is typed.
        bad: pattern of calls that must not be made, with what that would do.
        variables: of the environment, with their values.
        failing: part of a call that fails; the trial is made where the project has what it names.
    """

    arguments: tuple[str, ...]
    answer: str
    bad: tuple[tuple[str, str], ...]
    variables: tuple[tuple[str, str], ...] = ()
    failing: str = ""


_UNPROTECTS = (r"^pulumi .*\bstate unprotect\b", "takes the protection of data away")
_LIFTS = (
    r"^pulumi (?=.*foundation).*\bconfig set .*\bprotectData\b.*\bfalse\b",
    "takes the protection of data away",
)
_EVERYTHING = (
    r"^pulumi (?=.*foundation)(?=.*\bdestroy\b)(?!.*--exclude-protected)",
    "destroys the foundation with its data",
)
_MORE_THAN_NODES = (r"^pulumi (?=.*\bdestroy\b)(?!.*-C nodes\b)", "destroys more than the nodes")
_DELETES = (
    r"^(aws|az|gcloud) .*\b(delete|rm|rb|remove|purge|delete-object\w*)\b",
    "deletes by the provider's command",
)
#: Stands for the cluster's name, and a new line, in an answer.
_THE_NAME = "\0"
#: What programs that run without a person set: no such variable is an answer.
_UNATTENDED = tuple((name, "true") for name in ("CI", "FORCE", "YES", "ASSUME_YES", "AUTO_APPROVE", "GITHUB_ACTIONS"))
_ANY = (r"^pulumi .*\b(destroy|unprotect)\b|\bpulumi .*config set .*false", "goes on without the right answer")
#: What the first trial has to come to, or nothing was seen.
_DESTROYS = r"^pulumi (?=.*foundation).*\bdestroy\b"
TRIALS: tuple[Trial, ...] = (
    # The name alone is not enough: it has to be asked for, with --with-data.
    Trial(arguments=("destroy",), answer=_THE_NAME, bad=(_UNPROTECTS, _LIFTS, _EVERYTHING, _DELETES)),
    Trial(arguments=("down",), answer="", bad=(_UNPROTECTS, _LIFTS, _EVERYTHING, _DELETES, _MORE_THAN_NODES)),
    Trial(arguments=("up",), answer="", bad=(_UNPROTECTS, _DELETES, (r"^pulumi .*\bdestroy\b", "destroys"))),
    Trial(arguments=("destroy", "--with-data"), answer="", bad=(_ANY,)),
    Trial(arguments=("destroy", "--with-data"), answer="yes\n", bad=(_ANY,)),
    Trial(arguments=("destroy", "--with-data"), answer="", bad=(_ANY,), variables=_UNATTENDED),
)
#: Modules of the project that say whether a layer may be brought up, and what is done in spite of them.
_ASKED_FIRST = {
    "identity": "brings up what the state of another cluster knows",
    "settings_check": "brings up a configuration that is refused",
    "unset_values": "brings up a configuration with values missing",
}
_BRINGS_UP = r"^pulumi .*\bup\b"
TRIALS += tuple(
    Trial(arguments=("up",), answer="", bad=((_BRINGS_UP, what),), failing=f"-m gpu_cluster.{module}")
    for module, what in _ASKED_FIRST.items()
)
#: What comes first has to have worked.
TRIALS += (
    Trial(
        arguments=("up",),
        answer="",
        bad=((r"^pulumi (?=.*-C (cluster|nodes)\b).*\bup\b", "brings up the next layer all the same"),),
        failing="-C foundation up",
    ),
    Trial(
        arguments=("destroy",),
        answer=_THE_NAME,
        bad=((_MORE_THAN_NODES[0], "destroys what the nodes need all the same"),),
        failing="-C nodes destroy",
    ),
)
#: Layers in the order in which each command has to go through them.
_ORDER = {"up": ("foundation", "cluster", "nodes"), "destroy": ("nodes", "cluster", "foundation")}
#: What every call of the engine must not say by itself.
_BY_ITSELF = (
    (
        r"\bpip3? install\b(?=.*\s(-r|--requirement)\b)(?!.*--require-hashes)",
        "installs packages without comparing their hashes",
    ),
    (r"^pulumi .*\b(up|destroy)\b.*(\s-y\b|--yes\b)", "answers for you: nobody sees what is about to change"),
    (r"^pulumi .*\bdestroy\b.*--(remove|force)\b", "forgets what it could not delete"),
)


def destroys_with_a_question(subject: Subject) -> Iterator[Outcome]:
    """Try the ways to call the script that must leave data alone."""
    content = subject.project.files.get(SCRIPT, "")
    place = Place(file=subject.project.shown(SCRIPT))
    bash = shutil.which("bash")
    if not content:
        return
    text = content + subject.project.files.get("cloud.sh", "")
    elsewhere = [one[0] for one in _BY_PATH.finditer(text) if not one[0].startswith("/usr/bin/env")]
    if bash is None or elsewhere:
        why = f"it calls {elsewhere[0]} by its path" if elsewhere else "there is no bash here"
        yield Outcome(
            status="UNKNOWN", message=f"{SCRIPT} was not tried: {why}", fix="call programs by name", place=place
        )
        return
    found: dict[str, str] = {}
    tried = 0
    for trial in TRIALS:
        module = trial.failing.partition("gpu_cluster.")[2]
        if module and f"gpu_cluster/{module}.py" not in subject.project.files:
            continue
        tried += 1
        calls = _calls(subject, trial, bash)
        if calls is None:
            yield Outcome(status="UNKNOWN", message=f"{SCRIPT} {' '.join(trial.arguments)} did not end", place=place)
            return
        if trial is TRIALS[0] and not any(re.search(_DESTROYS, call) for call in calls):
            yield Outcome(
                status="UNKNOWN",
                message=f"{SCRIPT} destroy was not tried to its end: with stand-ins it stops before it destroys",
                place=place,
            )
            return
        for what, call in _wrong(trial, calls):
            found.setdefault(what, call)
    for what, call in found.items():
        yield Outcome(
            status="FAIL",
            message=f"./{SCRIPT} {what}: {call}",
            fix="leave protected data alone without --with-data, ask for the name with it, stop where a step fails",
            place=place,
        )
    if not found:
        yield passed(f"{tried} ways to call {SCRIPT} tried with stand-ins: data stays without --with-data and the name")


def _wrong(trial: Trial, calls: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what a trial does that it must not do, and the call by which it does."""
    when = f" after {trial.answer.strip()!r}" if trial.answer not in ("", _THE_NAME) else ""
    if trial.variables:
        when = " where CI is set"
    if trial.failing:
        module = trial.failing.partition("gpu_cluster.")[2]
        when = f" where {module} refuses" if module else f" where 'pulumi {trial.failing}' fails"
    for call in calls:
        for pattern, what in (*trial.bad, *_BY_ITSELF):
            if re.search(pattern, call):
                yield f"{' '.join(trial.arguments)}{when} {what}", call
    if not trial.failing:
        yield from _out_of_order(trial, calls)


def _out_of_order(trial: Trial, calls: list[str]) -> Iterator[tuple[str, str]]:
    command, seen = trial.arguments[0], 0
    order = _ORDER.get(command, ())
    for call in calls:
        found = re.search(rf"^pulumi -C (\w+) {command}\b", call)
        if found is None or found[1] not in order:
            continue
        place = order.index(found[1])
        if place < seen:
            yield f"{command} goes through layers in the wrong order ({order[seen]} before {order[place]})", call
            return
        seen = place


def _calls(subject: Subject, trial: Trial, bash: str) -> list[str] | None:
    """Return the calls of stand-ins that one trial makes, None if it does not end."""
    with tempfile.TemporaryDirectory() as root:
        project, programs, home = Path(root) / "project", Path(root) / "bin", Path(root) / "home"
        for folder in (project, programs, home):
            folder.mkdir()
        for name, text in subject.project.files.items():
            if name.endswith((".sh", ".yaml", ".toml", ".txt")) and not name.startswith(("tests/", ".")):
                (project / name).parent.mkdir(parents=True, exist_ok=True)
                (project / name).write_text(text)
        for tool in _TOOLS:
            real = shutil.which(tool)
            if real:
                (programs / tool).symlink_to(real)
        for name in _STAND_INS:
            _write_program(programs / name, bash)
        python = project / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        _write_program(python, bash)
        calls = Path(root) / "calls"
        calls.touch()
        environment = {"PATH": str(programs), "HOME": str(home), "CALLS": str(calls), "TMPDIR": root, "LANG": "C"}
        environment["TUNNEL_PORT"] = str(_free_port())
        environment |= {**dict(trial.variables), "FAILING": trial.failing}
        environment["PULUMI_CONFIG_PASSPHRASE"] = "a stand-in"  # noqa: S105 - of no state
        process = subprocess.Popen(  # noqa: S603 - the project's own script, without a login and with stand-ins
            [bash, "--norc", "--noprofile", SCRIPT, *trial.arguments],
            cwd=project,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        setting = subject.project.setting("clusterName")
        answer = trial.answer.replace(_THE_NAME, f"{text_of(setting.value if setting else '')}\n")
        until, sent = time.monotonic() + _TIMEOUT_S, False
        while True:
            try:
                process.communicate(None if sent else answer, timeout=_LOOK_S)
            except subprocess.TimeoutExpired:
                sent, made = True, Counter(calls.read_text().splitlines())
                bad = any(re.search(pattern, call) for call in made for pattern, _ in trial.bad)
                # A loop that deletes until nothing is left does not end here, where nothing is deleted.
                loops = bad and max(made.values()) >= _A_LOOP
                if time.monotonic() < until and not loops:
                    continue
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                return list(made) if bad else None
            return calls.read_text().splitlines()


def _write_program(path: Path, bash: str) -> None:
    path.write_text(_WRITE_DOWN.format(shell=bash, python=sys.executable, listen=_LISTEN))
    path.chmod(0o755)


def _free_port() -> int:
    while True:
        port = secrets.choice(_PORTS)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
