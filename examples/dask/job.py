#!/usr/bin/python3
"""A Dask computation that checks its own result: how long are the Collatz sequences of the numbers below a limit?

The numbers are cut into segments, one task each. The segments' results stay in the memory of the workers until all are
there, and are then merged in pairs. So a worker that is taken away holds results that others need: if it hands them over
first, nothing is computed twice, and the last line says so.

Exit codes: 0 the result is right, 1 the computation failed, 3 the result is wrong.
"""

import argparse
import json
import sys

from distributed import Client, get_worker, wait

# Found by a sequential program: limit -> (number with the longest sequence, its steps, steps of all sequences).
EXPECTED = {
    200_000: (156_159, 382, 22_938_473),
    1_000_000: (837_799, 524, 131_434_272),
    3_000_000: (2_298_025, 559, 428_343_355),
}


def segment(first, end):
    """Return (number with the longest sequence, its steps, steps of all sequences) for first <= number < end."""
    best, most, total = 0, -1, 0
    for start in range(first, end):
        n, steps = start, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        total += steps
        if steps > most:
            best, most = start, steps
    get_worker().log_event("segments", first)
    return best, most, total


def merge(a, b):
    """Return the result of two segments of which a is the lower one."""
    longer = b if b[1] > a[1] else a
    return longer[0], longer[1], a[2] + b[2]


def bounds(limit, segments):
    """Return the bounds of segments that take about equally long: later numbers have longer sequences."""
    cuts = [1 + (limit - 1) * i // segments for i in range(segments + 1)]
    return list(zip(cuts, cuts[1:]))


def compute(client, limit, segments):
    """Return the result for all numbers below the limit, and how often a segment was computed."""
    parts = bounds(limit, segments)
    futures = [client.submit(segment, first, end, pure=False) for first, end in parts]
    left = set(futures)
    while left:
        finished = wait(left, return_when="FIRST_COMPLETED")
        left = set(finished.not_done)
        print(f"progress done={segments - len(left)} of={segments} workers={len(client.nthreads())}", flush=True)
    layer = futures
    while len(layer) > 1:
        pairs = [client.submit(merge, a, b, pure=False) for a, b in zip(layer[::2], layer[1::2])]
        layer = pairs + layer[len(pairs) * 2:]
    return layer[0].result(), len(client.get_events("segments"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scheduler", required=True, help="address, such as tcp://127.0.0.1:8786")
    parser.add_argument("--limit", type=int, default=1_000_000, choices=sorted(EXPECTED))
    parser.add_argument("--segments", type=int, default=100)
    args = parser.parse_args()
    with Client(args.scheduler, timeout="60s") as client:
        client.wait_for_workers(1)
        result, computed = compute(client, args.limit, args.segments)
    ok = tuple(result) == EXPECTED[args.limit]
    print(json.dumps({"result": result, "ok": ok, "segments": args.segments, "computed": computed}), flush=True)
    return 0 if ok else 3


if __name__ == "__main__":
    sys.exit(main())
