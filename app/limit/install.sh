# shellcheck shell=sh
# Installs the helper, or another version over it. It runs as root, by the hand of
# an administrator who was asked. Its one argument is UID:FILE, the user whose
# Plimsoll may then change the limit and the helper to install. All else is fixed
# when Plimsoll is built: every place, and the hash that FILE must have.
#
# What another user owns is only read, once, into a folder that is root's alone;
# what is checked and installed is that copy. Each file then comes into its place
# by a rename, so that an end at any line leaves the old file there or the new one.
set -eu
PATH=/usr/bin:/bin:/usr/sbin:/sbin
export PATH
umask 077

label=dev.plimsoll.helper
tools=/Library/PrivilegedHelperTools
daemons=/Library/LaunchDaemons
state="/Library/Application Support/dev.plimsoll.helper"
hash=@SHA256@
plist='@PLIST@'
users=users
program=$tools/$label
job=$daemons/$label.plist

# refuse STATUS TEXT: the status is what Plimsoll goes by.
refuse() {
  printf 'plimsoll: %s\n' "$2" >&2
  exit "$1"
}

# about PATH: kind and mode, links and owner, as in "drwxr-xr-x 2 0"; nothing when
# there is no such file. A link is told of itself, not of what it leads to.
# shellcheck disable=SC2012 # of one named file, ls is the same on every system
about() { ls -ldn "$1" 2>/dev/null | { read -r mode links owner rest || exit 0; printf '%s %s %s' "$mode" "$links" "$owner"; }; }

# safe_folder PATH: a folder that nobody but root can put anything into.
safe_folder() {
  case $(about "$1") in
  d????-??-?*' 0') ;;
  *) refuse 66 "$1 is not a folder of root's alone" ;;
  esac
}

# safe_file PATH: nothing, or a file of root's alone under this one name.
safe_file() {
  case $(about "$1") in
  '' | -????-??-?*' 1 0') ;;
  *) refuse 69 "$1 is not a file of root's alone" ;;
  esac
}

[ "$(id -u)" = 0 ] || refuse 65 "this needs root"
uid=${1%%:*}
source=${1#*:}
case $uid in
'' | 0* | *[!0-9]* | ???????????*) refuse 64 "no user: $uid" ;;
esac
# The helper believes no list with a larger one in it, and then hears nobody.
[ "$uid" -le 2147483647 ] || refuse 64 "no user: $uid"
case $source in
/*) ;;
*) refuse 64 "no whole path: $source" ;;
esac

for folder in / "${tools%/*}" "${daemons%/*}" "${state%/*}" "$daemons"; do
  safe_folder "$folder"
done
[ -n "$(about "$tools")" ] || mkdir -m 755 "$tools"
safe_folder "$tools"
[ -n "$(about "$state")" ] || mkdir -m 755 "$state"
safe_folder "$state"
safe_file "$program"
safe_file "$job"
safe_file "$state/$users"

rm -rf "$tools/.$label."??????
stage=$(mktemp -d "$tools/.$label.XXXXXX")
trap 'rm -rf "$stage"' EXIT
trap 'exit 71' HUP INT TERM

if [ ! -f "$source" ] || [ -L "$source" ]; then refuse 67 "$source is not a file"; fi
head -c 67108864 <"$source" >"$stage/helper" || refuse 67 "$source cannot be read"
sum=$(shasum -a 256 "$stage/helper")
[ "${sum%% *}" = "$hash" ] || refuse 68 "$source is not the helper of this Plimsoll"
chmod 755 "$stage/helper"

printf '%s\n' "$plist" >"$stage/plist"
chmod 644 "$stage/plist"

{
  cat "$state/$users" 2>/dev/null || :
  printf '%s\n' "$uid"
} | sort -un >"$stage/users"
chmod 644 "$stage/users"
chown 0:0 "$stage/helper" "$stage/plist" "$stage/users"
sync

mv -f "$stage/users" "$state/$users"
mv -f "$stage/helper" "$program"
mv -f "$stage/plist" "$job"
sync

# launchd lets go of an old job some seconds after it was asked to, and refuses the
# new one until then (openclaw/openclaw#136453, headroomlabs-ai/headroom#1289). A
# lease that is open meanwhile stands in its file, and the new helper keeps it.
launchctl bootout "system/$label" >/dev/null 2>&1 || :
launchctl enable "system/$label" >/dev/null 2>&1 || :
tries=0
until said=$(launchctl bootstrap system "$job" 2>&1); do
  tries=$((tries + 1))
  [ $tries -lt 20 ] || refuse 70 "launchd does not take the helper: $said"
  sleep 1
done
