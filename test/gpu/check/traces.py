# SPDX-License-Identifier: Apache-2.0
"""What a trainer's --profile says of its steps on a GPU."""

import bisect
import json
import statistics

# The track of what runs concurrently with other calls, as trainers write it.
BESIDE = 3


def merge(intervals):
    """Sorted, those that meet as one."""
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def total(intervals):
    return sum(end - begin for begin, end in intervals)


def read_steps(path):
    """The kernels and calls of each step, and how they were timed."""
    with open(path) as file:
        trace = json.load(file)
    events = [e for e in trace["traceEvents"] if e.get("args", {}).get("function") == "train_step"]
    ends = sorted(e["ts"] + e["dur"] for e in events if e["cat"] == "function")
    steps = [[] for _ in ends]
    for event in events:
        if event["cat"] != "function":
            steps[min(bisect.bisect_left(ends, event["ts"]), len(ends) - 1)].append(event)
    return steps, trace["otherData"].get("times", "")


def list_calls(steps):
    """A row for each kernel or call of the steps, by its number: two of one node are two, and one in a loop runs
    several times a step."""
    found = {}
    for step in steps:
        for event in step:
            found.setdefault(event["args"]["kernel"], []).append(event)
    rows = []
    for number, events in sorted(found.items()):
        first = events[0]
        microseconds = statistics.median(e["dur"] for e in events)
        arguments = first["args"]
        rows.append(
            {
                "kernel": number,
                "name": first["name"],
                "kind": first["cat"],
                "part": arguments.get("part", ""),
                "beside": int(first["tid"] == BESIDE),
                "runs": len(events),
                "us": round(microseconds, 3),
                "bytes": arguments["bytes"],
                "flops": arguments["flops"],
                "device_function": arguments.get("device_function", ""),
            }
        )
    return rows


def describe_step(steps):
    """Of the median step, in milliseconds: from its first kernel to the last, while any runs, the sum of all, and of
    each kind; where the sum is above the time that any runs, kernels overlap."""
    by_length = sorted((s for s in steps if s), key=lambda step: total(merge(span(step))))
    step = by_length[len(by_length) // 2]
    busy = merge(span(step))
    gaps = [b - a for (_, a), (b, _) in zip(busy, busy[1:])]
    kinds = {}
    for event in step:
        kinds[event["cat"]] = kinds.get(event["cat"], 0) + event["dur"] * 1e-3
    return {
        "calls": len(step),
        "first_to_last_ms": (busy[-1][1] - busy[0][0]) * 1e-3,
        "busy_ms": total(busy) * 1e-3,
        "sum_ms": sum(event["dur"] for event in step) * 1e-3,
        "gaps_ms": sum(gaps) * 1e-3,
        "longest_gap_us": max(gaps, default=0),
        **{f"{kind}_ms": value for kind, value in sorted(kinds.items())},
    }


def span(step):
    return [(event["ts"], event["ts"] + event["dur"]) for event in step]
