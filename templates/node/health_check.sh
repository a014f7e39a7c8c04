#!/usr/bin/env bash
# Slurm runs this on every node every few minutes (HealthCheckProgram takes no arguments).
set -euo pipefail
exec bash "$(dirname "${BASH_SOURCE[0]}")/fabric_check.sh" --drain
