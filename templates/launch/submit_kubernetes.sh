#!/usr/bin/env bash
# Checks what the training job needs, sets image and data, and submits it with kubectl, as the user whom that logs in.
# Status: 1 = refused, every reason is printed; 2 = wrong usage.
# Bash 3.2 of macOS takes an empty array for an unset variable: hence ${name[@]+...} where one may be empty.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: ./submit.sh [OPTIONS] [-- ARGUMENTS OF MEGATRON-LM]

  --image IMAGE           container image: REGISTRY/NAME:TAG
  --data PATH             tokenised data: Megatron-LM's .bin and .idx without that ending; made-up tokens without it
  --tokenizer WHAT        folder on the shared volume, or a name of Hugging Face
  --tokenizer-type TYPE   as Megatron-LM has them (HuggingFaceTokenizer)
  --lr RATE               peak learning rate, for example 6e-5
  --check                 check everything, and submit nothing
  --yes                   ask nothing; without a terminal nothing is asked anyway
TEXT
}

say() { printf '%s\n' "$*" >&2; }
misused() {
    say "submit.sh: $*"
    exit 2
}
problems=()
problem() { problems+=("$1"); }
refuse() {
    [ -n "${problems[*]-}" ] || return 0
    say "Nothing was submitted:"
    printf '  - %s\n' "${problems[@]}" >&2
    exit 1
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -r "$here/job.env" ] || misused "$here/job.env is missing: submit.sh belongs into the folder of launch files"
# shellcheck source=/dev/null
. "$here/job.env"
check_only=no asks=yes
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        usage
        exit 0
        ;;
    --image | --data | --tokenizer | --tokenizer-type | --lr)
        [ $# -gt 1 ] && [ -n "$2" ] || misused "$1 needs a value"
        case $1 in
        --image) CONTAINER_IMAGE=$2 ;;
        --data) DATA_PATH=$2 ;;
        --tokenizer) TOKENIZER_MODEL=$2 ;;
        --tokenizer-type) TOKENIZER_TYPE=$2 ;;
        --lr) LEARNING_RATE=$2 ;;
        esac
        shift
        ;;
    --check) check_only=yes ;;
    --yes) asks=no ;;
    --)
        shift
        break
        ;;
    *)
        usage >&2
        misused "$1 is not an option"
        ;;
    esac
    shift
done

if [ "$asks" = yes ] && [ -t 0 ] && [ -t 2 ] && [ -z "$CONTAINER_IMAGE" ]; then
    say "The job runs in a container image with $JOB_HOLDS."
    IFS= read -r -p "Image (REGISTRY/NAME:TAG): " CONTAINER_IMAGE </dev/tty || true
fi

name='[a-z0-9]+([._-]+[a-z0-9]+)*' host='[A-Za-z0-9.-]+(:[0-9]+)?'
reference="^($host/)?$name(/$name)*(:[A-Za-z0-9_][A-Za-z0-9._-]*)?(@sha256:[0-9a-f]{64})?\$"
if [ -z "$CONTAINER_IMAGE" ]; then
    problem "no container image: --image REGISTRY/NAME:TAG, with $JOB_HOLDS. Megatron-LM's own releases are tested on $MEGATRON_IMAGE, which has all but what pip adds to it (README.md)"
elif ! [[ $CONTAINER_IMAGE =~ $reference ]]; then
    problem "--image $CONTAINER_IMAGE is not the name of an image: REGISTRY/NAME:TAG; pods read no squash file"
elif ! [[ ${CONTAINER_IMAGE##*/} == *[:@]* ]] || [[ $CONTAINER_IMAGE == *:latest ]]; then
    problem "--image $CONTAINER_IMAGE names no version, so a restarted pod could find another image: add a tag or digest"
fi
has_learning_rate() {
    local word
    [ -z "$LEARNING_RATE" ] || return 0
    for word in "$@"; do case $word in --lr | --lr=*) return 0 ;; esac done
    return 1
}
if [ -n "$DATA_PATH" ]; then
    [[ $DATA_PATH == "$SHARED_PATH"/* ]] || problem "--data $DATA_PATH is not on the shared volume, which pods mount at $SHARED_PATH"
    [ -n "$TOKENIZER_MODEL" ] || problem "--data without --tokenizer: name the tokenizer that made it"
    has_learning_rate "$@" || problem "--data without --lr: the plan does not decide the learning rate; for example --lr 6e-5"
fi
if [[ $TOKENIZER_MODEL == /* && $TOKENIZER_MODEL != "$SHARED_PATH"/* ]]; then
    problem "--tokenizer $TOKENIZER_MODEL is not on the shared volume, which pods mount at $SHARED_PATH"
fi
if [ -n "$LEARNING_RATE" ] && ! [[ $LEARNING_RATE =~ ^[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?$ ]]; then
    problem "--lr $LEARNING_RATE is not a number"
fi
refuse

command -v kubectl >/dev/null || {
    say "submit.sh: kubectl is not on PATH: install it, and log in as README.md says"
    exit 1
}
on() { kubectl --namespace "$JOB_NAMESPACE" "$@"; }
if ! said=$(kubectl version --request-timeout 20s 2>&1); then
    problem "kubectl does not reach the cluster: $said"
    refuse
fi
on get persistentvolumeclaim shared >/dev/null 2>&1 ||
    problem "namespace $JOB_NAMESPACE has no volume claim shared: bring the cluster layer up"
on get localqueue "$JOB_QUEUE" >/dev/null 2>&1 ||
    problem "namespace $JOB_NAMESPACE has no queue $JOB_QUEUE: kubectl apply -f $QUEUE_MANIFEST"
if on get job "$JOB_NAME" >/dev/null 2>&1; then
    problem "there is a job $JOB_NAME already; its checkpoints stay when it goes: kubectl -n $JOB_NAMESPACE delete job $JOB_NAME"
fi
grep -q "image: $UNSET_IMAGE\$" "$here/$JOB_MANIFEST" || problem "$here/$JOB_MANIFEST has no line \"image: $UNSET_IMAGE\""
refuse

further=''
for word in "$@"; do further="$further $(printf '%q' "$word")"; done
# The image's characters were checked above; everything else goes through kubectl, which quotes it.
job=$(sed "s#image: $UNSET_IMAGE\$#image: \"$CONTAINER_IMAGE\"#" "$here/$JOB_MANIFEST")
settings=$(on create configmap "$JOB_NAME-settings" --dry-run=client --output yaml \
    --from-literal "DATA_PATH=$DATA_PATH" --from-literal "TOKENIZER_TYPE=$TOKENIZER_TYPE" \
    --from-literal "TOKENIZER_MODEL=$TOKENIZER_MODEL" --from-literal "LEARNING_RATE=$LEARNING_RATE" \
    --from-literal "FURTHER_ARGUMENTS=$further")
if [ "$check_only" = yes ]; then
    # The API server reads it as it would to keep it.
    printf '%s\n---\n%s\n' "$settings" "$job" | on apply --dry-run=server --filename - >&2
    say "Everything that was checked is there; nothing was submitted."
    exit 0
fi
printf '%s\n---\n%s\n' "$settings" "$job" | on apply --filename - >&2
say "Submitted; the queue starts it when all of its nodes are free: kubectl -n $JOB_NAMESPACE get workloads"
printf 'job %s\nlog kubectl -n %s logs -f -l job-name=%s --prefix\ncheckpoints %s\n' \
    "$JOB_NAME" "$JOB_NAMESPACE" "$JOB_NAME" "$CHECKPOINT_PATH"
