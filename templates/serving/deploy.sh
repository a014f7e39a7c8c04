#!/usr/bin/env bash
# Checks what the service needs, sets images and the place of the model, and applies the manifests beside this file.
# Status: 1 = refused, every reason is printed; 2 = wrong usage.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -r "$here/deploy.env" ] || {
    echo "deploy.sh: $here/deploy.env is missing: deploy.sh belongs into the folder of serving" >&2
    exit 2
}
# shellcheck source=/dev/null
. "$here/deploy.env"

image='' model='' fetch_image='' prometheus='' gateway_class='' picker_image='' router_image='' check_only=no
problems=()
say() { printf '%s\n' "$*" >&2; }
problem() { problems+=("$1"); }
misused() {
    say "deploy.sh: $*"
    exit 2
}
# Names of the router of two pools, and bounds of the pool that prefills: there alone.
: "${ROUTER_NAME:=}" "${PREFILL_FEWEST:=}" "${PREFILL_MOST:=}"
between() { if [ "$1" = "$2" ]; then echo "$1"; else echo "from $1 to $2"; fi; }
bounds="$(between "$FEWEST" "$MOST") replicas" always=$MOST
[ -z "$ROUTER_NAME" ] || {
    bounds="$(between "$PREFILL_FEWEST" "$PREFILL_MOST") workers that prefill and $(between "$FEWEST" "$MOST") that decode"
    always="$PREFILL_MOST and $MOST"
}
usage() {
    cat <<TEXT
usage: ./deploy.sh --image IMAGE --model SOURCE [OPTIONS]

  --image IMAGE          $ENGINE_NAME: REGISTRY/NAME@sha256:DIGEST, so that every replica runs the same
  --model SOURCE         $MODEL_FORMS
  --fetch-image IMAGE    rclone, for object stores: REGISTRY/NAME@sha256:DIGEST
  --prometheus URL       lets KEDA keep $bounds; without it there are always $always
  --gateway CLASS        a gateway of this class that picks the replica with the least load; needs --picker-image
  --picker-image IMAGE   the endpoint picker of the inference extension: REGISTRY/NAME@sha256:DIGEST
  --check                check everything, and apply nothing
TEXT
    [ -z "$ROUTER_NAME" ] || echo "  --router-image IMAGE   $ROUTER_NAME: REGISTRY/NAME@sha256:DIGEST"
}

while [ $# -gt 0 ]; do
    case $1 in
    --image | --model | --fetch-image | --prometheus | --gateway | --picker-image | --router-image)
        [ $# -gt 1 ] && [ -n "$2" ] || misused "$1 needs a value"
        case $1 in
        --image) image=$2 ;;
        --model) model=$2 ;;
        --fetch-image) fetch_image=$2 ;;
        --prometheus) prometheus=$2 ;;
        --gateway) gateway_class=$2 ;;
        --picker-image) picker_image=$2 ;;
        --router-image) router_image=$2 ;;
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

check_image() {
    local name='[a-z0-9]+([._-]+[a-z0-9]+)*' host='[A-Za-z0-9.-]+(:[0-9]+)?'
    local reference="^($host/)?$name(/$name)*(:[A-Za-z0-9_][A-Za-z0-9._-]*)?(@sha256:[0-9a-f]{64})?\$"
    if [ -z "$2" ]; then
        problem "no image: $1 REGISTRY/NAME@sha256:DIGEST, $3"
    elif ! [[ $2 =~ $reference ]]; then
        problem "$1 $2 is not the name of an image: REGISTRY/NAME@sha256:DIGEST"
    elif [[ $2 != *@sha256:* ]]; then
        problem "$1 $2 has no digest, so two replicas could run different images: add @sha256:, as your registry shows it"
    fi
}

[ -z "${UNKNOWN_ENGINE:-}" ] || problem "$UNKNOWN_ENGINE"
check_image --image "$image" "with $ENGINE_NAME"
[ -z "$ROUTER_NAME" ] || check_image --router-image "$router_image" "with $ROUTER_NAME"
from_network=no
case $model in
'') problem "no model: --model $MODEL_FORMS" ;;
"$SHARED_PATH"/*) [ -n "$CLAIM" ] || problem "--model $model: this cluster has no shared file system; name an object store" ;;
hf://*/*@*)
    [[ $model =~ ^hf://[A-Za-z0-9._-]+/[A-Za-z0-9._-]+@[0-9a-f]{40}$ ]] ||
        problem "--model $model names no commit: hf://ORG/NAME@ and the 40 digits of a commit, so that weights stay as they are"
    from_network=yes
    ;;
s3://?* | gs://?* | az://?*)
    from_network=yes
    check_image --fetch-image "$fetch_image" "with rclone, which reads object stores"
    ;;
*) problem "--model $model is not one of $MODEL_FORMS" ;;
esac
case $model in s3://* | gs://* | az://*) ;; *) fetch_image=$image ;; esac
if [ -n "$prometheus" ] && ! [[ $prometheus =~ ^https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._/-]*)?$ ]]; then
    problem "--prometheus $prometheus is not an address: http://HOST:PORT"
fi
if [ -n "$gateway_class" ]; then
    [[ $gateway_class =~ ^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$ ]] || problem "--gateway $gateway_class is not the name of a class"
    [ -n "$ROUTER_NAME" ] || check_image --picker-image "$picker_image" "the endpoint picker of the inference extension"
fi

refuse() {
    [ -n "${problems[*]-}" ] || return 0
    say "Nothing was applied:"
    printf '  - %s\n' "${problems[@]}" >&2
    exit 1
}
refuse

# In a cloud's project the API server is reached through cluster.sh, which opens the way.
kubectl=(kubectl)
[ ! -x "$here/../cluster.sh" ] || kubectl=("$here/../cluster.sh" kubectl)
command -v "${kubectl[0]}" >/dev/null || misused "kubectl is not on PATH: install it, and log in to the cluster"
on() { "${kubectl[@]}" --namespace "$NAMESPACE" "$@"; }
if ! said=$(on version --request-timeout 20s 2>&1); then
    problem "kubectl does not reach the cluster: $said"
    refuse
fi
[ -z "$CLAIM" ] || on get persistentvolumeclaim "$CLAIM" >/dev/null 2>&1 ||
    problem "namespace $NAMESPACE has no volume claim $CLAIM: bring the cluster up first"
needs() { on get customresourcedefinition "$1" >/dev/null 2>&1 || problem "the cluster has no $1: install $2"; }
[ "$WORKLOAD_KIND" = Deployment ] || needs leaderworkersets.leaderworkerset.x-k8s.io "LeaderWorkerSet (README.md)"
[ -z "$prometheus" ] || needs scaledobjects.keda.sh "KEDA (README.md)"
if [ -n "$gateway_class" ]; then
    needs gateways.gateway.networking.k8s.io "Gateway API (README.md)"
    [ -n "$ROUTER_NAME" ] || needs inferencepools.inference.networking.k8s.io "its inference extension (README.md)"
fi
refuse

# What goes into the manifests was checked above character by character; the model's place goes through kubectl.
settings=$(on create configmap "$SERVICE-settings" --dry-run=client --output yaml --from-literal "MODEL_SOURCE=$model")
files=("$here/replicas.yaml" "$here/service.yaml")
[ "$from_network" = no ] || files+=("$here/fetch.yaml")
[ -z "$ROUTER_NAME" ] || files+=("$here/router.yaml")
[ -z "$prometheus" ] || files+=("$here/scaling.yaml")
[ -z "$gateway_class" ] || files+=("$here/gateway.yaml")
manifests=$(for file in "${files[@]}"; do
    printf -- '---\n'
    cat "$file"
done | sed \
    -e "s#FETCH-IMAGE-IS-NOT-SET#\"$fetch_image\"#" -e "s#PICKER-IMAGE-IS-NOT-SET#\"$picker_image\"#" \
    -e "s#ROUTER-IMAGE-IS-NOT-SET#\"$router_image\"#" \
    -e "s#image: IMAGE-IS-NOT-SET#image: \"$image\"#" -e "s#PROMETHEUS-IS-NOT-SET#\"$prometheus\"#" \
    -e "s#gateway-class-is-not-set#\"$gateway_class\"#")
words=(apply --server-side --filename -)
[ "$check_only" = no ] || words=(apply --server-side --dry-run=server --filename -)
printf '%s\n---\n%s\n' "$settings" "$manifests" | on "${words[@]}" >&2
if [ "$check_only" = yes ]; then
    say "Everything that was checked is there, and the API server takes the manifests; nothing was applied."
    exit 0
fi
say "Applied; replicas answer once their weights are read: ${kubectl[*]} -n $NAMESPACE get pods -l app.kubernetes.io/name=$SERVICE"
printf 'service http://%s.%s\n' "$SERVICE" "$NAMESPACE"
