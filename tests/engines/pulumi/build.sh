#!/usr/bin/env bash
# Builds the Pulumi command line into build/engines/bin/ from the versions in go.sum; does nothing where that is done.
# About seven minutes the first time on two cores, seconds from Go's build cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly COMMAND=github.com/pulumi/pulumi/pkg/v3/cmd/pulumi
readonly VERSION_VARIABLE=github.com/pulumi/pulumi/sdk/v3/go/common/version.Version
target=$(cd ../../.. && pwd)/build/engines

command -v go >/dev/null || {
  echo "go is not on PATH: the Pulumi command line is built with Go (1.25 or newer)" >&2
  exit 1
}
wanted=$(cat go.mod go.sum tools.go build.sh | cksum)
if [ -x "$target/bin/pulumi" ] && [ "$(cat "$target/pulumi-built-from" 2>/dev/null)" = "$wanted" ]; then exit 0; fi
version=$(go list -m -f '{{.Version}}' github.com/pulumi/pulumi/pkg/v3)
mkdir -p "$target/bin"
# Written beside and renamed: an interrupted build leaves no half program.
go build -ldflags "-s -w -X $VERSION_VARIABLE=$version" -o "$target/bin/pulumi.new" "$COMMAND"
mv "$target/bin/pulumi.new" "$target/bin/pulumi"
printf '%s' "$wanted" >"$target/pulumi-built-from"
