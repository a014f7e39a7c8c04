#!/usr/bin/env bash
# Builds the API server and the command line of Kubernetes into build/engines/bin/ from the versions in go.sum, and
# fetches the modules with the definitions of custom resources; does nothing where that is done.
# About seven minutes of a core the first time, seconds from Go's build cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=../go_program.sh
. ../go_program.sh

version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${version#v}"
linked=''
# Servers and clients have a variable each.
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  linked+=" -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
done
go_program kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver "$linked" -p 2 -trimpath
go_program kubectl k8s.io/kubernetes/cmd/kubectl "$linked" -p 2 -trimpath

# The modules are read as they are; Go's own check-sums are held against the table when they are.
while IFS=, read -r module version _; do
  [ "$module" = module ] || go mod download -json "$module@$version" >/dev/null
done <custom_resources.csv
