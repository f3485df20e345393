# Runs steps beside each other, for script/test: `step` adds one, `run_steps` runs those that were added and prints what each
# has printed, and at the end of the script there is a summary of their times.

# Each step runs in the background, in a process group of its own: Ctrl-C reaches this script, which stops them.
set -m
# A step waits for a third of its time, so three use two cores. More would only compete, until time limits of the service are
# exceeded.
at_a_time=3
# The exit code of a step that could not be run.
skipped=77
outputs=target/steps
rm -rf "$outputs"
mkdir -p "$outputs"

# The steps that have not started, in their order.
names=() commands=()
# The steps that run, by their process.
declare -A running=() starts=()
lines=()
failed=

# Adds a step: `step NAME COMMAND…`.
step() {
    names+=("$1")
    commands+=("$(printf '%q ' "${@:2}")")
}

# Runs the steps that were added, several at a time. Ends the script if one has failed.
run_steps() {
    while ((${#names[@]} + ${#running[@]})); do
        start_next
        collect
    done
    if [[ -n $failed ]]; then exit 1; fi
}

# Starts the next steps, in their order, as long as few enough run.
start_next() {
    local index
    for index in "${!names[@]}"; do
        if ((${#running[@]} == at_a_time)); then break; fi
        {
            TIMEFORMAT='%U %S'
            time eval "${commands[$index]}" >"$outputs/${names[$index]}" 2>&1 </dev/null
        } 2>"$outputs/${names[$index]}.times" &
        running[$!]=${names[$index]}
        starts[$!]=$SECONDS
        unset "names[$index]" "commands[$index]"
    done
}

# Waits for one of the steps, and prints its output.
collect() {
    local process status=0
    wait -n -p process "${!running[@]}" || status=$?
    echo "== ${running[$process]}"
    cat "$outputs/${running[$process]}"
    case $status in
    0) record ok ;;
    "$skipped") record SKIPPED ;;
    *)
        record FAILED
        failed=1
        ;;
    esac
}

# Adds a line to the summary, and forgets the process.
record() {
    local name=${running[$process]} cpu
    cpu=$(awk '{ cpu = $1 + $2 } END { print cpu }' "$outputs/$name.times")
    lines+=("$(printf '%8s %5d s %5.0f s of CPU  %s' "$1" $((SECONDS - starts[$process])) "$cpu" "$name")")
    unset "running[$process]" "starts[$process]"
}

summary() {
    local status=$? process
    for process in "${!running[@]}"; do
        kill -INT -- "-$process" 2>/dev/null || true
        wait "$process" || true
        record STOPPED
    done
    echo "== summary"
    if ((${#lines[@]})); then printf '%s\n' "${lines[@]}"; fi
    printf '%8s %5d s\n' total "$SECONDS"
    exit "$status"
}
trap summary EXIT
