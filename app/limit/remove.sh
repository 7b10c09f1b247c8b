# shellcheck shell=sh
# Removes the helper and all that it and its installation ever wrote, and takes
# the limit back to the system's default first: nobody would remember an override
# that is left. It runs as root and takes no argument. Run again after an end at any
# line, it does the rest.
set -eu
PATH=/usr/bin:/bin:/usr/sbin:/sbin
export PATH
umask 077

label=dev.plimsoll.helper
tools=/Library/PrivilegedHelperTools
daemons=/Library/LaunchDaemons
state="/Library/Application Support/dev.plimsoll.helper"
socket=/var/run/dev.plimsoll.helper.sock

[ "$(id -u)" = 0 ] || {
  echo "plimsoll: this needs root" >&2
  exit 65
}

# The list goes first: with it there, the next start of the system would bring
# back a helper that is half gone.
rm -f "$daemons/$label.plist"
launchctl bootout "system/$label" >/dev/null 2>&1 || :
tries=0
while launchctl print "system/$label" >/dev/null 2>&1; do
  tries=$((tries + 1))
  [ $tries -lt 20 ] || {
    echo "plimsoll: launchd does not let go of the helper" >&2
    exit 70
  }
  sleep 1
done

# One of these names exists, or none; 0 is the default in both units.
kept=
for key in iogpu.wired_limit_mb debug.iogpu.wired_limit; do
  set=$(sysctl -n "$key" 2>/dev/null) || continue
  [ "$set" = 0 ] || sysctl "$key=0" >/dev/null || kept="$key=$set"
done

# A link is removed itself, never what it leads to.
rm -rf "${tools:?}/$label" "$tools/.$label."?????? "$state"
rm -f "$socket"

[ -z "$kept" ] || {
  echo "plimsoll: $kept stays until the next start of the system" >&2
  exit 72
}
