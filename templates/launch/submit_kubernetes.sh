#!/usr/bin/env bash
# Checks what the training job needs, sets image and data, and submits it with kubectl, as the user whom that logs in.
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

OWN_USAGE='' OWN_VALUES='' OWN_FLAGS=''
IMAGE_FORMS=REGISTRY/NAME:TAG
IMAGE_FILES=no
SHARED_BY="the shared volume, which pods mount"
MEGATRON_SETTING=cluster.jobs.megatron
# Pods have no other environment than their image.
JOB_ENVIRONMENT=container
set_own_value() { false; }
set_own_flag() { false; }

read_options "$@"
ask_what_is_missing
check_image
check_megatron_and_data
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
grep -q "image: $UNSET_IMAGE\$" "$here/$JOB_MANIFEST" || problem "$here/$JOB_MANIFEST has no line \"image: $UNSET_IMAGE\""
refuse

quoted=''
for word in ${further[@]+"${further[@]}"}; do quoted="$quoted $(printf '%q' "$word")"; done
# The image's characters were checked above; everything else goes through kubectl, which quotes it.
job=$(sed "s#image: $UNSET_IMAGE\$#image: \"$CONTAINER_IMAGE\"#" "$here/$JOB_MANIFEST")
settings=$(on create configmap "$JOB_NAME-settings" --dry-run=client --output yaml \
    --from-literal "DATA_PATH=$DATA_PATH" --from-literal "TOKENIZER_TYPE=$TOKENIZER_TYPE" \
    --from-literal "TOKENIZER_MODEL=$TOKENIZER_MODEL" --from-literal "LEARNING_RATE=$LEARNING_RATE" \
    --from-literal "FURTHER_ARGUMENTS=$quoted" --from-literal "GET_MEGATRON=$get_megatron")
if [ "$check_only" = yes ]; then
    # The API server reads it as it would to keep it.
    printf '%s\n---\n%s\n' "$settings" "$job" | on apply --dry-run=server --filename - >&2
    say "Everything that was checked is there; nothing was submitted."
    exit 0
fi
printf '%s\n---\n%s\n' "$settings" "$job" | on apply --filename - >&2
say "Submitted; the queue starts it when all of its nodes are free: $kubectl -n $JOB_NAMESPACE get workloads"
printf 'job %s\nlog %s -n %s logs -f -l job-name=%s --prefix\ncheckpoints %s\n' \
    "$JOB_NAME" "$kubectl" "$JOB_NAMESPACE" "$JOB_NAME" "$CHECKPOINT_PATH"
