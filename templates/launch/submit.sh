#!/usr/bin/env bash
# Copies this folder to the shared file system of the cluster, checks what the job needs, and submits it as the user who
# runs it. On a machine without sbatch it does so through --host; submitting twice checks twice and copies again.
# Status: 1 = refused, every reason is printed; 2 = wrong usage.
# Bash 3.2 of macOS takes an empty array for an unset variable: hence ${name[@]+...} where one may be empty.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -r "$here/job_options.sh" ] || {
    echo "submit.sh: $here/job_options.sh is missing: submit.sh belongs into the folder of launch files" >&2
    exit 2
}
# shellcheck source=job_options.sh
. "$here/job_options.sh"

OWN_USAGE="
  --venv FOLDER           a virtual environment on the shared file system, instead of an image
  --modules A,B           environment modules to load, instead of an image
  --megatron FOLDER       folder of Megatron-LM; within the image if it is not on the shared file system
  --checkpoints FOLDER    on the shared file system
  --folder FOLDER         where the launch files go on the shared file system
  --account NAME          of Slurm: the tenant whose job it is; without it, your own default
  --qos NAME              of Slurm: NAME-spare of a tenant for GPUs that others leave free
  --host [USER@]HOST      login machine, for use where Slurm is not; ssh has to get there
  --ssh-config FILE       of ssh, for that host
  --no-node-check         do not look at the shared file system and the software from a node first"
OWN_VALUES="--venv --modules --megatron --checkpoints --folder --account --qos --host --ssh-config"
OWN_FLAGS=--no-node-check
IMAGE_FORMS="REGISTRY/NAME:TAG, or a squash file under $SHARED_PATH"
IMAGE_FILES=yes
SHARED_BY="the shared file system, which every node mounts"
MEGATRON_SETTING=--megatron

host='' ssh_config='' node_check=yes chosen=''
plain_path='^(/[A-Za-z0-9._+-]+)+$'

# set_slurm WHAT OPTION NAME: sbatch reads the name from its environment, and srun does for the look from a node.
set_slurm() {
    [[ $3 =~ ^[A-Za-z0-9][A-Za-z0-9_.-]*$ ]] || misused "$2 $3: a name of letters, digits and _ . - only"
    export "SBATCH_$1=$3" "SLURM_$1=$3"
}
set_environment() {
    [ -z "$chosen" ] || [ "$chosen" = "$1" ] || misused "one of --image, --venv and --modules"
    chosen=$1 JOB_ENVIRONMENT=$1
}
set_own_value() {
    case $1 in
    --host) host=$2 && return ;;
    --ssh-config) ssh_config=$2 && return ;;
    --image) set_environment container && CONTAINER_IMAGE=$2 ;;
    --venv) set_environment venv && VENV_PATH=$2 ;;
    --modules) set_environment modules && MODULES=$2 ;;
    --megatron) MEGATRON_PATH=$2 ;;
    --checkpoints) CHECKPOINT_PATH=$2 ;;
    --folder) LAUNCH_PATH=$2 ;;
    --account) set_slurm ACCOUNT "$1" "$2" ;;
    --qos) set_slurm QOS "$1" "$2" ;;
    *) return 1 ;;
    esac
    words+=("$1" "$2")
}
set_own_flag() { node_check=no; }
if [ "${1:-}" = --words-of ]; then
    # Written by this script on another machine, one word after each NUL: no shell in between reads them.
    [ $# -eq 2 ] || misused "--words-of needs a file"
    received=()
    while IFS= read -r -d '' word; do received+=("$word"); done <"$2"
    rm -f "$2"
    set -- ${received[@]+"${received[@]}"}
fi
read_options "$@"

# Only these characters: the folder stands in directives of Slurm and in a command over ssh.
[[ $LAUNCH_PATH =~ $plain_path && $LAUNCH_PATH != *..* ]] ||
    misused "--folder $LAUNCH_PATH: a path of letters, digits and / . _ + - only"
[[ $LAUNCH_PATH == "$SHARED_PATH"/* ]] ||
    misused "--folder $LAUNCH_PATH is not on the shared file system, which every node mounts at $SHARED_PATH"

ask_what_is_missing
case $JOB_ENVIRONMENT in
container) check_image ;;
venv)
    if [ -n "$VENV_PATH" ]; then
        check_shared_path --venv "$VENV_PATH"
    else
        problem "no virtual environment: --venv FOLDER, with $JOB_HOLDS"
    fi
    ;;
modules) [ -n "$MODULES" ] || problem "no environment modules: --modules A,B, with $JOB_HOLDS" ;;
*) problem "job.env has JOB_ENVIRONMENT=$JOB_ENVIRONMENT, which is none of container, venv and modules" ;;
esac
check_shared_path --checkpoints "$CHECKPOINT_PATH"
[ "$JOB_ENVIRONMENT" = container ] || check_shared_path --megatron "$MEGATRON_PATH"
check_megatron_and_data
refuse

# --- From another machine -------------------------------------------------------------------------------------------

if [ -n "$host" ]; then
    [[ $host != -* ]] || misused "--host $host is not a host"
    options=()
    [ -z "$ssh_config" ] || options=(-F "$ssh_config")
    say "Copying $here to $host:$LAUNCH_PATH"
    arguments=$(mktemp -d)
    trap 'rm -rf "$arguments"' EXIT
    # Not every file that may have gathered here: a log or a checkpoint is no launch file.
    for file in "$here"/*.sh "$here"/*.sbatch "$here"/*.json "$here"/*.yaml "$here"/*.md "$here"/job.env; do
        [ ! -f "$file" ] || cp "$file" "$arguments/"
    done
    printf '%s\0' ${words[@]+"${words[@]}"} -- ${further[@]+"${further[@]}"} >"$arguments/submit-words"
    # The folder's characters were checked above; everything else travels within the archive.
    remote="umask 022; mkdir -m 1777 '$SHARED_PATH/launch' 2>/dev/null; mkdir -p '$LAUNCH_PATH'; { [ -O '$LAUNCH_PATH' ] && [ ! -L '$LAUNCH_PATH' ]; } ||"
    remote="$remote { echo '$LAUNCH_PATH is not yours: choose another one with --folder' >&2; exit 1; };"
    remote="$remote tar -xf - -C '$LAUNCH_PATH' && cd / && bash '$LAUNCH_PATH/submit.sh' --words-of '$LAUNCH_PATH/submit-words' </dev/null"
    # macOS would add files of its own.
    status=0
    # shellcheck disable=SC2029 # it is meant to be put together here
    COPYFILE_DISABLE=1 tar -cf - -C "$arguments" . | ssh ${options[@]+"${options[@]}"} "$host" "$remote" || status=$?
    [ "$status" -ne 255 ] || say "submit.sh: ssh did not reach $host; is your public key among the cluster's users?"
    exit "$status"
fi
if ! command -v sbatch >/dev/null; then
    say "submit.sh: sbatch is not on PATH: run this on the cluster's login machine, or name it with --host [USER@]HOST"
    exit 1
fi

# --- On the login machine -------------------------------------------------------------------------------------------

if [ "$(id -u)" -eq 0 ]; then
    say "submit.sh: root submits no jobs: log in as an ordinary user, whom every node knows"
    exit 1
fi
# own_folder FOLDER: nobody else's, where a script or image could be exchanged before it runs.
own_folder() { [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] && [ -w "$1" ] && [ -z "$(find "$1" -maxdepth 0 -perm -o+w)" ]; }

# Whoever comes first makes the folders that all users share, as /tmp is shared.
for folder in launch images checkpoints; do mkdir -m 1777 "$SHARED_PATH/$folder" 2>/dev/null || true; done
if [ "$here" != "$LAUNCH_PATH" ]; then
    if ! mkdir -p "$LAUNCH_PATH" 2>/dev/null; then
        problem "$LAUNCH_PATH cannot be made by $(id -un): an administrator has to make $SHARED_PATH/launch with mode 1777, or choose another folder with --folder $SHARED_PATH/launch/$JOB_NAME-$(id -un)"
    elif ! own_folder "$LAUNCH_PATH"; then
        problem "$LAUNCH_PATH is not a folder that only $(id -un) writes to: choose another one with --folder $SHARED_PATH/launch/$JOB_NAME-$(id -un)"
    fi
    refuse
    for file in "$here"/*; do
        [ ! -f "$file" ] || cp -p "$file" "$LAUNCH_PATH/"
    done
fi

if [ "$get_megatron" = yes ] && [ ! -e "$MEGATRON_PATH/pretrain_gpt.py" ]; then
    say "Fetching Megatron-LM $MEGATRON_RELEASE into $MEGATRON_PATH"
    if ! "$LAUNCH_PATH/fetch_megatron.sh" "$MEGATRON_PATH" "$MEGATRON_SOURCE" "$MEGATRON_COMMIT" >&2; then
        problem "Megatron-LM could not be fetched from $MEGATRON_SOURCE: from a network without internet, copy commit $MEGATRON_COMMIT to $MEGATRON_PATH yourself"
    fi
fi
if [[ $MEGATRON_PATH == "$SHARED_PATH"/* && ! -r $MEGATRON_PATH/pretrain_gpt.py ]]; then
    problem "there is no $MEGATRON_PATH/pretrain_gpt.py: --get-megatron fetches Megatron-LM $MEGATRON_RELEASE to there, --megatron names another folder"
fi
if [ -n "$DATA_PATH" ]; then
    for part in "$DATA_PATH.bin" "$DATA_PATH.idx"; do
        [ -r "$part" ] || problem "there is no $part: --data is the path of Megatron-LM's .bin and .idx without that ending"
    done
fi
if [[ $TOKENIZER_MODEL == /* && ! -e $TOKENIZER_MODEL ]]; then problem "there is no tokenizer $TOKENIZER_MODEL"; fi
if ! mkdir -p "$CHECKPOINT_PATH" 2>/dev/null || [ ! -w "$CHECKPOINT_PATH" ]; then
    problem "$CHECKPOINT_PATH cannot be written to by $(id -un): choose another one with --checkpoints"
fi
case $JOB_ENVIRONMENT in
container)
    if [[ $CONTAINER_IMAGE == /* && ! -r $CONTAINER_IMAGE ]]; then
        problem "there is no image $CONTAINER_IMAGE; make one with: enroot import -o $CONTAINER_IMAGE docker://REGISTRY#NAME:TAG"
    fi
    # Not through grep -q, which would end the pipe early.
    case $(srun --help 2>&1) in
    *--container-image*) ;;
    *) problem "Slurm here has no --container-image: Pyxis is not installed on this machine; install it, or use --venv or --modules" ;;
    esac
    ;;
venv)
    [ -x "$VENV_PATH/bin/torchrun" ] || problem "$VENV_PATH/bin/torchrun is missing: install PyTorch into that environment"
    ;;
esac
refuse

export JOB_ENVIRONMENT CONTAINER_IMAGE VENV_PATH MODULES MEGATRON_PATH DATA_PATH TOKENIZER_TYPE TOKENIZER_MODEL \
    LEARNING_RATE CHECKPOINT_PATH LAUNCH_PATH

# --- From a node ----------------------------------------------------------------------------------------------------

# on_a_node SECONDS OPTIONS... -- COMMAND...: what one node says; status 75 where none became free in that time.
on_a_node() {
    local patience=$1 options=() status=0
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    SLURM_EXIT_IMMEDIATE=75 srun --immediate="$patience" --partition="$JOB_PARTITION" --job-name="$JOB_NAME-check" \
        --nodes=1 --ntasks=1 --time=60 --chdir="$LAUNCH_PATH" ${options[@]+"${options[@]}"} "$@" \
        >"$LAUNCH_PATH/.check" 2>&1 || status=$?
    return "$status"
}
last_words() { grep -v node-was-here "$LAUNCH_PATH/.check" | tail -n "${1:-3}" | tr '\n' ' '; }

check_on_a_node() {
    local marker status=0
    say "Looking from a node (at most ${CHECK_WAIT_S:-300} s until one is free; --no-node-check leaves this out)"
    marker="$LAUNCH_PATH/.seen-by-$(id -un)-$$"
    printf '%s\n' "$marker" >"$marker"
    # shellcheck disable=SC2016
    on_a_node "${CHECK_WAIT_S:-300}" -- bash -c 'echo node-was-here; [ "$(cat "$1" 2>/dev/null)" = "$1" ] || exit 3
        [ -w "$2" ] || exit 4' check "$marker" "$CHECKPOINT_PATH" || status=$?
    rm -f "$marker"
    case $status in
    0) ;;
    3) problem "a node does not see $LAUNCH_PATH as this machine does: $SHARED_PATH is not the same file system there; look at: srun findmnt --target $SHARED_PATH" ;;
    4) problem "a node cannot write to $CHECKPOINT_PATH as $(id -un): the user's number is another there, or the file system is mounted for reading" ;;
    75)
        say "Not checked: no node became free. The job checks its environment itself when it starts."
        return
        ;;
    *) problem "a node could not start a command as $(id -un): $(last_words)" ;;
    esac
    refuse
    import_image
    check_software
}

# One node fetches the image once; all others read the file.
import_image() {
    local status=0 file folder source=$CONTAINER_IMAGE
    [[ $JOB_ENVIRONMENT == container && $CONTAINER_IMAGE != /* ]] || return 0
    # Each user has a folder of images: one that others can write to could hold anything under an image's name.
    folder="$SHARED_PATH/images/$(id -un)"
    mkdir -p "$folder" 2>/dev/null || true
    own_folder "$folder" || folder=$LAUNCH_PATH
    file="$folder/$(printf '%s' "$CONTAINER_IMAGE" | tr '/:@' '+++').sqsh"
    if [ ! -r "$file" ]; then
        # Enroot separates a registry from the name by #; a first part with a dot or a port is a registry.
        if [[ $source != *"#"* && $source == */* && ${source%%/*} == *[.:]* ]]; then source="${source%%/*}#${source#*/}"; fi
        say "A node fetches $CONTAINER_IMAGE into $file"
        # shellcheck disable=SC2016
        on_a_node "${CHECK_WAIT_S:-300}" --exclusive -- bash -c 'echo node-was-here
            command -v enroot >/dev/null || { echo "this node has no enroot"; exit 127; }
            enroot import --output "$1.$$" "docker://$2" && mv -f "$1.$$" "$1" && exit 0
            status=$?; rm -f "$1.$$"; exit "$status"' import "$file" "$source" || status=$?
        if [ "$status" -ne 0 ]; then
            problem "a node could not fetch $CONTAINER_IMAGE: $(last_words) Nodes without internet reach no public registry: import the image elsewhere with enroot and give the file as --image $SHARED_PATH/images/NAME.sqsh, or use a registry in this network; one that asks who you are needs ~/.config/enroot/.credentials"
            refuse
        fi
    fi
    CONTAINER_IMAGE=$file
    export CONTAINER_IMAGE
}

check_software() {
    local status=0 options=()
    if [ "$JOB_ENVIRONMENT" = container ]; then
        options=("--container-image=$CONTAINER_IMAGE" "--container-mounts=$SHARED_PATH:$SHARED_PATH" --no-container-mount-home)
    fi
    # shellcheck disable=SC2016
    on_a_node "${CHECK_WAIT_S:-300}" ${options[@]+"${options[@]}"} -- bash -c 'echo node-was-here
        case $JOB_ENVIRONMENT in
        venv) . "$VENV_PATH/bin/activate" ;;
        modules)
            for script in /etc/profile.d/lmod.sh /etc/profile.d/z00_lmod.sh /etc/profile.d/modules.sh; do
                if ! command -v module >/dev/null && [ -r "$script" ]; then . "$script"; fi
            done
            if [ -d "$1/software/modulefiles" ]; then module use "$1/software/modulefiles"; fi
            IFS=", " read -ra names <<<"$MODULES"
            for name in "${names[@]}"; do module load "$name" || { echo "module load $name failed"; exit 1; }; done
            ;;
        esac
        command -v torchrun >/dev/null || echo "missing: torchrun"
        [ -r "$MEGATRON_PATH/pretrain_gpt.py" ] || echo "missing: $MEGATRON_PATH/pretrain_gpt.py"
        if command -v python3 >/dev/null; then
            python3 -c "import importlib.util, sys
for name in sys.argv[1:]:
    if importlib.util.find_spec(name) is None: print(\"missing: Python package\", name)" $2
        else
            echo "missing: python3"
        fi' check "$SHARED_PATH" "$JOB_PACKAGES" || status=$?
    if [ "$status" -eq 75 ]; then
        say "Not checked: what the environment holds; no node became free. The job looks itself when it starts."
    elif [ "$status" -ne 0 ]; then
        problem "the environment does not start on a node: $(last_words 5)"
    else
        while IFS= read -r line; do problem "${line#missing: } is not in the job's environment ($JOB_ENVIRONMENT), which has to hold $JOB_HOLDS"; done \
            < <(grep '^missing: ' "$LAUNCH_PATH/.check")
    fi
    refuse
}

if [ "$node_check" = yes ]; then check_on_a_node; fi
rm -f "$LAUNCH_PATH/.check"
if [ "$check_only" = yes ]; then
    if ! said=$(sbatch --test-only --export=ALL --chdir="$LAUNCH_PATH" "$LAUNCH_PATH/train.sbatch" ${further[@]+"${further[@]}"} 2>&1); then
        problem "Slurm would not start the job now: $said"
        refuse
    fi
    say "Everything that was checked is there; nothing was submitted."
    exit 0
fi

# Options before the script win over its directives; the environment carries what was chosen above.
job=$(sbatch --parsable --export=ALL --chdir="$LAUNCH_PATH" --output="$LAUNCH_PATH/%x-%j.log" "$LAUNCH_PATH/train.sbatch" ${further[@]+"${further[@]}"})
job=${job%%;*}
say "Submitted; squeue --job $job shows where it is, scancel $job ends it. It saves and starts again where it stopped."
printf 'job %s\nlog %s\ncheckpoints %s\n' "$job" "$LAUNCH_PATH/$JOB_NAME-$job.log" "$CHECKPOINT_PATH"
