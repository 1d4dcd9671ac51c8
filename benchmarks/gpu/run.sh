#!/usr/bin/env bash
# Measures all bundled cases in all legal placements on this machine's GPU, in at most 8 minutes,
# and writes benchmarks/results/gpu-<device>-<date>.json. Exits with 3 where there is no GPU.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=.venv/bin/python
if [ ! -x "$python" ]; then
    make --silent setup
fi

end=$((SECONDS + 480))
cases=$("$python" -c 'from placewise.cases import case_names; print(*case_names())')
left=$(wc -w <<<"$cases")
status=0
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
