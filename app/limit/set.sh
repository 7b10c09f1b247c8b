# shellcheck shell=sh
# Sets the limit once, without a helper. It runs as root. Its one argument is
# NAME=NUMBER, a name that this system was found to have and the number in the unit
# of that name.
set -eu
PATH=/usr/bin:/bin:/usr/sbin:/sbin
export PATH

case $1 in
iogpu.wired_limit_mb=* | debug.iogpu.wired_limit=*) ;;
*)
  echo "plimsoll: no name of the limit: $1" >&2
  exit 64
  ;;
esac
case ${1#*=} in
'' | *[!0-9]* | ????????????????*)
  echo "plimsoll: no number: $1" >&2
  exit 64
  ;;
esac
exec sysctl "$1"
