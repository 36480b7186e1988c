# SPDX-License-Identifier: Apache-2.0
"""include_cycles.py [--root FOLDER] [--edges]: cycles of #include in the tree.

A unit is a header with the source of the same name, and a folder is what lies
directly in it. Dependencies go one way between units and between folders, so
that each can be understood, built and tested without those above it. Prints one
line for each cycle, with --edges also the includes that make it; the exit status
is 1 if there is any.
"""

import argparse
import pathlib
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
SUFFIXES = {".c", ".cpp", ".h", ".inc"}
# What builds on everything else.
ROOTS = ("dialects", "frontends", "passes", "runtime", "tools")


def read_includes(root):
    """The includes of all sources: {path: [path, ...]}, as far as they are in the tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *ROOTS],
        cwd=root,
        capture_output=True,
        check=True,
    ).stdout.decode()
    files = {
        name
        for name in listed.split("\0")
        if pathlib.PurePosixPath(name).suffix in SUFFIXES and (root / name).is_file()
    }
    includes = {}
    for name in sorted(files):
        found = INCLUDE.findall((root / name).read_text(errors="replace"))
        includes[name] = [target for target in found if target in files]
    return includes


def unit_of(name):
    return str(pathlib.PurePosixPath(name).with_suffix(""))


def folder_of(name):
    return str(pathlib.PurePosixPath(name).parent)


def make_graph(includes, group):
    """The groups that each group includes, with the includes: {from: {to: [(file, target), ...]}}."""
    graph = {}
    for name, targets in includes.items():
        edges = graph.setdefault(group(name), {})
        for target in targets:
            graph.setdefault(group(target), {})
            if group(target) != group(name):
                edges.setdefault(group(target), []).append((name, target))
    return graph


def find_cycles(graph):
    """The strongly connected components of more than one node, by Tarjan's algorithm."""
    index, low, stack, cycles = {}, {}, [], []
    for start in sorted(graph):
        if start in index:
            continue
        index[start] = low[start] = len(index)
        stack.append(start)
        work = [(start, iter(sorted(graph[start])))]
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    if len(stack) - at > 1:
                        cycles.append(sorted(stack[at:]))
                    del stack[at:]
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                work.append((target, iter(sorted(graph[target]))))
            elif target in stack:
                low[node] = min(low[node], index[target])
    return cycles


def list_cycles(root):
    """(kind, members, edges) of each cycle; edges are (file, target) pairs."""
    includes = read_includes(root)
    for kind, group in (("folders", folder_of), ("units", unit_of)):
        graph = make_graph(includes, group)
        for members in find_cycles(graph):
            edges = [pair for a in members for b in members if b in graph[a] for pair in graph[a][b]]
            yield kind, members, edges


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--edges", action="store_true", help="print the includes that make a cycle")
    options = parser.parse_args(arguments)
    counts = {"folders": 0, "units": 0}
    for kind, members, edges in list_cycles(options.root):
        counts[kind] += 1
        print(f"{kind}: {' '.join(members)}")
        if options.edges:
            for name, target in sorted(edges):
                print(f"  {name} includes {target}")
    print(f"{counts['folders']} cycles of folders, {counts['units']} cycles of units")
    return 1 if any(counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
