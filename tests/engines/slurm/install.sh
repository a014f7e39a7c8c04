#!/usr/bin/env bash
# Puts newer releases of Slurm than the machine's own into build/slurm/SUITE, from the packages of newer suites of Debian:
# install.sh [SUITE...], by default trixie, whose packages do not move. Nothing of the machine changes; a second run does
# nothing. sid has the newest release, another one from week to week.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(trixie)
command -v patchelf >/dev/null || { echo "patchelf is not installed" >&2; exit 1; }
for suite in "${suites[@]}"; do
  into="$PWD/build/slurm/$suite"
  if [ -x "$into/bin/slurmctld" ]; then continue; fi
  work="$(mktemp --directory)"
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$into/bin" "$into/root"
  : >"$work/status"
  # The archive that the machine itself uses. apt, not the shell, expands the field's name.
  # shellcheck disable=SC2016
  archive="$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '/debian/?$' | head -n 1)"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $suite main" >"$work/sources.list"
  cat >"$work/apt.conf" <<CONF
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
CONF
  export APT_CONFIG="$work/apt.conf"
  apt-get update -q >/dev/null
  # With no package installed, all that they need comes along, the C library too.
  apt-get install -q -y --no-install-recommends --download-only slurmctld slurm-client slurm-wlm-basic-plugins >/dev/null
  for package in "$work"/cache/archives/*.deb; do dpkg-deb --extract "$package" "$into/root"; done
  unset APT_CONFIG
  libraries="$into/root/usr/lib/x86_64-linux-gnu"
  for program in sbin/slurmctld-wlm bin/sbatch bin/scontrol bin/sinfo; do
    name="$(basename "$program")"
    name="${name%-wlm}"
    cp "$into/root/usr/$program" "$into/bin/$name.new"
    patchelf --set-interpreter "$into/root/usr/lib64/ld-linux-x86-64.so.2" --force-rpath \
      --set-rpath "$libraries:$libraries/slurm-wlm" "$into/bin/$name.new"
    mv "$into/bin/$name.new" "$into/bin/$name"
  done
  rm -rf "$work"
  "$into/bin/slurmctld" -V
done
