# SPDX-License-Identifier: Apache-2.0
"""What a recorded timeline of a GPU says: check.py asks."""

import sqlite3


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


def read_timeline(path):
    """Of a run that nsys recorded, with the steps that are one graph launch: the share of the time that the GPU was
    busy, the longest gap, copies of inputs beside kernels, and launches that came while the step before still ran."""
    base = sqlite3.connect(path)
    launches = base.execute(
        "SELECT r.start, r.correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s "
        "ON r.nameId = s.id WHERE s.value LIKE 'cuGraphLaunch%' ORDER BY r.start"
    ).fetchall()
    kernels = base.execute("SELECT start, end, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchall()
    # 1: from the host to the device.
    copies = base.execute("SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 1").fetchall()
    others = base.execute("SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind != 1").fetchall()
    steps = []
    for start, correlation in launches:
        ran = merge((begin, end) for begin, end, of in kernels if of == correlation)
        if ran:
            steps.append((start, ran))
    # The first launches still warm up.
    steps = steps[2:]
    if len(steps) < 2:
        raise RuntimeError(f"{len(launches)} graph launches, of which {len(steps) + 2} have kernels")
    first, last = steps[0][1][0][0], steps[-1][1][-1][1]
    busy = merge([tuple(i) for _, ran in steps for i in ran] + [i for i in others if first <= i[0] and i[1] <= last])
    gaps = [b - a for (_, a), (b, _) in zip(busy, busy[1:])]
    inputs = [i for i in copies if first <= i[0] and i[1] <= last]
    beside = sum(max(0, min(end, e) - max(begin, b)) for begin, end in inputs for b, e in busy)
    ahead = sum(start < before[-1][1] for (_, before), (start, _) in zip(steps, steps[1:]))
    figures = {
        "steps_seen": len(steps),
        "busy_share_seen": total(busy) / (last - first),
        "longest_gap_us": max(gaps, default=0) * 1e-3,
        "input_copies": len(inputs),
        "input_copies_beside_kernels": beside / total(inputs) if inputs else "none",
        "launched_before_the_last_ended": f"{ahead} of {len(steps) - 1}",
    }
    return figures, ahead
