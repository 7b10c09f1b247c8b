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
number=${1#*=}
case $number in
'' | 0?* | *[!0-9]* | ????????????????*)
  echo "plimsoll: no number: $1" >&2
  exit 64
  ;;
esac
# The older name counts bytes, and a limit is whole MiB: a number of MiB, which would
# leave the GPU next to nothing, is told by that.
case $1 in
debug.*)
  [ $((number % 1048576)) -eq 0 ] || {
    echo "plimsoll: not a number of bytes: $1" >&2
    exit 64
  }
  ;;
esac
exec sysctl "$1"
