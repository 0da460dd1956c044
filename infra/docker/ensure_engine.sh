#!/usr/bin/env bash
# Makes sure that a Docker engine answers and that the sandbox image is on it.
#
#   ensure_engine.sh          change nothing where both are there; otherwise say what is done
#   ensure_engine.sh stop     stop the engine that this script started, and no other
#
# PYTHON is an interpreter with pip, which fetches the wheels of packages.txt for the image; the
# Debian packages of libraries.txt come with its base.
# COSQA_SANDBOX__IMAGE names the image; DEBIAN_MIRROR is where Debian's packages come from, where it
# is not this machine's own archive of them.
set -euo pipefail

IMAGE=${COSQA_SANDBOX__IMAGE:-cosqa-sandbox:5}
BASE=python:3.11-slim-bookworm
BASE_WITH_LIBRARIES=cosqa-sandbox-base:python-2
DEBIAN_BASE=cosqa-sandbox-base:bookworm-2
PYTHON=${PYTHON:-python3}
PULL_TIMEOUT_S=20
START_TIMEOUT_S=120
MAX_STARTS=3
ENGINE_PID_FILE=/var/run/docker.pid
PID_FILE=/var/run/cosqa-dockerd.pid
LOCK_FILE=/var/run/cosqa-dockerd.lock
LOG_FILE=/var/log/cosqa-dockerd.log
IMAGE_FILES=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../sandbox/image" && pwd)

say() { printf 'sandbox engine: %s\n' "$*"; }
fail() { printf 'sandbox engine: %s\n' "$@" >&2; exit 1; }

engine_answers() { command -v docker >/dev/null && timeout 15 docker info >/dev/null 2>&1; }
is_debian_root() { [[ $(id -u) == 0 && -f /etc/debian_version ]] && command -v apt-get >/dev/null; }
is_dockerd() { [[ -s $1 && $(cat "/proc/$(cat "$1")/comm" 2>/dev/null) == dockerd ]]; }
is_ours() { is_dockerd "$PID_FILE"; }

install_packages() {
    say "installing from Debian: $*"
    local output
    output=$( { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y --no-install-recommends "$@"; } 2>&1 ) \
        || fail "apt-get could not install $*. Check the machine's package sources, then run this again." "$output"
}

start_engine() {
    command -v dockerd >/dev/null && command -v docker >/dev/null && command -v iptables >/dev/null \
        || install_packages docker.io iptables
    exec 9>"$LOCK_FILE"
    flock 9  # two at once would both start one
    engine_answers && return
    if [[ -d /run/systemd/system ]]; then
        say "starting Docker's service"
        systemctl start docker
    elif is_dockerd "$ENGINE_PID_FILE"; then  # a second one would write to the same data
        say "waiting for dockerd (process $(cat "$ENGINE_PID_FILE")), which runs and does not answer yet"
    else
        run_dockerd
    fi
    local deadline=$((SECONDS + START_TIMEOUT_S)) starts=1
    until engine_answers; do
        ((SECONDS < deadline)) || fail_to_start "the engine did not answer within $START_TIMEOUT_S s"
        if [[ ! -d /run/systemd/system ]] && ! is_dockerd "$ENGINE_PID_FILE" && ! is_alive; then
            ((starts++ < MAX_STARTS)) || fail_to_start "dockerd ended $MAX_STARTS times before it answered"
            run_dockerd
        fi
        sleep 1
    done
}

run_dockerd() {
    say "starting dockerd in the background (log: $LOG_FILE; \"$0 stop\" stops it)"
    rm -f "$ENGINE_PID_FILE"
    setsid dockerd >"$LOG_FILE" 2>&1 </dev/null 9>&- &
    dockerd=$!
    echo "$dockerd" >"$PID_FILE"
}

# By its id alone: until a loaded machine has loaded dockerd, the process has another name.
is_alive() { [[ -n ${dockerd:-} ]] && kill -0 "$dockerd" 2>/dev/null; }

fail_to_start() { fail "$1. The end of $LOG_FILE:" "$(tail -n 20 "$LOG_FILE" 2>&1)"; }

ensure_engine() {
    engine_answers && return
    [[ -z ${DOCKER_HOST:-} ]] || fail "no Docker engine answers at DOCKER_HOST=$DOCKER_HOST." \
        "Start that engine, or unset DOCKER_HOST to use one on this machine."
    if [[ -S /var/run/docker.sock && $(id -u) != 0 && ! -w /var/run/docker.sock ]]; then
        fail "this user may not talk to the engine behind /var/run/docker.sock." \
            "Run: sudo usermod -aG docker \"\$USER\", log in again, then run this again."
    fi
    is_debian_root || fail "no Docker engine answers, and one is installed only on Debian as root." \
        "Install and start Docker (https://docs.docker.com/engine/install/), then run this again."
    start_engine
}

# The archive that this machine's apt reads; none where it has read none, or is no Debian.
debian_mirror() {
    apt-get indextargets --format '$(SITE) $(LABEL)' 'Created-By: Packages' 2>/dev/null \
        | awk '$2 == "Debian" && !found++ { print $1 }'
}

libraries() { tr '\n' "$1" <"$IMAGE_FILES/libraries.txt" | sed "s/$1$//"; }

# The one build with a network: Debian's packages, and nothing else. Without an archive there are none.
add_libraries() {
    say "adding Debian's packages of $IMAGE_FILES/libraries.txt to $BASE"
    printf '%s\n' "FROM $BASE" "RUN apt-get update && apt-get install --yes --no-install-recommends \
        $(libraries ' ') && rm -rf /var/lib/apt/lists/*" \
        | docker build --quiet --tag "$BASE_WITH_LIBRARIES" - >/dev/null 2>&1 \
        || { say "no archive of Debian packages answers: the image has none of them"; return 1; }
}

make_debian_base() (
    is_debian_root || fail "$BASE cannot be pulled, and making a base image from Debian's packages needs Debian and root." \
        "Load the image from a machine that has it: docker save $IMAGE | docker load"
    command -v debootstrap >/dev/null || install_packages debootstrap
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    mirror=${DEBIAN_MIRROR:-$(debian_mirror)}
    say "making a base image from ${mirror:-the default archive of debootstrap} (some minutes)"
    debootstrap --variant=minbase \
        --include="python3-minimal,python3-pip,python3-venv,ca-certificates,$(libraries ,)" \
        bookworm "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1 \
        || { tail -n 5 "$root.log" >&2; fail "debootstrap failed; see its log above ($root.log)."; }
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root.log"
    tar --numeric-owner -C "$root" -c . | docker import - "$DEBIAN_BASE" >/dev/null
)

ensure_image() {
    docker image inspect "$IMAGE" >/dev/null 2>&1 && return
    local base=$BASE
    if docker image inspect "$BASE" >/dev/null 2>&1; then
        say "using $BASE, which this engine has"
    elif say "pulling $BASE (for at most $PULL_TIMEOUT_S s)" \
        && timeout "$PULL_TIMEOUT_S" docker pull --quiet "$BASE" >/dev/null 2>&1; then
        :
    else
        say "$BASE could not be pulled"
        base=$DEBIAN_BASE
        docker image inspect "$base" >/dev/null 2>&1 || make_debian_base
    fi
    [[ $base != "$BASE" ]] || ! add_libraries || base=$BASE_WITH_LIBRARIES
    build_image "$base"
}

build_image() (
    context=$(mktemp -d)
    trap 'rm -rf "$context"' EXIT
    mkdir "$context/wheels"
    fetch_wheels "$context"
    say "building $IMAGE on $1"
    output=$(docker build --quiet --network none --build-arg "BASE=$1" --tag "$IMAGE" \
        --file "$IMAGE_FILES/Dockerfile" "$context" 2>&1) \
        || fail "the image $IMAGE could not be built from $IMAGE_FILES/Dockerfile:" "$output"
    docker image prune --force --filter label=cosqa.stage=packages >/dev/null
    docker image prune --all --force --filter label=cosqa.sandbox >/dev/null  # of users, made from the last
)

# Wheels only: nothing of a package runs here. Without an index the image has none of them.
fetch_wheels() {
    local context=$1 platform options=()
    for platform in manylinux_2_28 manylinux_2_17 manylinux2014 manylinux_2_12 manylinux2010 manylinux1; do
        options+=(--platform "${platform}_$(uname -m)")
    done
    say "fetching the wheels of $IMAGE_FILES/packages.txt"
    if "$PYTHON" -m pip download --quiet --disable-pip-version-check --only-binary :all: --no-deps \
        --python-version 3.11 --implementation cp --abi cp311 --abi abi3 --abi none \
        "${options[@]}" --platform any --dest "$context/wheels" \
        --requirement "$IMAGE_FILES/packages.txt" >"$context/log" 2>&1; then
        cp "$IMAGE_FILES/packages.txt" "$context/installable.txt"
    else
        say "no wheels ($(tail -n 1 "$context/log")): the image has no packages beside Python's own"
        : >"$context/installable.txt"
    fi
}

stop_engine() {
    is_ours || { say "no engine that this script started is running"; rm -f "$PID_FILE"; return; }
    local pid
    pid=$(cat "$PID_FILE")
    kill "$pid"
    for ((second = 0; second < START_TIMEOUT_S; second++)); do
        is_ours || { rm -f "$PID_FILE"; say "stopped the engine (process $pid)"; return; }
        sleep 1
    done
    fail "the engine (process $pid) did not stop within $START_TIMEOUT_S s."
}

case ${1:-start} in
    start)
        ensure_engine
        ensure_image
        say "ready: $(docker version --format 'Docker {{.Server.Version}}'), image $IMAGE"
        ;;
    stop) stop_engine ;;
    *) fail "unknown argument '$1': give none, or 'stop'." ;;
esac
