# Sourced by an engine's build.sh, in its folder: builds programs from the versions in go.sum into build/engines/bin/.
# shellcheck shell=bash
target=$(cd ../../.. && pwd)/build/engines

command -v go >/dev/null || {
  echo "go is not on PATH: the programs of $PWD are built with Go (1.25 or newer)" >&2
  exit 1
}

# go_program NAME PACKAGE LINKED [FLAG...]: one program; nothing where that is done. LINKED sets its version.
go_program() {
  local name=$1 package=$2 linked=$3 wanted
  shift 3
  wanted=$(printf '%s\n' "$package" "$linked" "$@" | cat - go.mod go.sum tools.go ../go_program.sh | cksum)
  if [ -x "$target/bin/$name" ] && [ "$(cat "$target/$name-built-from" 2>/dev/null)" = "$wanted" ]; then return; fi
  mkdir -p "$target/bin"
  # Written beside and renamed: an interrupted build leaves no half program.
  nice go build "$@" -ldflags "-s -w $linked" -o "$target/bin/$name.new" "$package"
  mv "$target/bin/$name.new" "$target/bin/$name"
  printf '%s' "$wanted" >"$target/$name-built-from"
}
