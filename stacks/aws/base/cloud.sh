# shellcheck shell=bash
# What cluster.sh needs to know of AWS. It is sourced: `say`, `fail`, `run`, `output` and `configured` are cluster.sh's.

for part in reimage.sh login.sh api_tunnel.sh; do
  # shellcheck source=/dev/null
  if [ -f "$part" ]; then . "./$part"; fi
done

# The AWS command line in the cluster's region, with the profile that the programs use.
aws_here() {
  local profile options=()
  profile=$(configured foundation aws:profile)
  [ -z "$profile" ] || options=(--profile "$profile")
  aws --region "$(configured foundation aws:region)" ${options[@]+"${options[@]}"} "$@"
}

require_credentials() {
  command -v aws >/dev/null || {
    say "aws is not on PATH: install the AWS command line, version 2"
    return 1
  }
  aws_here sts get-caller-identity --output text >/dev/null 2>&1 || {
    say "aws has no valid login: aws sso login, aws configure, or AWS_PROFILE"
    return 1
  }
}

# What the account may have of a quota in the cluster's region.
quota_limit() {
  aws_here service-quotas get-service-quota --service-code ec2 --quota-code "$1" --query Quota.Value --output text
}

current_account() { aws_here sts get-caller-identity --query Account --output text; }

# What a cluster of this name has that lasts, by its tag: keys and secrets that wait for their end are no cluster.
resources_of_that_name() {
  aws_here resourcegroupstaggingapi get-resources --resource-type-filters ec2:vpc fsx:file-system s3 \
    --tag-filters "Key=gpu-cluster,Values=$(configured foundation aws-gpu-foundation:clusterName)" \
    --query 'ResourceTagMappingList[].[ResourceARN]' --output text
}

# S3 refuses to delete a bucket with objects in it, old versions included. A bucket that was there before is left alone:
# it is not in the foundation's state.
allow_deleting_data() {
  local bucket
  # Not grep -q: it ends early, and with pipefail what pulumi had left to say would pass for a failure.
  # shellcheck disable=SC2154
  pulumi -C foundation stack --stack "$stack_name" --show-urns | grep 'aws:s3/bucket:Bucket' >/dev/null || return 0
  bucket=$(output foundation bucket_name)
  say "emptying bucket $bucket, old versions included"
  empty_bucket "$bucket" Versions
  empty_bucket "$bucket" DeleteMarkers
}

# Deletes a thousand at a time, which is the most that S3 takes. It answers with success where it keeps an object, by a
# policy or a hold: without a look at its errors the same batch would come back for ever.
empty_bucket() {
  local bucket=$1 kind=$2 batch kept
  while true; do
    batch=$(aws_here s3api list-object-versions --bucket "$bucket" --max-items 1000 --output json \
      --query "{Objects: ${kind}[].{Key: Key, VersionId: VersionId}, Quiet: \`true\`}")
    case $batch in *'"Objects": null'* | *'"Objects": []'*) return 0 ;; esac
    kept=$(aws_here s3api delete-objects --bucket "$bucket" --delete "file://"<(printf '%s' "$batch") --output text \
      --query 'Errors[0].[Code, Key, Message]')
    case $kept in '' | None) ;; *) fail "S3 does not delete from bucket $bucket: $kept" ;; esac
  done
}

# Everything that AWS still has of this cluster, by its tag; what stays on purpose is protected or recoverable.
show_leftovers() {
  local name left
  name=$(configured foundation aws-gpu-foundation:clusterName)
  left=$(aws_here resourcegroupstaggingapi get-resources --tag-filters "Key=gpu-cluster,Values=$name" \
    --query 'ResourceTagMappingList[].[ResourceARN]' --output text) || return 0
  if [ -z "$left" ]; then
    say "AWS has no resource of $name any more."
    return 0
  fi
  say "AWS still knows these resources of $name. Keys can be restored for 30 days and secrets for 7; a database leaves a"
  say "final snapshot; AWS lists what is gone for a while longer. Anything else is billed:"
  say "$left"
}
