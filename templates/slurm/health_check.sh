#!/usr/bin/env bash
# Slurm runs this on idle nodes every few minutes (HealthCheckProgram takes no arguments).
set -euo pipefail
exec bash "$(dirname "${BASH_SOURCE[0]}")/node_check.sh" --drain quick
