#!/usr/bin/env bash
# Builds the Pulumi command line into build/engines/bin/ from the versions in go.sum; does nothing where that is done.
# About seven minutes the first time on two cores, seconds from Go's build cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=../go_program.sh
. ../go_program.sh

module=github.com/pulumi/pulumi/pkg/v3
version=$(go list -m -f '{{.Version}}' $module)
go_program pulumi $module/cmd/pulumi "-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=$version"
