#!/usr/bin/env bash
# Asks the metadata service every few seconds whether the cloud takes this spot machine back. Once it does, the node takes
# no further job, its jobs get SIGTERM, so that they have the notice (AWS 2 min, Azure and GCP 30 s) to save, and go
# back into the queue.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=environment.sh
. "$here/environment.sh"

get() { curl --silent --fail --max-time 5 "$@"; }

# taken_back: succeeds once the notice is there. An answer that cannot be had is no notice.
taken_back() {
    local token events
    case "$CLUSTER_CLOUD" in
    aws)
        local metadata="${CLUSTER_METADATA_URL:-http://169.254.169.254}"
        token="$(get --request PUT --header 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$metadata/latest/api/token")" ||
            return 1
        # 404 until there is a notice.
        get --header "X-aws-ec2-metadata-token: $token" "$metadata/latest/meta-data/spot/instance-action" >/dev/null
        ;;
    azure)
        events="$(get --header 'Metadata: true' \
            "${CLUSTER_METADATA_URL:-http://169.254.169.254}/metadata/scheduledevents?api-version=2020-07-01")" || return 1
        grep -q '"Preempt"' <<<"$events"
        ;;
    gcp)
        [ "$(get --header 'Metadata-Flavor: Google' \
            "${CLUSTER_METADATA_URL:-http://metadata.google.internal}/computeMetadata/v1/instance/preempted")" = TRUE ]
        ;;
    *) [ -e "${CLUSTER_INTERRUPTION_FILE:-/run/gpu-cluster/interruption}" ] ;;
    esac
}

restarts() { scontrol show job "$1" -o | grep --only-matching 'Restarts=[0-9]*'; }
is_running() { [ "$(squeue --noheader --jobs="$1" --format=%T 2>/dev/null)" = RUNNING ]; }

# Ends one job in order and queues it again, unless the notice of another of its nodes has done so already.
hand_back() {
    local job="$1" before deadline=$((SECONDS + ${CLUSTER_SAVE_WITHIN_S:-25}))
    before="$(restarts "$job")"
    scancel --signal=TERM "$job" || return 0
    while is_running "$job" && [ "$SECONDS" -lt "$deadline" ]; do sleep 0.5; done
    if [ "$(restarts "$job")" = "$before" ]; then scontrol requeue "$job" || say "job $job cannot be queued again"; fi
}

name="$(node_name)"
until taken_back; do sleep "${CLUSTER_INTERRUPTION_POLL_S:-5}"; done
say "the cloud takes this machine back"
scontrol update nodename="$name" state=drain reason="spot: taken back by the cloud"
for job in $(squeue --noheader --nodelist="$name" --states=RUNNING --format=%A); do hand_back "$job" & done
wait
# A daemon that ended would be started again.
exec sleep infinity
