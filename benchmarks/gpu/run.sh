#!/usr/bin/env bash
# Probes this machine's GPU, measures all bundled cases in all legal placements on it, and reads
# their counters where Nsight Compute can:
#
#   benchmarks/gpu/run.sh [--out FOLDER] [--device N]
#
# FOLDER (benchmarks/results/gpu) gets, as soon as its step is done, whatever becomes of later ones:
#   published-DEVICE-DATE.json   times of the kernels of benchmarks/breadth, and of copied pieces
#   gains-DEVICE-DATE.json       predicted gains as measured, if FOLDER has gains-predicted.json, which
#                                `python -m benchmarks.gpu.gains predict MACHINE FILE` writes
#   gpu-DEVICE-DATE.json         times of all placements of the bundled cases
#   tuning-DEVICE-DATE.json      tuned beside untuned launches, if CuPy is there
#   probe-gpu.msl .svg .json     machine file, curves and figures; probe-gpu-advice.json: advice for it;
#                                probe-gpu-beside-H100.txt: figure by figure beside the H100's file
#   counters/CASE.ncu-rep        hardware counters, if Nsight Compute is there, and CASE.json: their
#                                placements, one for each launch; counters/published.ncu-rep: those of
#                                the kernels of published-DEVICE-DATE.json, in its order
# At most TOTAL_SECONDS (480, 8 minutes) in all, of which the probe takes PROBE_SECONDS (150) and counters
# COUNTER_SECONDS (60). PYTHON is the interpreter that Placewise is installed for; by default that of
# `make setup`.
#
# Status: 0 all went well, 1 some step did not, 2 wrong arguments, 3 no GPU.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)

results=$here/benchmarks/results/gpu
device=0
while [ $# -gt 0 ]; do
    case $1 in
    --out | --device)
        if [ $# -lt 2 ]; then
            echo "benchmarks/gpu: $1 needs a value" >&2
            exit 2
        fi
        if [ "$1" = --out ]; then
            mkdir -p "$2" && results=$(cd "$2" && pwd) || exit 2
        else
            device=$2
        fi
        shift 2
        ;;
    *)
        echo "benchmarks/gpu: unknown argument $1; there are --out FOLDER and --device N" >&2
        exit 2
        ;;
    esac
done
cd "$here" || exit 2
if [ -z "${PYTHON:-}" ]; then
    PYTHON=$here/.venv/bin/python
    [ -x "$PYTHON" ] || make --silent setup || exit 2
fi

end=$((SECONDS + ${TOTAL_SECONDS:-480}))
status=0
# What a step prints besides, and why it failed, goes to standard error; the next one goes on.
step() {
    local limit=$1 name=$2
    shift 2
    timeout --signal INT --kill-after 10 "$limit" "$@"
    local code=$?
    if [ $code -ne 0 ]; then
        echo "benchmarks/gpu: $name ended with status $code" >&2
        status=1
    fi
    return $code
}

"$PYTHON" -m benchmarks.gpu --check --device "$device" || exit $?

mkdir -p "$results"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

step 60 "compiling the published kernels" "$PYTHON" -m benchmarks.gpu.published prepare \
    "$("$PYTHON" -m benchmarks.gpu --arch --device "$device")" "$work/published" &&
    step 60 "published kernels" "$PYTHON" -m benchmarks.gpu.published measure "$work/published" \
        "$results" --device "$device" --limit 45

# Predicted on the CPU beforehand, as advice takes minutes: python -m benchmarks.gpu.gains predict.
if [ -f "$results/gains-predicted.json" ]; then
    step 150 gains "$PYTHON" -m benchmarks.gpu.gains measure "$results/gains-predicted.json" \
        "$results" --device "$device" --workers "$(($(nproc) * 3 / 4 + 1))"
fi

probe_limit=${PROBE_SECONDS:-150}
counter_limit=0
if command -v ncu >/dev/null; then
    counter_limit=${COUNTER_SECONDS:-60}
fi
# Several at once: they compile and execute side by side, and one at a time has the GPU.
cases=$("$PYTHON" -m benchmarks.gpu --list) || status=1
share=$((end - SECONDS - counter_limit - probe_limit - 60))
[ $share -gt 20 ] || share=20
for case in $cases; do
    mkdir -p "$work/$case"
    echo "$case"
done | xargs -P "$(($(nproc) * 3 / 4 + 1))" -I{} sh -c '
    timeout --signal INT --kill-after 10 "$1" "$2" -m benchmarks.gpu "$0" --folder "$3/$0" \
        --device "$4" --time-limit "$5" ||
        { echo "benchmarks/gpu: $0 ended with status $?" >&2; exit 1; }
' {} "$share" "$PYTHON" "$work" "$device" $((share / 2)) || status=1
step 20 "joining the cases" "$PYTHON" -m benchmarks.gpu --join "$work" --folder "$results"

if "$PYTHON" -c 'import cupy' 2>/dev/null; then
    step 60 tuning "$PYTHON" -m benchmarks.gpu.tuning "$results" --cache "$work/tuned" \
        --kernel multiply
fi

echo "probe, at most $probe_limit s" >&2
if step $((probe_limit + 30)) probe "$PYTHON" -m placewise probe --time-limit "$probe_limit" \
    --device "$device" --json --out "$results/probe-gpu.msl" --curves "$results/probe-gpu.svg" \
    >"$results/probe-gpu.json"; then
    step 60 advice "$PYTHON" -m placewise advise spmv --machine "$results/probe-gpu.msl" \
        --format json >"$results/probe-gpu-advice.json"
    # Figure by figure beside the H100, whose file has mt4g's measurements.
    step 30 comparison "$PYTHON" -m placewise machine diff "$results/probe-gpu.msl" H100 \
        >"$results/probe-gpu-beside-H100.txt"
fi

if [ "$counter_limit" -gt 0 ]; then
    mkdir -p "$results/counters"
    # Clocks stay as they are: to set them needs rights, and others may use the device.
    counted() {
        local limit=$1 name=$2
        shift 2
        if ! step "$limit" "counters of $name" ncu --clock-control none --force-overwrite --quiet \
            --metrics "$("$PYTHON" -m benchmarks.gpu --metrics)" \
            --export "$results/counters/$name" "$@" >&2; then
            echo "benchmarks/gpu: counters may need rights (ERR_NVGPUCTRPERM)" >&2
        fi
    }
    if [ -f "$work/published" ]; then
        share=$(((end - SECONDS) / 2))
        counted $share published "$PYTHON" -m benchmarks.gpu.published measure "$work/published" \
            "$results/counters" --device "$device" --limit "$share" --once
    fi
    left=$(wc -w <<<"$cases")
    for case in $cases; do
        share=$(((end - SECONDS) / left))
        left=$((left - 1))
        [ $share -ge 5 ] || continue
        counted $share "$case" "$PYTHON" -m benchmarks.gpu "$case" --once --folder "$results/counters" \
            --device "$device" --time-limit $((share * 8 / 10))
    done
fi
exit $status
