# shellcheck shell=bash
# What the scripts in this folder share: it is read by them, never run. Written
# for bash 3.2, the one that macOS has.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
system=$(uname -s)
readonly root system
cd "$root"

# The one flag set for everything that contains Fyne on Linux: another would
# compile it all again. gles is the painter that compiles in a third of the
# time, x11 leaves out Wayland, whose headers would be needed else.
window_tags=gles,x11
[ "$system" = Darwin ] && window_tags=
readonly window_tags

say() { printf '%s\n' "$*" >&2; }

# fail STATUS TEXT…: says the text and ends the script.
fail() {
  local status=$1
  shift
  say "$@"
  exit "$status"
}

have() { command -v "$1" >/dev/null 2>&1; }

# need_tools checks what a package manager is not asked for. An older Go may
# fetch the one that go.mod names by itself; that counts as having it.
need_tools() {
  local found minor
  have go || fail 2 "Plimsoll needs Go 1.26 or newer: found none; see https://go.dev/dl"
  found=$(go env GOVERSION 2>/dev/null) || found=$(cd / && GOTOOLCHAIN=local go env GOVERSION)
  minor=${found#go1.}
  minor=${minor%%[!0-9]*}
  case $found in
  go1.*) [ "${minor:-0}" -ge 26 ] || fail 2 "Plimsoll needs Go 1.26 or newer: found $found; see https://go.dev/dl" ;;
  esac
  if [ "$system" = Darwin ]; then
    xcode-select -p >/dev/null 2>&1 ||
      fail 2 "Plimsoll needs Apple's command-line tools: run xcode-select --install, then this again"
  fi
}

# packages_of GROUP: the Debian packages of one group. All lists are here.
packages_of() {
  case $1 in
  build) echo gcc libc6-dev pkg-config ca-certificates libgl1-mesa-dev libx11-dev libxcursor-dev libxrandr-dev libxinerama-dev libxi-dev libxxf86vm-dev ;;
  display) echo xvfb imagemagick x11-utils xdotool openbox dbus-daemon xfce4-panel dunst ;;
  ollama) echo g++ nlohmann-json3-dev libstb-dev ;;
  checks) echo git shellcheck dbus-daemon ;;
  arm64) echo qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross ;;
  *) fail 1 "no package group $1" ;;
  esac
}

# tools_of GROUP: what a group's packages bring, for systems without dpkg.
tools_of() {
  case $1 in
  build) echo gcc pkg-config ;;
  display) echo Xvfb import xwininfo xdotool openbox dbus-daemon xfce4-panel dunst ;;
  ollama) echo g++ ;;
  checks) echo git shellcheck dbus-daemon ;;
  arm64) echo qemu-aarch64-static aarch64-linux-gnu-gcc ;;
  esac
}

# need_packages GROUP…: installs what is missing, or says how.
need_packages() {
  [ "$system" = Linux ] || return 0
  local group names name status missing="" as=""
  for group in "$@"; do
    names=$(packages_of "$group")
    if ! have dpkg-query; then
      for name in $(tools_of "$group"); do
        have "$name" || fail 2 "Plimsoll needs $name. This is no Debian system: install what Debian calls $names"
      done
      continue
    fi
    for name in $names; do
      status=$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) || status=
      case " $missing " in *" $name "*) continue ;; esac
      [ "$status" = installed ] || missing="${missing:+$missing }$name"
    done
  done
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    if ! have sudo || ! sudo -n apt-get --version >/dev/null 2>&1; then
      say "Plimsoll needs Debian packages that are not installed. Run this once, then this again:"
      fail 2 "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing"
    fi
    as="sudo -n"
  fi
  step "installing $missing" install_packages "$as" "$missing"
}

# install_packages AS PACKAGES: the lists of a fresh machine are empty or old, so
# they are fetched when the first try fails.
install_packages() {
  # shellcheck disable=SC2086 # words on purpose
  {
    local install="$1 env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $2"
    $install || { $1 apt-get update && $install; }
  }
}

# step WHAT COMMAND…: runs a command that may take long. Says that it began when
# it takes more than a moment, now and then that it still runs, and how long it
# took. Its output is shown only when it fails.
step() {
  local what=$1 log began=$SECONDS status=0 pid told=0 waited=0
  shift
  log=$(mktemp)
  "$@" >"$log" 2>&1 &
  pid=$!
  # shellcheck disable=SC2064 # these very values
  trap "kill $pid 2>/dev/null; rm -f '$log'; exit 130" INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    waited=$((waited + 1))
    if [ "$told" = 0 ] && [ "$waited" -ge 5 ]; then
      say "$what …"
      told=$SECONDS
    elif [ "$told" != 0 ] && [ $((SECONDS - told)) -ge 20 ]; then
      say "  … still at it after $((SECONDS - began)) s"
      told=$SECONDS
    fi
  done
  wait "$pid" || status=$?
  trap - INT TERM
  if [ "$status" != 0 ]; then
    tail -n 40 "$log" >&2
    say "failed: $what"
  elif [ "$told" != 0 ]; then
    say "  done in $((SECONDS - began)) s"
  fi
  rm -f "$log"
  return "$status"
}

# app_version prints the version of Plimsoll, which stands in one place.
app_version() { sed -n 's/^Version = "\(.*\)"$/\1/p' FyneApp.toml; }

# build_helper builds the program that runs as root on a Mac. It comes first: the
# agent is built for this very file, so it is signed before it is looked at, and
# nothing may change it afterwards.
build_helper() {
  step "building the helper" env CGO_ENABLED=0 go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X main.version=$(app_version)" -o bin/plimsoll-helper ./metal/helper
  if [ "$system" = Darwin ]; then
    step "signing the helper" codesign --force --sign - --identifier dev.plimsoll.helper bin/plimsoll-helper
  fi
}

# agent_flags prints what ties the agent to the helper in bin: the flags of the
# linker that make its hash a constant of the program, against which root checks
# what it installs.
agent_flags() {
  local hash=
  hash=$(shasum -a 256 bin/plimsoll-helper) || fail 1 "the helper's hash cannot be told"
  printf '%s\n' "-X plimsoll/app/limit.helperSHA256=${hash%% *}"
}

# build_programs builds the programs into bin/. Only a Mac has a use for the helper.
build_programs() {
  local flags
  step "fetching Go modules" go mod download
  if [ "$system" = Darwin ]; then
    build_helper
    flags=$(agent_flags)
    step "building the agent" go build -ldflags "$flags" -o bin/plimsoll ./app
  else
    step "building the agent" env CGO_ENABLED=0 go build -o bin/plimsoll ./app
  fi
  step "building the window (two to four minutes the first time, seconds after)" \
    env CGO_ENABLED=1 go build -tags "$window_tags" -o bin/plimsoll-window ./app/window
}
