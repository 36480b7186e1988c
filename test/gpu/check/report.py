# SPDX-License-Identifier: Apache-2.0
"""The report of check.py."""

import json
import os


def format_value(value):
    return f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split())


def replace(folder, name, text):
    """Writes a file that is whole at every moment."""
    path = os.path.join(folder, name)
    with open(path + ".part", "w") as file:
        file.write(text)
    os.replace(path + ".part", path)


def write_report(check, titles, results):
    """Writes report.json and report.md: the results of the sections by their names, whose titles are in order."""
    plan = check.plan
    report = {"commit": plan["commit"], "arch": plan["arch"], "sections": results, "peers": check.measured_peers}
    replace(check.kept.out, "report.json", json.dumps(report, indent=1))
    text = f"# GPU check of {plan['commit']} ({plan['arch']})\n"
    for name in check.kept.left_out:
        text += f"\n- {name} is not in traces.tar.gz, which has no more room\n"
    for name, title in titles.items():
        result = results.get(name, {"skipped": "not asked for"})
        state = f"did not run: {result['skipped']}" if "skipped" in result else "ok" if result["ok"] else "FAILED"
        text += f"\n## {title}\n\n{state}\n"
        if result.get("figures"):
            text += (
                "\n" + "\n".join(f"- {key}: {format_value(value)}" for key, value in result["figures"].items()) + "\n"
            )
        if result.get("rows"):
            keys = list(dict.fromkeys(key for row in result["rows"] for key in row))
            text += "\n| " + " | ".join(keys) + " |\n|" + "---|" * len(keys) + "\n"
            for row in result["rows"]:
                text += "| " + " | ".join(format_value(row.get(key, "")) for key in keys) + " |\n"
        for problem in result.get("problems", []):
            text += f"\n- {format_value(problem)}\n"
    replace(check.kept.out, "report.md", text)
