# SPDX-License-Identifier: Apache-2.0
"""The report of check.py."""

import json
import os


def format_value(value):
    return f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split())


def write_report(folder, plan, titles, results):
    """Writes report.json and report.md: the results of the sections by their names, whose titles are in order."""
    with open(os.path.join(folder, "report.json"), "w") as file:
        json.dump({"commit": plan["commit"], "arch": plan["arch"], "sections": results}, file, indent=1)
    text = f"# GPU check of {plan['commit']} ({plan['arch']})\n"
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
    with open(os.path.join(folder, "report.md"), "w") as file:
        file.write(text)
