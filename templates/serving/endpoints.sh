#!/usr/bin/env bash
# Prints the replicas that answer, as servers of an upstream of nginx; FOLDER is SERVING_FOLDER of serve.sbatch.
set -euo pipefail

[ $# = 1 ] || {
    echo "usage: ./endpoints.sh FOLDER" >&2
    exit 2
}
echo "least_conn;"
for file in "$1"/endpoints/*; do
    [ -r "$file" ] || continue
    address=$(cat "$file")
    if curl --silent --fail --max-time 5 --output /dev/null "http://$address/health"; then
        echo "server $address;"
    fi
done
