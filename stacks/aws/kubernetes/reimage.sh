# shellcheck shell=bash
# Moves the GPU nodes to the image of the configuration. Sourced by cloud.sh.

# EKS replaces a managed group's nodes, one at a time and after evicting their pods, as soon as the group is given another
# version of its launch template, which is what the nodes layer does.
reimage_nodes() {
  # shellcheck disable=SC2154
  run pulumi -C nodes up --stack "$stack_name" ${pulumi_options[@]+"${pulumi_options[@]}"}
}
