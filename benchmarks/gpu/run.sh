#!/usr/bin/env bash
# Probes this machine's GPU (machine file, curves and figures as benchmarks/results/probe-gpu.*, and
# advice on that machine), then measures all bundled cases in all legal placements and writes
# benchmarks/results/gpu-<device>-<date>.json. At most 8 minutes (480 s) in all, of which the probe
# takes PROBE_SECONDS (200). Exits with 3 where there is no GPU.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=.venv/bin/python
if [ ! -x "$python" ]; then
    make --silent setup
fi

end=$((SECONDS + 480))
results=benchmarks/results
placewise=.venv/bin/placewise
limit=${PROBE_SECONDS:-200}
if ! "$python" -c 'from placewise.gpu.device import Device; Device().__exit__(None, None, None)' \
    2>/dev/null; then
    echo "benchmarks/gpu: no GPU" >&2
    exit 3
fi
probed=0
timeout $((limit + 30)) "$placewise" probe --time-limit "$limit" --json \
    --out "$results/probe-gpu.msl" --curves "$results/probe-gpu.svg" \
    >"$results/probe-gpu.json" || probed=1
if [ "$probed" -eq 0 ]; then
    "$placewise" advise spmv --machine "$results/probe-gpu.msl" --format json \
        >"$results/probe-gpu-advice.json" || probed=1
    # Figure by figure beside the H100, whose file has mt4g's measurements.
    "$placewise" machine diff "$results/probe-gpu.msl" H100 >"$results/probe-gpu-beside-H100.txt" ||
        probed=1
fi
cases=$("$python" -c 'from placewise.cases import case_names; print(*case_names())')
left=$(wc -w <<<"$cases")
status=$probed
for case in $cases; do
    # What is left of the time is shared evenly; a part stays for compiling and executing the case.
    share=$(((end - SECONDS) / left))
    limit=$((share * 8 / 10))
    code=0
    timeout $((share > 0 ? share : 1)) "$python" -m benchmarks.gpu "$case" \
        --folder benchmarks/results --time-limit "$limit" "$@" || code=$?
    if [ "$code" -eq 3 ]; then
        exit 3
    elif [ "$code" -ne 0 ]; then
        status=1
    fi
    left=$((left - 1))
done
exit "$status"
