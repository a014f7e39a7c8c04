# shellcheck shell=bash
# The way to the login machine on AWS; sourced by cloud.sh. `output`, `configured` and `fail` are cluster.sh's.

# How ssh reaches the login machine, as lines of its configuration: through Systems Manager, with no port open.
login_ssh() {
  local target profile
  target=$(output cluster connect | sed -n 's/.*--target \(i-[0-9a-f]*\).*/\1/p')
  [ -n "$target" ] || fail "the cluster layer has no output connect: bring it up first"
  profile=$(configured foundation aws:profile)
  printf '  HostName %s\n  ProxyCommand aws --region %s%s ssm start-session --target %%h %s\n' "$target" \
    "$(configured foundation aws:region)" "${profile:+ --profile $profile}" \
    '--document-name AWS-StartSSHSession --parameters portNumber=%p'
}
