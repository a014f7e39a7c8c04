#!/usr/bin/env bash
# Brings the layers of this cluster up and down in the right order; every step is a plain `pulumi` command that is shown,
# a secret's value aside.
# Bash 3.2 of macOS takes an empty array for an unset variable: hence ${name[@]+...} where one may be empty.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly LAYERS=(foundation cluster nodes)
# Keys that make the cloud itself refuse a deletion, where a layer has them.
readonly PROTECTIONS=(protectData deletionProtection accountingDatabaseDeletionProtection)

usage() {
  cat <<'TEXT'
usage: ./cluster.sh COMMAND [--stack NAME] [--policy-pack policy]
                    [-- OPTIONS OF PULUMI]

  set KEY VALUE        set a value in the configuration of every layer that has
                       the key, such as: set nodeCount 8
  set KEY --secret     the same with a value from standard input, which no list
                       of processes shows
  preview              show what `up` would change, as far as the layers before
                       are up
  up                   bring up foundation, cluster and nodes
  down                 remove the GPU nodes; data, network and the cluster's
                       head stay
  destroy              remove nodes, cluster and foundation; protected data
                       stays
  destroy --with-data  remove the data too; asks for the cluster's name
  reimage              replace the nodes' system, a part of them at a time
  adopt                say that this folder is of the cluster that the state is
                       of, after generating it again
  status               show each layer's resources
  submit OPTIONS       check and submit the job of launch/ as an ordinary user;
                       options are those of launch/submit.sh, after --user NAME,
                       who is among the cluster's users (your name here by
                       default)
  kubectl ARGUMENTS    kubectl by the way that charts take to the API server

  --stack NAME          which Pulumi.NAME.yaml, where there are several
  --policy-pack policy  check every resource against the rules in policy/
  --                    what follows goes to `pulumi preview`, `up` or
                        `destroy`, such as --yes
TEXT
}

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "cluster.sh: $*"
  exit 1
}

# Shows a command, then runs it.
run() {
  printf '+ %s\n' "$*" >&2
  "$@"
}

# An output of a layer's stack; for cloud.sh too.
output() { pulumi -C "$1" stack output --stack "$stack_name" "$2"; }

# The entries of an output that is a list, one per line.
outputs() { output "$1" "$2" | tr -d '[]" ' | tr ',' '\n' | sed '/^$/d'; }

# A value of a layer's configuration, by its full key; only for text and numbers.
configured() { sed -n "s/^  ${2}: *[\"']\{0,1\}\([^\"']*\)[\"']\{0,1\} *\$/\1/p" "$1/Pulumi.$stack.yaml"; }

project_of() { sed -n 's/^name: *//p' "$1/Pulumi.yaml"; }

choose_stack() {
  local files=(foundation/Pulumi.*.yaml)
  if [ -z "$stack" ]; then
    [ -f "${files[0]}" ] || fail "foundation/ holds no Pulumi.NAME.yaml: the stack has no configuration"
    [ "${#files[@]}" -eq 1 ] || fail "foundation/ holds ${#files[@]} stacks: choose one with --stack NAME"
    stack=${files[0]#foundation/Pulumi.}
    stack=${stack%.yaml}
  fi
  local layer
  for layer in "${LAYERS[@]}"; do
    [ -f "$layer/Pulumi.$stack.yaml" ] || fail "$layer/Pulumi.$stack.yaml is missing: every layer needs its configuration${files[0]:+; foundation/ has ${files[*]##*/}}"
  done
  # In Pulumi Cloud a stack belongs to an organization; the reference to the foundation names it.
  local organization
  organization=$(configured cluster "$(project_of cluster):foundationStack")
  organization=${organization%%/*}
  stack_name=$stack
  case $organization in '' | organization) ;; *) stack_name=$organization/$stack ;; esac
}

# An environment is installed anew when the file of exact versions changes. pip takes no file whose hash is not in it.
install_environment() {
  local folder=$1 constraints=$2 stamp="$1/installed-from" wanted
  local install=("$folder/bin/python" -m pip install -q --disable-pip-version-check --no-deps)
  wanted=$(cat pyproject.toml "$constraints" | cksum)
  if [ -x "$folder/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then return; fi
  command -v python3 >/dev/null || fail "python3 is not on PATH: the layers are Python programs (3.11 or newer)"
  run python3 -m venv "$folder"
  run "${install[@]}" --require-hashes -r "$constraints"
  # The project itself, so that the layers' programs can import gpu_cluster; setuptools is among the versions above.
  if [ "$folder" = .venv ]; then run "${install[@]}" --no-build-isolation -e .; fi
  printf '%s' "$wanted" >"$stamp"
}

# Where the state is: the environment comes before what the layers say, as for pulumi itself.
state_url() {
  if [ -n "${PULUMI_BACKEND_URL:-}" ]; then
    printf '%s' "$PULUMI_BACKEND_URL"
  else
    sed -n '/^backend:/,/^[^ #]/s/^  url: *//p' foundation/Pulumi.yaml
  fi
}

# What a new account lacks is said in the order in which it is needed: the place of the state, then its secrets. Ids are
# explained in README.md, What is refused before anything is done.
check_pulumi() {
  command -v pulumi >/dev/null ||
    fail "pulumi is not on PATH: install the Pulumi command line, https://www.pulumi.com/docs/install/"
  choose_stack
  local url provider place="foundation/Pulumi.yaml, backend.url" corrected="backend.url in every layer's Pulumi.yaml"
  url=$(state_url)
  if [ -n "${PULUMI_BACKEND_URL:-}" ]; then place=PULUMI_BACKEND_URL corrected=PULUMI_BACKEND_URL; fi
  if ! pulumi -C foundation whoami >/dev/null 2>&1; then
    case $url in
      file:*) fail "STA001: $place: pulumi cannot keep its state in $url: make that folder, or correct $corrected" ;;
      s3:* | azblob:* | gs:*) fail "STA001: $place: pulumi cannot reach its state in $url: make the bucket once, log in to the cloud, or correct $corrected" ;;
      *) fail "STA001: $place: pulumi cannot reach the place of its state${url:+, $url}: log in to it with 'pulumi login${url:+ $url}', or correct $corrected" ;;
    esac
  fi
  provider=$(sed -n 's/^secretsprovider: *//p' "foundation/Pulumi.$stack.yaml")
  case $url in
    file:* | s3:* | azblob:* | gs:*)
      if [ "${provider:-passphrase}" = passphrase ] && [ -z "${PULUMI_CONFIG_PASSPHRASE+set}${PULUMI_CONFIG_PASSPHRASE_FILE:-}" ]; then
        fail "STA002: foundation/Pulumi.$stack.yaml, secretsprovider: no passphrase for the secrets in the state: choose one, keep it where it is not lost, and set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE (or name a key of the cloud: secretsprovider in Pulumi.$stack.yaml)"
      fi
      ;;
  esac
}

# A state that belongs to another cluster, place, account or folder is refused before anything is done; so is a name that
# another cluster of the account has.
check_identity() {
  local account='' found
  if declare -F current_account >/dev/null; then account=$(current_account); fi
  found=$(.venv/bin/python -m gpu_cluster.identity "$command" "$stack" "$stack_name" "$account") || exit 1
  if [ "$found" = new ]; then
    case $command in
      down | destroy) say "Nothing is up: there is nothing to remove." && exit 0 ;;
      reimage) fail "nothing is up yet, so that there are no nodes to replace: ./cluster.sh up brings them up" ;;
      *) say "Nothing is up yet. A new account often has a quota of 0 for GPU machines: ask for what README.md names first." ;;
    esac
  fi
  if [ "$found" = new ] && [ "$command" = up ] && declare -F resources_of_that_name >/dev/null; then
    found=$(resources_of_that_name) || fail "the cloud cannot be asked whether the cluster's name is free; its own command says why above"
    [ -z "$found" ] || [ "${CLUSTER_NAME_IS_FREE:-}" = yes ] ||
      fail "STA004: foundation/Pulumi.$stack.yaml, clusterName: there is a cluster of this name in this place already, and this state does not know it:
$found
Nothing was done. Choose another cluster.name, use the state of that cluster, or, if these are leftovers that may stay,
set CLUSTER_NAME_IS_FREE=yes."
  fi
}

# Everything that would make a layer fail halfway is looked at before the first one starts.
check_ready() {
  check_pulumi
  install_environment .venv constraints.txt
  .venv/bin/python -m gpu_cluster.unset_values "$stack" "${LAYERS[@]}" || exit 1
  # Only machines of Slurm have users of their own.
  case $command in
    preview | up) [ ! -f gpu_cluster/users.py ] || .venv/bin/python -m gpu_cluster.users "$stack" || exit 1 ;;
  esac
  if declare -F require_credentials >/dev/null; then
    require_credentials || fail "PRE101: no valid credentials for the cloud: log in first"
  fi
  [ "$command" = status ] || check_identity
  if [ "$command" = up ]; then
    check_quota
    check_room
    check_tunnel
  fi
  case $command in
    preview | up)
      .venv/bin/python -m gpu_cluster.settings_check "$stack" "${LAYERS[@]}" ||
        fail "the configuration is not one to bring up; nothing was done. Correct it with ./cluster.sh set KEY VALUE"
      ;;
  esac
  if [ -n "$policy_pack" ]; then
    [ -f "$policy_pack/PulumiPolicy.yaml" ] || fail "$policy_pack holds no PulumiPolicy.yaml"
    install_environment .venv-policy "$policy_pack/constraints.txt"
    policy_options=(--policy-pack "$(cd "$policy_pack" && pwd)")
  fi
}

# Makes a layer's stack where it does not exist yet, and selects it for later commands by hand.
select_stack() {
  local provider options=()
  provider=$(sed -n 's/^secretsprovider: *//p' "$1/Pulumi.$stack.yaml")
  [ -z "$provider" ] || options=(--secrets-provider "$provider")
  run pulumi -C "$1" stack select --create "$stack_name" ${options[@]+"${options[@]}"} >/dev/null
}

# What a layer's Pulumi.yaml says of a key of the configuration; nothing where it does not declare the key.
description_of() {
  sed -n '/^config:/,/^[^ #]/p' "$1/Pulumi.yaml" | sed -n "/^  $2:/,/^  [^ ]/p"
}

# Tells whether a key, or a field of an object, belongs to a layer; keys of the provider (aws:region) belong to every one.
declares() {
  local path=${2%%[[]*} field=''
  case $path in *.*) field=${path#*.} ;; esac
  case $path in
    *:*) true ;;
    # The fields of these are the user's own.
    tags.* | labels.*) description_of "$1" "${path%%.*}" | grep . >/dev/null ;;
    *) description_of "$1" "${path%%.*}" | grep -w -- "$field" >/dev/null ;;
  esac
}

# Takes the value of a secret; what is typed is not shown.
read_secret() {
  if [ -t 0 ]; then
    IFS= read -rsp "value of $key: " value
    say
  else
    value=$(cat)
  fi
  [ -n "$value" ] || fail "no value of $key came from standard input"
}

# What the layers' programs would refuse is refused before it is written; of a secret the key alone is looked at.
check_value() {
  if [ $# -eq 0 ]; then
    .venv/bin/python -m gpu_cluster.settings_check "$stack" "${LAYERS[@]}" -- "$key" "$value" || exit 1
    fail "no layer's Pulumi.yaml declares the key $key"
  fi
  [ "$secret" = yes ] || .venv/bin/python -m gpu_cluster.settings_check "$stack" "$@" -- "$key" "$value" ||
    fail "nothing was set; $1/Pulumi.yaml says what each key means"
}

set_value() {
  local layer options=() having=() shown=$value
  case $key in *[.[]*) options=(--path) ;; esac
  for layer in "${LAYERS[@]}"; do
    if declares "$layer" "$key"; then having+=("$layer"); fi
  done
  check_value ${having[@]+"${having[@]}"}
  if [ "$secret" = yes ]; then
    options+=(--secret)
    shown='< [secret]'
    read_secret
  fi
  for layer in ${having[@]+"${having[@]}"}; do
    select_stack "$layer"
    say "+ pulumi -C $layer config set --stack $stack_name ${options[*]+"${options[*]} "}-- $key $shown"
    set -- pulumi -C "$layer" config set --stack "$stack_name" ${options[@]+"${options[@]}"} -- "$key"
    if [ "$secret" = yes ]; then printf '%s' "$value" | "$@"; else "$@" "$value"; fi
  done
}

has_outputs() {
  case $(pulumi -C "$1" stack output --stack "$stack_name" --json 2>/dev/null) in
    '' | '{}') false ;;
  esac
}

preview() {
  local layer before=''
  for layer in "${LAYERS[@]}"; do
    if [ -n "$before" ] && ! has_outputs "$before"; then
      say "$layer: can be previewed once $before is up, since it takes its ids from there"
      return
    fi
    select_stack "$layer"
    if [ "$layer" = cluster ]; then open_tunnel || fail "there is no way to the API server: README.md says what it needs"; fi
    run pulumi -C "$layer" preview --stack "$stack_name" ${policy_options[@]+"${policy_options[@]}"} ${pulumi_options[@]+"${pulumi_options[@]}"}
    close_tunnel
    before=$layer
  done
}

# Everything that is made inside Kubernetes, and the connection to it.
# shellcheck disable=SC2016  # the $ is part of a URN
readonly INSIDE=('**::kubernetes:**' '**$kubernetes:**' '**::gpucluster:kubernetes:**' '**::pulumi:providers:kubernetes::**')

answers_here() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# A process group of its own: the clouds' commands start others, which would outlive them, and Ctrl-C is for Pulumi alone.
start_tunnel() {
  local failed=0
  set -m
  start_api_tunnel "$1" </dev/null >/dev/null || failed=1
  set +m
  return "$failed"
}

tunnel_lives() { [ -n "$tunnel" ] && kill -0 -- "-$tunnel" 2>/dev/null; }

# The sockets that listen on a port of this machine, as Linux numbers them.
listening_sockets() {
  local port
  port=$(printf '%04X' "$1")
  cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v port=":$port" '$4 == "0A" && substr($2, length($2) - 4) == port { print $10 }'
}

# The processes of a group; the name of a program may hold blanks and brackets.
processes_of_group() {
  cat /proc/[0-9]*/stat 2>/dev/null | awk -v group="$1" '{ process = $1; sub(/.*\) /, "") } $3 == group { print process }'
}

# Tells whether a process of the tunnel listens on a port: by lsof, or by what Linux shows of sockets and processes.
tunnel_listens() {
  local socket process
  if command -v lsof >/dev/null; then
    [ -n "$(lsof -nP -a -g "$tunnel" -i "TCP:$1" -s TCP:LISTEN -t 2>/dev/null)" ]
    return
  fi
  [ -r /proc/net/tcp ] || fail "nothing shows whether the tunnel or another program answers on port $1 of this machine, and kubectl would hand it your token: install lsof, then run this again"
  for socket in $(listening_sockets "$1"); do
    for process in $(processes_of_group "$tunnel"); do
      [ -z "$(find "/proc/$process/fd" -lname "socket:\\[$socket\\]" 2>/dev/null)" ] || return 0
    done
  done
  return 1
}

# Tells whether what answers on a port of this machine is the tunnel: its processes have to be there, and one of them has to
# be who listens. Another program that takes the port meanwhile ends the command.
leads_through_tunnel() {
  answers_here "$1" || return 1
  if tunnel_lives; then
    # It may have begun to listen between the two looks, or be about to see that the port is taken.
    tunnel_listens "$1"
    return
  fi
  fail "another program has taken port $1 of this machine, which leads to the API server, while the tunnel was opening: end what listens there, then run this again"
}

close_tunnel() {
  [ -z "$tunnel" ] || kill -- "-$tunnel" 2>/dev/null || true
  tunnel=''
}

# Opens the way to an API server that answers inside the network only, for as long as the command runs. A machine that was
# just made answers after a while.
open_tunnel() {
  local port waited=0
  if ! declare -F start_api_tunnel >/dev/null || [ -n "$tunnel" ]; then return 0; fi
  port=$(output cluster api_tunnel 2>/dev/null) || port=''
  [ -n "$port" ] || return 0
  if answers_here "$port"; then fail "port $port of this machine, which leads to the API server, is taken: end what listens there, such as another cluster.sh"; fi
  say "opening 127.0.0.1:$port, which leads to the API server while this command runs"
  trap close_tunnel EXIT
  start_tunnel "$port" || return 1
  until leads_through_tunnel "$port"; do
    [ "$waited" -lt "${API_TUNNEL_WAIT_S:-180}" ] || return 1
    waited=$((waited + 1))
    if [ $((waited % 10)) -eq 0 ] && ! tunnel_lives; then start_tunnel "$port" || return 1; fi
    sleep 1
  done
}

# Lets kubectl use that way for as long as the command runs; elsewhere it goes by the kubeconfig of whoever runs it.
point_kubectl() {
  local name
  command -v kubectl >/dev/null || fail "kubectl is not on PATH"
  open_tunnel || fail "there is no way to the API server: README.md says what it needs"
  if [ -z "$tunnel" ]; then
    kubectl config current-context >/dev/null 2>&1 ||
      fail "kubectl knows no cluster: once the layer cluster is up, README.md, Connect, says how it gets to know this one"
    return 0
  fi
  kubeconfig=$(mktemp)
  trap 'close_tunnel; rm -f "$kubeconfig"' EXIT
  export KUBECONFIG=$kubeconfig
  write_kubeconfig "$kubeconfig"
  name=$(kubectl config view --output 'jsonpath={.clusters[0].name}')
  kubectl config set-cluster "$name" --server "https://127.0.0.1:$(output cluster api_tunnel)" \
    --tls-server-name "$(output cluster endpoint | sed 's,^https://,,')" >/dev/null
}

run_kubectl() {
  # Where Slurm is, cloud.sh knows a login machine.
  if declare -F login_ssh >/dev/null; then
    fail "kubectl: this cluster runs Slurm and has no Kubernetes; README.md, Connect, says how to reach it"
  fi
  check_pulumi
  point_kubectl
  kubectl ${submit_options[@]+"${submit_options[@]}"}
}

# What the account may have of these machines is asked before anything is made: a new account often has 0, and the nodes are
# the last to come. Where the cloud does not say, or nodes are obtained otherwise than planned, nothing is refused.
check_quota() {
  local capacity code each unit name nodes limit file="nodes/Pulumi.$stack.yaml" layer
  declare -F quota_limit >/dev/null || return 0
  IFS='|' read -r capacity code each unit name <<<"$(sed -n 's/^# Quota: //p' "$file")"
  layer=$(project_of nodes)
  nodes=$(configured nodes "$layer:nodeCount")
  case $nodes in '' | *[!0-9]*) return 0 ;; esac
  if [ -z "$name" ] || [ "$(configured nodes "$layer:capacity")" != "$capacity" ]; then return 0; fi
  limit=$(quota_limit "$code" 2>/dev/null) || limit=''
  limit=${limit%%.*}
  case $limit in
    '' | *[!0-9]*)
      say "The quota $name ($code) could not be asked for; $nodes nodes need $((nodes * each)) $unit of it."
      return 0
      ;;
  esac
  [ $((nodes * each)) -le "$limit" ] || [ "${QUOTA_IS_GRANTED:-}" = yes ] ||
    fail "PRE102: $file, nodeCount: $nodes nodes need $((nodes * each)) $unit of the quota $name ($code), and the account has $limit here.
Nothing was done. Ask the cloud for more, days before (README.md), or take fewer: ./cluster.sh set nodeCount $((limit / each));
if it was granted and is not shown yet, set QUOTA_IS_GRANTED=yes."
}

# Addresses for nodes are a fact of the foundation once it is up: growth beyond them is refused before a layer starts.
check_room() {
  local room nodes file="nodes/Pulumi.$stack.yaml"
  nodes=$(configured nodes "$(project_of nodes):nodeCount")
  room=$(output foundation node_addresses 2>/dev/null) || room=''
  room=${room%%.*}
  case $nodes in '' | *[!0-9]*) return 0 ;; esac
  case $room in '' | *[!0-9]*) return 0 ;; esac
  [ "$nodes" -le "$room" ] ||
    fail "PRE032: $file, nodeCount: $nodes nodes are more than the $room that the foundation's network has addresses for.
Nothing was done. Take fewer: ./cluster.sh set nodeCount $room; or make another cluster with a larger network."
}

# Asks for the way to the API server before anything is made that needs it.
check_tunnel() {
  declare -F require_api_tunnel >/dev/null || return 0
  if [ "$(.venv/bin/python -m gpu_cluster.kubernetes.api_access "$stack")" = yes ]; then require_api_tunnel; fi
}

up_layer() {
  local layer=$1
  shift
  run pulumi -C "$layer" up --stack "$stack_name" ${policy_options[@]+"${policy_options[@]}"} "$@" ${pulumi_options[@]+"${pulumi_options[@]}"}
}

# What the way to the API server leads through is made first, and nothing inside Kubernetes is touched by that.
up_to_the_tunnel() {
  local options=() one
  if [ "$(.venv/bin/python -m gpu_cluster.kubernetes.api_access "$stack")" = yes ] && [ -z "$(output cluster api_tunnel 2>/dev/null)" ]; then
    for one in "${INSIDE[@]}"; do options+=(--exclude "$one"); done
    up_layer cluster ${options[@]+"${options[@]}"}
  fi
  open_tunnel || fail "there is no way to the API server: README.md says what it needs. What was made stays; ./cluster.sh up goes on"
}

up() {
  local layer
  for layer in "${LAYERS[@]}"; do
    select_stack "$layer"
    if [ "$layer" = cluster ] && declare -F start_api_tunnel >/dev/null; then up_to_the_tunnel; fi
    up_layer "$layer"
    close_tunnel
  done
}

destroy_layer() {
  local layer=$1
  shift
  select_stack "$layer"
  run pulumi -C "$layer" destroy --stack "$stack_name" "$@" ${pulumi_options[@]+"${pulumi_options[@]}"}
}

# Charts are taken out through the way that they came by. Where that is gone, so are they, or Pulumi says what it misses.
destroy_cluster() {
  open_tunnel || say "there is no way to the API server: what is left inside it may keep the layer from going"
  lift_protection cluster
  destroy_layer cluster
  close_tunnel
  restore_protection cluster
}

# Tells the cloud that a layer may be deleted. What was lifted already is left alone, so that a second run goes on from
# where the first one stopped instead of bringing up again what that one removed.
lift_protection() {
  local layer=$1 key lifted=no
  has_outputs "$layer" || return 0
  for key in "${PROTECTIONS[@]}"; do
    if declares "$layer" "$key" && [ "$(configured "$layer" "$(project_of "$layer"):$key")" != false ]; then
      run pulumi -C "$layer" config set --stack "$stack_name" -- "$key" false
      lifted=yes
    fi
  done
  [ "$lifted" = no ] || run pulumi -C "$layer" up --stack "$stack_name" ${pulumi_options[@]+"${pulumi_options[@]}"}
}

# The next `up` is protected again.
restore_protection() {
  local layer=$1 key
  for key in "${PROTECTIONS[@]}"; do
    if declares "$layer" "$key" && [ "$(configured "$layer" "$(project_of "$layer"):$key")" = false ]; then
      run pulumi -C "$layer" config rm --stack "$stack_name" -- "$key"
    fi
  done
}

down() {
  destroy_layer nodes
  say "The GPU nodes are gone. Data, network and the cluster's head stay, and are paid for."
}

# Asked before anything is removed, so that a wrong answer changes nothing.
confirm_data() {
  local name answer
  name=$(configured foundation "$(project_of foundation):clusterName")
  say "This deletes the data of cluster $name: bucket, file system and keys. It cannot be undone."
  read -r -p "Type the cluster's name to go on: " answer || answer=''
  [ "$answer" = "$name" ] || fail "that is not the cluster's name: nothing was removed"
}

destroy() {
  [ "$with_data" = no ] || confirm_data
  destroy_layer nodes
  destroy_cluster
  if [ "$with_data" = no ]; then
    destroy_layer foundation --exclude-protected
    say "Protected data stays, and is paid for; ./cluster.sh destroy --with-data removes it too."
  else
    if declare -F allow_deleting_data >/dev/null; then allow_deleting_data; fi
    lift_protection foundation
    select_stack foundation
    run pulumi -C foundation state unprotect --all --yes --stack "$stack_name"
    destroy_layer foundation
    restore_protection foundation
  fi
  if declare -F show_leftovers >/dev/null; then show_leftovers; fi
}

adopt() {
  say "This folder goes on with the cluster of its state."
}

reimage() {
  declare -F reimage_nodes >/dev/null || fail "cloud.sh has no reimage_nodes: see README.md"
  reimage_nodes
}

status() {
  local layer
  for layer in "${LAYERS[@]}"; do
    printf '%s\n' "== $layer"
    pulumi -C "$layer" stack --stack "$stack_name" 2>/dev/null || printf '%s\n' "not created yet"
  done
}

# Where Kubernetes is, launch/submit.sh reaches it by kubectl; a login machine of Slurm is reached as cloud.sh says.
submit() {
  local user=${CLUSTER_USER:-}
  [ -f launch/submit.sh ] || fail "launch/ holds no submit.sh: launch/README.md says why there is no job"
  if [ "${submit_options[0]:-}" = --user ]; then
    user=${submit_options[1]:-}
    submit_options=("${submit_options[@]:2}")
  fi
  case " ${submit_options[*]-} " in
    *" --help "* | *" -h "* | *" --host "*) exec bash launch/submit.sh ${submit_options[@]+"${submit_options[@]}"} ;;
  esac
  # Only now: help and a login machine that is named need no state.
  check_pulumi
  if compgen -G 'launch/*.yaml' >/dev/null; then
    point_kubectl
    # What it tells the user to type has to go the same way.
    KUBECTL_SHOWN='./cluster.sh kubectl' bash launch/submit.sh ${submit_options[@]+"${submit_options[@]}"}
    return
  fi
  [ -n "$user" ] || user=$(id -un)
  case $user in
    -* | *[!A-Za-z0-9._@-]*) fail "$user is not the name of a user" ;;
    root) fail "root submits no jobs: --user NAME, who is among the cluster's users" ;;
  esac
  require_credentials || fail "no valid credentials for the cloud: log in first"
  declare -F login_ssh >/dev/null || fail "cloud.sh does not say how to reach the login machine: use --host [USER@]HOST"
  ssh_config=$(mktemp)
  trap 'rm -f "$ssh_config"; [ -z "$tunnel" ] || kill "$tunnel" 2>/dev/null || true' EXIT
  # The host's name in the known hosts is the cluster's own: addresses and tunnels change.
  {
    printf 'Host login\n  User %s\n  HostKeyAlias %s-login\n  StrictHostKeyChecking accept-new\n' "$user" "$stack"
    login_ssh
    printf 'Match all\n  Include ~/.ssh/config\n'
  } >"$ssh_config"
  bash launch/submit.sh --host login --ssh-config "$ssh_config" ${submit_options[@]+"${submit_options[@]}"}
}

command='' key='' value='' secret=no stack=${CLUSTER_STACK:-} stack_name='' with_data=no policy_pack='' tunnel='' kubeconfig=''
policy_options=() pulumi_options=() submit_options=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help)
      usage
      exit 0
      ;;
    --stack | --policy-pack)
      [ $# -gt 1 ] || fail "$1 needs a value"
      if [ "$1" = --stack ]; then stack=$2; else policy_pack=$2; fi
      shift
      ;;
    --with-data) with_data=yes ;;
    --)
      shift
      pulumi_options=("$@")
      break
      ;;
    submit | kubectl)
      [ -z "$command" ] || fail "one command at a time: $command or $1"
      command=$1
      shift
      submit_options=("$@")
      break
      ;;
    set | preview | up | down | destroy | reimage | adopt | status)
      [ -z "$command" ] || fail "one command at a time: $command or $1"
      command=$1
      if [ "$command" = set ]; then
        [ $# -gt 2 ] || fail "set needs a key and a value, such as: ./cluster.sh set nodeCount 8"
        key=$2 value=$3
        shift 2
        if [ "$value" = --secret ]; then
          secret=yes
          case ${2:-} in '' | --stack | --policy-pack) ;; *) fail "give the value of a secret by standard input" ;; esac
        fi
      fi
      ;;
    *)
      usage >&2
      fail "$1 is not a command or option: the list is above"
      ;;
  esac
  shift
done
if [ -z "$command" ]; then
  usage >&2
  exit 2
fi
[ "$with_data" = no ] || [ "$command" = destroy ] || fail "--with-data belongs to destroy"

if [ -f cloud.sh ]; then
  # shellcheck source=/dev/null
  . ./cloud.sh
fi
if [ "$command" = set ]; then
  check_pulumi
  install_environment .venv constraints.txt
  set_value
elif [ "$command" = submit ] || [ "$command" = kubectl ]; then
  if [ "$command" = submit ]; then submit; else run_kubectl; fi
else
  check_ready
  "$command"
fi
