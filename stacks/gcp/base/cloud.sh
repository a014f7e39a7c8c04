# shellcheck shell=bash
# What cluster.sh needs to know of Google Cloud. It is sourced: `say`, `fail`, `run`, `output` and `configured` are
# cluster.sh's.

if [ -f reimage.sh ]; then
  # shellcheck source=/dev/null
  . ./reimage.sh
fi

require_credentials() {
  command -v gcloud >/dev/null || {
    say "gcloud is not on PATH: install the Google Cloud command line"
    return 1
  }
  gcloud auth print-access-token --quiet >/dev/null 2>&1
}

# Google refuses to delete a bucket with objects in it, old versions included. A bucket that was there before is left
# alone: it is not in the foundation's state.
allow_deleting_data() {
  local bucket
  # Not grep -q: it ends early, and with pipefail what pulumi had left to say would pass for a failure.
  # shellcheck disable=SC2154
  pulumi -C foundation stack --stack "$stack_name" --show-urns | grep 'gcp:storage/bucket:Bucket' >/dev/null || return 0
  bucket=$(output foundation bucket_name)
  if [ -n "$(gcloud storage ls --all-versions "gs://$bucket/**" 2>/dev/null | head -n 1)" ]; then
    run gcloud storage rm --recursive --all-versions "gs://$bucket/**"
  fi
}

# Everything that Google still has of this cluster. Networks and firewalls have no labels, so they go by the name.
show_leftovers() {
  local name project kind left
  name=$(configured foundation gcp-gpu-foundation:clusterName)
  project=$(configured foundation gcp:project)
  for kind in firewall-rules networks routers addresses instance-templates resource-policies; do
    left=$(gcloud compute "$kind" list --project "$project" --filter "name~^$name-" --format 'value(name)') || return 0
    if [ -n "$left" ]; then
      say "Google still has these ${kind} of $name:"
      say "$left"
    fi
  done
  for kind in instances disks; do
    left=$(gcloud compute "$kind" list --project "$project" --filter "labels.gpu-cluster=$name" \
      --format 'value(name)') || return 0
    if [ -n "$left" ]; then
      say "Google still has, and bills, these ${kind} of $name:"
      say "$left"
    fi
  done
  say "Key rings cannot be deleted; they are free of charge. The peering to Google's services may stay for some hours."
}
