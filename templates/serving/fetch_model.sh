#!/bin/sh
# Copies the model from where it is kept to the node's own disk, before the engine starts. MODEL_SOURCE is one of
#   /shared/models/NAME        a folder of the shared file system
#   hf://ORG/NAME@COMMIT       Hugging Face, with the token of the secret model-access where that is there
#   s3://BUCKET/FOLDER, gs://BUCKET/FOLDER, az://CONTAINER/FOLDER   with rclone, by the pod's own rights
set -eu

target=${MODEL_TARGET:-/model}
fail() {
    echo "fetch_model.sh: $*" >&2
    exit 2
}

case $MODEL_SOURCE in
/*)
    [ -r "$MODEL_SOURCE/config.json" ] || fail "there is no $MODEL_SOURCE/config.json on the shared file system"
    # Eight files at a time: one stream does not fill a parallel file system.
    # shellcheck disable=SC2016 # the inner shell expands them
    (cd "$MODEL_SOURCE" && find . -type f -print0) |
        xargs -0 -n 1 -P 8 sh -c 'mkdir -p "$1/$(dirname "$3")" && cp "$2/$3" "$1/$3"' copy "$target" "$MODEL_SOURCE"
    ;;
hf://*)
    name=${MODEL_SOURCE#hf://}
    python3 -c 'import sys, huggingface_hub as hub
hub.snapshot_download(sys.argv[1], revision=sys.argv[2], local_dir=sys.argv[3])' "${name%@*}" "${name##*@}" "$target"
    ;;
s3://*) rclone copy --transfers 16 ":s3,provider=AWS,env_auth:${MODEL_SOURCE#s3://}" "$target" ;;
gs://*) rclone copy --transfers 16 ":gcs,env_auth,bucket_policy_only:${MODEL_SOURCE#gs://}" "$target" ;;
az://*) rclone copy --transfers 16 ":azureblob,env_auth:${MODEL_SOURCE#az://}" "$target" ;;
*) fail "MODEL_SOURCE $MODEL_SOURCE is no folder, and begins with none of hf:// s3:// gs:// az://" ;;
esac
[ -r "$target/config.json" ] || fail "what was copied from $MODEL_SOURCE holds no config.json"
