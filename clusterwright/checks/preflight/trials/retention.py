"""Which checkpoints a job removes while it runs: its script tried in a folder of checkpoints."""

import re
from collections.abc import Iterator

from clusterwright.checks.preflight.files.values import text
from clusterwright.checks.preflight.results import Status
from clusterwright.checks.preflight.scripts.manifests import items, manifests, mapping, pods_of
from clusterwright.checks.preflight.subject import Subject
from clusterwright.checks.preflight.trials.launch_rules import Found
from clusterwright.checks.preflight.trials.machine import Machine

SCRIPT = "launch/retain_checkpoints.sh"
_FOLDER = "/shared/checkpoints/trial"
#: Steps of the trial's checkpoints: the last one is being written, the one before it is complete.
_STEPS, _COMPLETE, _WRITTEN = (100, 200, 300, 400, 500), 400, 500
_LATEST, _MILESTONE = 2, 200
_TIMEOUT_S = 30
_SIZED = re.compile(r"[Ss]torage is sized for (\d+)")
#: A text that a command keeps in a variable, and the variable that is started as the script.
_HELD = re.compile(r"(?ms)^\s*(\w+)=\$\(cat <<'(\w+)'\n(.*?)^\s*\2$")
_STARTED = re.compile(r'bash -c "\$\{?(\w+)\}?" retain_checkpoints\.sh')
_KEPT = re.compile(r"retain_checkpoints\.sh\"?\s+\"?[^\s\"]+\"?\s+(\d+)\s+\d+")


def retained(subject: Subject) -> Iterator[tuple[str, list[tuple[Status, Found]]]]:
    """Try the script that removes checkpoints, and compare what jobs keep with what storage is sized for."""
    for name, content in subject.project.files.items():
        if name.startswith("launch/") and name.endswith((".sbatch", ".slurm", ".yaml")):
            yield name, [("FAIL", found) for found in _beyond_storage(content)]
    script = subject.project.files.get(SCRIPT)
    for name, copy in (*([(SCRIPT, script)] if script is not None else []), *_copies(subject)):
        yield from _tried(name, copy)


def _copies(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield file and text of the script where a pod's command, or a ConfigMap, holds it."""
    for one in manifests(subject):
        for file, content in mapping(one.value.get("data")).items() if one.kind == "ConfigMap" else ():
            if file == SCRIPT.rpartition("/")[2]:
                yield one.file, text(content)
        for pods in pods_of(one):
            for container in pods.containers:
                for word in (text(each) for key in ("command", "args") for each in items(container.get(key))):
                    held = {name: body for name, _, body in _HELD.findall(word)}
                    yield from ((one.file, held[name]) for name in _STARTED.findall(word) if name in held)


def _tried(name: str, script: str) -> Iterator[tuple[str, list[tuple[Status, Found]]]]:
    ran = Machine(
        files={f"/{SCRIPT}": script, f"{_FOLDER}/latest_checkpointed_iteration.txt": f"{_COMPLETE}\n"},
        folders=tuple(f"{_FOLDER}/iter_{step:07d}" for step in _STEPS),
    ).run([f"/{SCRIPT}", _FOLDER, str(_LATEST), str(_MILESTONE)], environment={}, timeout_s=_TIMEOUT_S)
    if ran is None:
        return
    left = {step for step in _STEPS if f"{_FOLDER}/iter_{step:07d}" in ran.folders}
    yield name, [("FAIL", found) for found in _wrong(left)]


def _beyond_storage(content: str) -> Iterator[Found]:
    sized, kept = _SIZED.search(content), _KEPT.search(content)
    if sized and kept and int(kept[1]) > int(sized[1]):
        yield Found(
            message=f"keeps {kept[1]} checkpoints, and storage is sized for {sized[1]}: it is full before the run ends",
            fix=f"keep {sized[1]}, or take more storage",
            about="retain_checkpoints.sh",
        )


def _wrong(left: set[int]) -> Iterator[Found]:
    """Yield what is wrong with the steps whose checkpoints are left."""
    fix = "put the script back"
    if _WRITTEN not in left:
        yield Found(message="removes a checkpoint that is being written", fix=fix, about="complete")
    complete = [step for step in _STEPS if step <= _COMPLETE]
    if not set(complete[-_LATEST:]) <= left:
        yield Found(message="removes the checkpoint that a restart loads", fix=fix, about="latest")
    if not {step for step in complete if step % _MILESTONE == 0} <= left:
        yield Found(message="removes milestones", fix=fix, about="milestone")
    if complete[0] in left:
        yield Found(message="removes no old checkpoint: storage fills up", fix=fix, about="rm ")
