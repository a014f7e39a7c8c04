# shellcheck shell=bash
# What cluster.sh needs to know of Azure. It is sourced: `say`, `fail`, `run`, `output` and `configured` are cluster.sh's.

for part in reimage.sh login.sh api_tunnel.sh; do
  # shellcheck source=/dev/null
  if [ -f "$part" ]; then . "./$part"; fi
done

require_credentials() {
  command -v az >/dev/null || {
    say "az is not on PATH: install the Azure command line"
    return 1
  }
  az account show --output none 2>/dev/null || {
    say "az has no valid login: az login"
    return 1
  }
}

# What the subscription may have of a quota in the cluster's place.
quota_limit() {
  az vm list-usage --location "$(configured foundation azure-gpu-foundation:location)" \
    --query "[?name.value=='$1'].limit" --output tsv
}

current_account() { az account show --query id --output tsv; }

# The resource groups of a cluster of this name in this place, by their tag.
resources_of_that_name() {
  az group list --tag "gpu-cluster=$(configured foundation azure-gpu-foundation:clusterName)" \
    --query "[?location=='$(configured foundation azure-gpu-foundation:location)'].id" --output tsv
}

# Everything that Azure still has of this cluster, by its tag; what stays on purpose is protected or recoverable.
show_leftovers() {
  local name left
  name=$(configured foundation azure-gpu-foundation:clusterName)
  left=$(az resource list --tag "gpu-cluster=$name" --query '[].id' --output tsv) || return 0
  if [ -z "$left" ]; then
    say "Azure has no resource of $name any more."
  else
    say "Azure still has, and bills, these resources of $name:"
    say "$left"
  fi
  left=$(az keyvault list-deleted --resource-type vault \
    --query "[?properties.tags.\"gpu-cluster\"=='$name'].name" --output tsv) || return 0
  if [ -n "$left" ]; then
    say "Deleted vaults that can be recovered for 90 days, without cost:"
    say "$left"
  fi
}
