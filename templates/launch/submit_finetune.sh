#!/usr/bin/env bash
# Checks what the fine-tuning job needs, sets image, model and data, and submits it with kubectl, as whom that logs in.
# Status: 1 = refused, every reason is printed; 2 = wrong usage.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -r "$here/job.env" ] || {
    echo "submit.sh: $here/job.env is missing: submit.sh belongs into the folder of launch files" >&2
    exit 2
}
# shellcheck source=/dev/null
. "$here/job.env"
# Only plans of runs that generate answers have a reward.
: "${JOB_REWARDED:=no}"

check_only=no
problems=()
say() { printf '%s\n' "$*" >&2; }
problem() { problems+=("$1"); }
misused() {
    say "submit.sh: $*"
    exit 2
}
usage() {
    cat <<TEXT
usage: ./submit.sh [OPTIONS]

  --image IMAGE   container image: REGISTRY/NAME:TAG, with $JOB_HOLDS
  --model WHERE   base weights: a folder of the shared volume, or a name of Hugging Face ($MODEL_PATH)
  --data WHERE    data set: a folder of the shared volume, or a name of Hugging Face
  --lr RATE       peak learning rate; README.md has one to begin with
  --check         check everything, and submit nothing
TEXT
    [ "$JOB_REWARDED" = no ] || echo "  --reward NAMES  functions that reward an answer: accuracy_reward or others of TRL, or module.function; commas between"
}
while [ $# -gt 0 ]; do
    case $1 in
    --image | --model | --data | --lr | --reward)
        [ $# -gt 1 ] && [ -n "$2" ] || misused "$1 needs a value"
        case $1 in
        --image) CONTAINER_IMAGE=$2 ;;
        --model) MODEL_PATH=$2 ;;
        --data) DATA_PATH=$2 ;;
        --lr) LEARNING_RATE=$2 ;;
        --reward)
            [ "$JOB_REWARDED" = yes ] || misused "--reward is for runs that generate answers, and this one does not"
            REWARD=$2
            ;;
        esac
        shift 2
        ;;
    --check)
        check_only=yes
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        misused "$1 is not an option"
        ;;
    esac
done

refuse() {
    [ -n "${problems[*]-}" ] || return 0
    say "Nothing was submitted:"
    printf '  - %s\n' "${problems[@]}" >&2
    exit 1
}
name='[a-z0-9]+([._-]+[a-z0-9]+)*' host='[A-Za-z0-9.-]+(:[0-9]+)?'
reference="^($host/)?$name(/$name)*(:[A-Za-z0-9_][A-Za-z0-9._-]*)?(@sha256:[0-9a-f]{64})?\$"
if [ -z "$CONTAINER_IMAGE" ]; then
    problem "no container image: --image REGISTRY/NAME:TAG, with $JOB_HOLDS"
elif ! [[ $CONTAINER_IMAGE =~ $reference ]]; then
    problem "--image $CONTAINER_IMAGE is not the name of an image: REGISTRY/NAME:TAG"
elif ! [[ ${CONTAINER_IMAGE##*/} == *[:@]* ]] || [[ $CONTAINER_IMAGE == *:latest ]]; then
    problem "--image $CONTAINER_IMAGE names no version, so a restarted job could find another image: add a tag or digest"
fi
[ -n "$DATA_PATH" ] || problem "no data: --data, a folder of the shared volume or a name of Hugging Face"
rate='^[0-9]+(\.[0-9]+)?([eE]-?[0-9]+)?$'
if [ -z "$LEARNING_RATE" ]; then
    problem "no learning rate: --lr, as in README.md"
elif ! [[ $LEARNING_RATE =~ $rate ]]; then
    problem "--lr $LEARNING_RATE is not a number such as 1e-4"
fi
if [ "$JOB_REWARDED" = yes ]; then
    if [ -z "$REWARD" ]; then
        problem "no reward: --reward, for example accuracy_reward"
    elif ! [[ $REWARD =~ $REWARD_PATTERN ]]; then
        problem "--reward $REWARD is no name of a function such as accuracy_reward or rewards.exact"
    fi
fi
refuse

command -v kubectl >/dev/null || {
    say "submit.sh: kubectl is not on PATH: install it, and log in as README.md says"
    exit 1
}
# What the user is told to type: `cluster.sh kubectl` where that reaches the API server.
kubectl=${KUBECTL_SHOWN:-kubectl}
on() { kubectl --namespace "$JOB_NAMESPACE" "$@"; }
if ! said=$(kubectl version --request-timeout 20s 2>&1); then
    problem "kubectl does not reach the cluster: $said"
    refuse
fi
on get persistentvolumeclaim shared >/dev/null 2>&1 ||
    problem "namespace $JOB_NAMESPACE has no volume claim shared: bring the cluster layer up"
on get localqueue "$JOB_QUEUE" >/dev/null 2>&1 ||
    problem "namespace $JOB_NAMESPACE has no queue $JOB_QUEUE: $kubectl apply -f $QUEUE_MANIFEST"
if on get job "$JOB_NAME" >/dev/null 2>&1; then
    problem "there is a job $JOB_NAME already; its checkpoints stay when it goes: $kubectl -n $JOB_NAMESPACE delete job $JOB_NAME"
fi
refuse

# The image's characters were checked above; everything else goes through kubectl, which quotes it.
job=$(sed "s#image: $UNSET_IMAGE\$#image: \"$CONTAINER_IMAGE\"#" "$here/$JOB_MANIFEST")
settings=$(on create configmap "$JOB_NAME-settings" --dry-run=client --output yaml \
    --from-literal "MODEL_PATH=$MODEL_PATH" --from-literal "DATA_PATH=$DATA_PATH" \
    --from-literal "CHECKPOINT_PATH=$CHECKPOINT_PATH" --from-literal "LEARNING_RATE=$LEARNING_RATE" \
    ${REWARD:+--from-literal "REWARD=$REWARD"})
words=(apply --filename -)
[ "$check_only" = no ] || words=(apply --dry-run=server --filename -)
printf '%s\n---\n%s\n' "$settings" "$job" | on "${words[@]}" >&2
if [ "$check_only" = yes ]; then
    say "Everything that was checked is there, and the API server takes the job; nothing was submitted."
    exit 0
fi
say "Submitted; the queue starts it when all of its nodes are free: $kubectl -n $JOB_NAMESPACE get workloads"
printf 'job %s\nlog %s -n %s logs -f -l job-name=%s --prefix\ncheckpoints %s\n' \
    "$JOB_NAME" "$kubectl" "$JOB_NAMESPACE" "$JOB_NAME" "$CHECKPOINT_PATH"
