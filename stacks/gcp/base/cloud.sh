# shellcheck shell=bash
# What cluster.sh needs to know of Google Cloud. It is sourced: `say`, `fail`, `run`, `output` and `configured` are
# cluster.sh's.

for part in reimage.sh login.sh; do
  # shellcheck source=/dev/null
  if [ -f "$part" ]; then . "./$part"; fi
done

require_credentials() {
  command -v gcloud >/dev/null || {
    say "gcloud is not on PATH: install the Google Cloud command line"
    return 1
  }
  gcloud auth print-access-token --quiet >/dev/null 2>&1 || {
    say "gcloud has no login: gcloud auth login"
    return 1
  }
  has_default_credentials || {
    say "Pulumi finds no login of Google Cloud, and does not use gcloud's own: gcloud auth application-default login"
    return 1
  }
}

# The provider of Pulumi takes these, in its order: variables, what the configuration names, a file of gcloud's.
has_default_credentials() {
  [ -z "${GOOGLE_CREDENTIALS:-}${GOOGLE_CLOUD_KEYFILE_JSON:-}${GOOGLE_OAUTH_ACCESS_TOKEN:-}${GOOGLE_APPLICATION_CREDENTIALS:-}" ] || return 0
  # cluster.sh's.
  # shellcheck disable=SC2154
  ! grep -Eq '^  gcp:(credentials|accessToken):' "foundation/Pulumi.$stack.yaml" || return 0
  gcloud auth application-default print-access-token --quiet >/dev/null 2>&1
}

# What the project may have of a quota in the cluster's region; quotas of a family of machines are not in that list.
quota_limit() {
  # Where the project has no Compute API yet, gcloud would ask whether to switch it on, and nobody would see that.
  gcloud compute regions describe "$(configured foundation gcp:region)" --project "$(configured foundation gcp:project)" --quiet \
    --flatten 'quotas[]' --format 'csv[no-heading](quotas.metric,quotas.limit)' | sed -n "s/^$1,//p"
}

current_account() { configured foundation gcp:project; }

# Networks of a cluster of this name, which go by the name, and its buckets in this place, by their label.
resources_of_that_name() {
  local name project services
  name=$(configured foundation gcp-gpu-foundation:clusterName)
  project=$(configured foundation gcp:project)
  if services=$(gcloud services list --enabled --project "$project" --format 'value(config.name)' --quiet 2>/dev/null) &&
    [ -n "$services" ] && ! grep -qx compute.googleapis.com <<<"$services"; then
    say "Project $project is new: its Compute API is off, and \`up\` switches it on. Its quota can be asked for only then."
    return 0
  fi
  gcloud compute networks list --project "$project" --filter "name~^$name-" --format 'value(selfLink)' --quiet
  gcloud storage buckets list --project "$project" --format 'value(storage_url)' --quiet \
    --filter "labels.gpu-cluster=$name AND location=$(configured foundation gcp:region | tr '[:lower:]' '[:upper:]')"
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
