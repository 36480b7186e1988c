# SPDX-License-Identifier: Apache-2.0
"""ingot-report: what pages hold, and that a browser shows it."""

import json
import os
import pathlib
import re
import shutil

import numpy as np
import onnx
import onnx.parser
from browser import Browser
from harness import DIGITS, ROOT, case, check, check_close, read_log

# Where screenshots are kept for people to look at.
SHOTS = pathlib.Path(os.environ.get("INGOT_SCREENSHOTS") or ROOT / "build/screenshots")


def page_data(path):
    """The JSON of a page."""
    text = path.read_text()
    check(text.startswith("<!doctype html>") and text.endswith("</html>\n"), f"{path}: not a page")
    check(not re.search(r"https?:", text), f"{path}: names a network")
    return json.loads(re.search(r'<script type="application/json" id="data">\n(.*?)\n</script>', text, re.S)[1])


def make_runs(ingot):
    """Two folders of runs with all files that reports read."""
    folders = []
    for name, optimizer, rate in (("adamw", "adamw", "0.002"), ("momentum", "momentum", "0.02")):
        folder = ingot.path(name)
        folder.mkdir()
        trainer = folder / "trainer"
        flags = ["--loss", "cross-entropy", "--batch", "32", "--clip", "--optimizer", optimizer]
        extra = ["--report", folder / "compiled.html", "--remarks", folder / "remarks.yaml"]
        ingot.succeed(ingot.ingotc(DIGITS / "digits.onnx", "-o", trainer, *flags, *extra))
        data = ["--data", DIGITS / "train.npz", "--eval-data", DIGITS / "eval.npz"]
        log = ["--log", folder / "run.jsonl", "--profile", folder / "trace.json", "--profile-steps", "10:5:20"]
        save = ["--save", folder / "saved", "--save-every", "50", "--best", "eval_loss"]
        ingot.succeed([trainer, *data, "--epochs", "4", "--lr", rate, *log, *save])
        found = ingot.succeed([trainer, *data, "--diagnose=json"]).out
        (folder / "diagnosis.json").write_text(found)
        folders.append(folder)
    return folders


@case("report-data")
def data(ingot):
    """What a page holds is what the files say."""
    first, second = make_runs(ingot)
    page = ingot.path("report.html")
    ingot.succeed([ingot.bin / "ingot-report", first, second, "-o", page, "--title", "a <b>title</b>"])
    report = page_data(page)
    check(report["title"] == "a <b>title</b>", report["title"])
    check([run["name"] for run in report["runs"]] == ["adamw", "momentum"], "names of the runs")
    for run, folder in zip(report["runs"], (first, second)):
        steps, evaluations = read_log(folder / "run.jsonl")
        loss = run["log"]["series"]["loss"]
        check(loss["x"] == [row["step"] for row in steps], "the steps of the loss")
        check_close("losses", loss["y"], [row["loss"] for row in steps], 1e-4)
        check(loss["last"] == steps[-1]["loss"], "the last loss")
        check(run["log"]["last_step"] == len(steps) and run["log"]["damaged"] == 0, "lines of the log")
        accuracy = run["log"]["series"]["eval_accuracy"]
        check_close("accuracies", accuracy["y"], [row["eval_accuracy"] for row in evaluations], 1e-4)
        check("digits.onnx" in run["log"]["header"] and "lr" in run["log"]["configuration"], "the configuration")
        saved, there = run["log"]["checkpoints"], folder / "saved"
        check(saved["folder"] == str(there), f"checkpoints of {saved['folder']}")
        check({f"step-{step}" for step in saved["steps"]} == {p.name for p in there.glob("step-*")}, f"{saved}")
        for mark in ("latest", "best"):
            check((there / mark).read_text().startswith(f"step-{saved[mark]}\n"), f"{mark}: {saved}")
        # The trace, summed by other means.
        events = json.loads((folder / "trace.json").read_text())["traceEvents"]
        profile = run["profile"]
        check(profile["steps"] == 20, f"{profile['steps']} steps")
        total = sum(e["dur"] for e in events if e.get("cat") == "step") / 20 * 1e-3
        check_close("the parts", sum(part["ms"] for part in profile["parts"]) / total, 1, 1e-6)
        for kernel in profile["kernels"]:
            place = (kernel["function"], kernel["kernel"])
            own = [
                e for e in events if e["ph"] == "X" and (e["args"].get("function"), e["args"].get("kernel")) == place
            ]
            check({e["name"] for e in own} == {kernel["name"]}, f"names of {place}")
            times = [e["dur"] for e in own]
            check(kernel["calls"] == len(times), f"calls of {kernel['name']}")
            check_close(kernel["name"], kernel["total_us"], sum(times), 1e-9)
            check_close("P90", kernel["p90_us"], np.percentile(times, 90, method="inverted_cdf"), 1e-9)
            check(kernel["bound_us"] > 0, f"no bound of {kernel['name']}")
        check(run["diagnosis"]["step_ms"] > 0, "the diagnosis")
        yaml = (folder / "remarks.yaml").read_text()
        check(len(run["remarks"]) == yaml.count("--- !"), f"{len(run['remarks'])} remarks")
        check({"Passed", "Analysis"} <= {remark["kind"] for remark in run["remarks"]}, "kinds of remarks")
    check([c["run"] for c in report["compilations"]] == [0, 1], "whose reports")


@case("report-inputs")
def inputs(ingot):
    """Which files belong together, what is refused, and logs that are long, cut or put aside."""
    tool, page = ingot.bin / "ingot-report", ingot.path("page.html")
    folder = ingot.path("runs")
    folder.mkdir()

    def write(name, steps, start=1, **more):
        rows = [{"step": i, "loss": 1 / i, "step_ms": 2.0, **more} for i in range(start, start + steps)]
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    write("a.jsonl", 5000, start=2001, grad_norm=None)
    write("a.jsonl.1", 2000)
    write("b.jsonl", 3)
    # Checkpoints beside a log that was moved, and what is none.
    for name in ("step-2", "step-3", "step-x", "step-4.tmp-1"):
        (folder / "saved" / name).mkdir(parents=True)
        (folder / "saved" / name / "checkpoint.json").write_text("{}")
    (folder / "saved/step-9").mkdir()
    (folder / "saved/best").write_text("step-2\n")
    (folder / "saved/latest").write_text("../../etc/passwd\n")
    (folder / "b.jsonl.toml").write_text("# a run\nsave = '/somewhere/else/saved'\n")
    with (folder / "b.jsonl").open("a") as log:
        log.write('{"step": 3, "eval_loss": 0.5, "eval_confusion": [[3, 1], [0, 4]]}\nnonsense\n{"step": 4, "lo')
    (folder / "b-diagnosis.json").write_text('{"step_ms": 1, "steps": 3, "findings": []}\n')
    (folder / "else.json").write_text('{"loss": [1, 2]}')
    ingot.succeed([tool, folder, "-o", page])
    first, second = page_data(page)["runs"]
    series = first["log"]["series"]["loss"]
    check((first["name"], series["count"], first["log"]["last_step"]) == ("a", 7000, 7000), f"a log in two: {series}")
    check(len(series["x"]) <= 1200 and series["greatest"] == 1, "points of a long log")
    check(all(low <= y <= high for low, y, high in zip(series["low"], series["y"], series["high"])), "ranges of points")
    check(first["log"]["not_finite"] == 5000, "values that are not finite")
    check(second["log"]["checkpoints"] == {"folder": str(folder / "saved"), "steps": [2, 3], "best": 2}, "checkpoints")
    check("checkpoints" not in first["log"], "checkpoints without a configuration")
    check(second["log"]["damaged"] == 1 and second["log"]["tables"]["eval_confusion"] == [[3, 1], [0, 4]], "b")
    check("diagnosis" in second and "diagnosis" not in first, "whose diagnosis")

    # Files in a row: each belongs to the log before it.
    ingot.succeed([tool, folder / "a.jsonl", folder / "b-diagnosis.json", folder / "b.jsonl", "-o", page])
    runs = page_data(page)["runs"]
    check(["diagnosis" in run for run in runs] == [True, False], "a diagnosis after its log")

    empty = ingot.path("empty")
    empty.mkdir()
    for name, text in (
        ("trace.json", '{"traceEvents": [{"ph": "X", "dur": 1}, '),
        ("page.html", page.read_text()),
        ("deep.json", "[" * 100000),
        ("nothing", ""),
    ):
        path = ingot.path(name)
        path.write_text(text)
        ingot.check_error([tool, path, "-o", ingot.path("out.html")], 3, str(path))
    ingot.check_error([tool, empty, "-o", ingot.path("out.html")], 3, str(empty))
    ingot.check_error([tool, "missing.jsonl", "-o", ingot.path("out.html")], 3, "missing.jsonl")
    ingot.check_error([tool, folder, "-o", folder / "a.jsonl"], 2, "-o")
    ingot.check_error([tool], 2, "RUN")
    check("--title" in ingot.succeed([tool, "--help"]).out, "no help")


@case("report-graph")
def graph(ingot):
    """The graph has the model's nodes and edges, in order."""
    model, page = ingot.path("model.onnx"), ingot.path("compiled.html")
    made = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 20]> m (float[N, 4] x) => (float[N, 4] y)'
        " <float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}>"
        " { a = Relu(x) b = MatMul(a, w) c = Sigmoid(b) d = Tanh(b) e = Mul(c, d) y = Add(e, a) }"
    )
    for node in made.graph.node:
        node.name = "node " + node.output[0]
    onnx.save(made, model)
    flags = ["--loss", "cross-entropy", "--optimizer", "sgd", "--batch", "8", "--report", page]
    ingot.succeed(ingot.ingotc(model, "-o", ingot.path("t"), *flags))
    nodes = page_data(page)["compilations"][0]["graph"]
    names = [node["name"] for node in nodes]
    check(names == ["node " + name for name in "abcdey"], f"nodes {names}")
    makers = {output: node.name for node in made.graph.node for output in node.output}
    for node, source in zip(nodes, made.graph.node):
        got = {names[i] for i in node["inputs"]}
        check(got == {makers[i] for i in source.input if i in makers}, f"{node['name']} takes {got}")
    check(nodes[1]["op"] == "matmul", f"ops {nodes}")


def keep(browser, ingot, name):
    path = ingot.path(name)
    browser.screenshot(path)
    check(path.stat().st_size > 20000, f"{name}: an empty picture")
    SHOTS.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, SHOTS)


def boxes(browser, selector):
    """The rectangles of elements: left, top, right, bottom."""
    return browser.evaluate(
        f"[...document.querySelectorAll('{selector}')].map((e) => e.getBoundingClientRect())"
        ".filter((r) => r.width).map((r) => [r.left, r.top, r.right, r.bottom])"
    )


def corners(browser, selector):
    """The corners of texts, which may be turned."""
    return browser.evaluate(
        f"[...document.querySelectorAll('{selector}')].map((e) => {{ const b = e.getBBox(), m = e.getScreenCTM();"
        " return [[0, 0], [1, 0], [1, 1], [0, 1]].map(([i, k]) => new DOMPoint(b.x + i * b.width, b.y + k * b.height)"
        ".matrixTransform(m)).map((p) => [p.x, p.y]) })"
    )


def are_apart(one, other):
    """Whether a line along a side of one of two rectangles separates them; a pixel of overlap is none."""
    for box in (one, other):
        for (x, y), (u, v) in zip(box, box[1:] + box[:1]):
            length = np.hypot(u - x, v - y)
            along = [[(p * (v - y) - q * (u - x)) / length for p, q in each] for each in (one, other)]
            if max(along[0]) <= min(along[1]) + 1 or max(along[1]) <= min(along[0]) + 1:
                return True
    return False


def check_layout(browser, name):
    """Texts keep clear of each other, headers stand over their columns, and charts fill their cards."""
    for card in range(2):
        labels = corners(browser, f"#kernels .roofline:nth-of-type({2 * card + 1}) text.label")
        check(len(labels) == 5, f"{name}: roofs of {len(labels)} kinds: cache, memory, convolution, matmul, the rest")
        for i, a in enumerate(labels):
            for b in labels[:i]:
                check(are_apart(a, b), f"{name}: names of roofs over each other: {a} {b}")
    for head, cell in zip(boxes(browser, "#steps thead th"), boxes(browser, "#steps tbody tr:first-child > *")):
        check(abs(head[2] - cell[2]) < 1, f"{name}: a header ends at {head[2]}, its column at {cell[2]}")
    texts = browser.evaluate("[...document.querySelectorAll('#steps tbody td:nth-child(2)')].map((e) => e.textContent)")
    check(len({len(text.partition(".")[2]) for text in texts}) == 1, f"{name}: decimals of {texts}")
    cards, charts = boxes(browser, "#curves > .grid .card"), boxes(browser, "#curves > .grid .card .holder > svg")
    check(len(cards) == len(charts) > 8, f"{name}: {len(cards)} cards, {len(charts)} charts")
    for card, chart in zip(cards, charts):
        check(card[3] - chart[3] < 20, f"{name}: {card[3] - chart[3]} pixels below a chart are empty")
    axes = browser.evaluate("[...document.querySelectorAll('#curves > .grid text.name')].map((e) => e.textContent)")
    check(axes == ["steps"] * len(charts), f"{name}: names of axes {axes}")
    summary = browser.evaluate("document.querySelector('#runs').textContent")
    check("nothing to gain" not in summary, f"{name}: {summary}")
    longest = browser.evaluate("Math.max(...[...document.querySelectorAll('#remarks tr')].map((e) => e.clientHeight))")
    check(longest < 260, f"{name}: a remark of {longest} pixels")


# Draws rooflines of random kernels on random machines, and collects the names of their roofs.
DRAW_ROOFLINES = """
(() => {
  let state = 12345;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const between = (low, high) => low * Math.exp(random() * Math.log(high / low));
  const card = addCard(document.body,
    '<div class="holder"></div><p class="readout"></p><p class="roofs"></p><p class="rest"></p>');
  card.id = "drawn";
  window.drawRandomly = (rounds) => Array.from({ length: rounds }, () => {
    const memory = between(5e9, 5e11), vector = between(1e10, 1e12);
    const rates = [vector, vector * between(0.9, 20), vector * between(0.9, 20)];
    const roofs = { compute: ["other arithmetic", "matmul", "convolution"].map((name, i) => [name, rates[i]]),
      memory: [["cache", memory * between(1.02, 8)], ["memory", memory]] };
    const kernels = Array.from({ length: 4 + Math.floor(random() * 40) }, () => {
      const bytes = between(1e3, 1e8), time = between(1, 1e4), flops = bytes * between(0.05, 200);
      return { name: "k", part: "model", kind: "matmul", flops, bytes, time, total: time, calls: 1, measured: true };
    });
    drawRoofline(card, kernels, roofs);
    return [...card.querySelectorAll("text.label")].map((e) => { const b = e.getBBox(), m = e.getScreenCTM();
      return [[0, 0], [1, 0], [1, 1], [0, 1]].map(([i, k]) => new DOMPoint(b.x + i * b.width, b.y + k * b.height)
        .matrixTransform(m)).map((p) => [p.x, p.y]); });
  });
})()
"""


@case("report-roofs")
def roofs(ingot):
    """The names of roofs are apart on any machine, also where its rates are nearly equal."""
    page = ingot.path("report.html")
    ingot.succeed([ingot.bin / "ingot-report", *make_runs(ingot), "-o", page])
    with Browser(page.as_uri()) as browser:
        browser.evaluate(DRAW_ROOFLINES)
        for width in (1280, 390):
            browser.resize(width, 800)
            for at, labels in enumerate(browser.evaluate("drawRandomly(60)")):
                for i, a in enumerate(labels):
                    for b in labels[:i]:
                        check(are_apart(a, b), f"machine {at}, {width} pixels: names over each other: {a} {b}")


@case("report-in-browser")
def in_browser(ingot):
    """A browser without network draws every part, in both colors and at two widths, and keys reach all of it."""
    page = ingot.path("report.html")
    ingot.succeed([ingot.bin / "ingot-report", *make_runs(ingot), "-o", page, "--title", "Digits"])
    with Browser(page.as_uri()) as browser:
        sections = browser.evaluate("[...document.querySelectorAll('section')].map((s) => s.id)")
        wanted = ["runs", "curves", "steps", "diagnosis", "kernels", "memory", "graph", "remarks"]
        check(sections == wanted, f"sections {sections}")
        check(
            browser.evaluate("document.querySelectorAll('[data-metric=loss] path[stroke-width=\"1.8\"]').length") == 2,
            "curves",
        )
        marks = browser.evaluate(
            "[...document.querySelectorAll('[data-metric=loss] a.checkpoint')].map((e) => e.getAttribute('href'))"
        )
        rows = browser.evaluate("[...document.querySelectorAll('.checkpoints tbody tr')].map((e) => '#' + e.id)")
        check(len(marks) >= 4 and marks == rows, f"checkpoints {marks} in a curve, {rows} in the table")
        check(browser.evaluate("document.querySelectorAll('.roofline circle').length") > 10, "points of the roofline")
        check(browser.evaluate("document.querySelectorAll('.roofline').length") == 2, "a roofline for each run")
        check(browser.evaluate("document.querySelectorAll('.kernel:not(.free)').length") > 4, "outlines of kernels")
        check(browser.evaluate("document.querySelectorAll('.edge').length") > 4, "edges")
        for width, height, dark, name in (
            (1280, 900, False, "report-light.png"), (1280, 900, True, "report-dark.png"),
            (820, 900, False, "report-middle.png"), (390, 800, False, "report-narrow.png"),
        ):  # fmt: skip
            browser.resize(width, height)
            browser.set_media(dark)
            over = browser.evaluate("document.documentElement.scrollWidth - innerWidth")
            check(over <= 0, f"{name}: {over} pixels wider than the window")
            check_layout(browser, name)
            keep(browser, ingot, name)
        browser.resize(1280, 900)
        browser.set_media(False)

        # Keys only: from the top through everything that can be reached.
        browser.evaluate("scrollTo(0, 0), document.activeElement.blur()")
        browser.press("Tab")
        check(browser.evaluate("document.activeElement.className") == "skip", "the first stop")
        reached = set()
        for _ in range(120):
            browser.press("Tab")
            reached.add(browser.evaluate("(document.activeElement.closest('section') || {}).id"))
        check(set(wanted[1:]) - {"diagnosis", "steps"} <= reached, f"the Tab key reaches {reached}")
        ring = "getComputedStyle(document.activeElement).outlineStyle"
        focus = "document.querySelector('[data-metric=loss] svg').focus()"
        browser.evaluate(focus)
        browser.press("ArrowRight", 5)
        check(browser.evaluate(ring) != "none", "no sign of the focus")
        said = browser.evaluate("document.querySelector('[data-metric=loss] .readout').textContent")
        check(said.startswith("step 5: adamw "), f"the cursor says {said!r}")
        browser.evaluate("document.querySelector('.roofline svg').focus()")
        browser.press("ArrowRight", 2)
        said = browser.evaluate("document.querySelector('.roofline .readout').textContent")
        check("GFLOP/s" in said and "of the best" in said, f"the roofline says {said!r}")
        browser.evaluate("document.querySelector('#graph svg').focus()")
        browser.press("ArrowDown", 3)
        check(browser.evaluate("document.querySelectorAll('#graph .kernel.chosen').length") == 1, "no kernel chosen")
        check("MFLOP" in browser.evaluate("document.querySelector('#graph .details').textContent"), "no details")
        # A run is hidden by its box, which Space switches.
        browser.evaluate("document.querySelector('#curves input[type=checkbox]').focus()")
        browser.press("Space")
        check(
            browser.evaluate("document.querySelectorAll('[data-metric=loss] path[stroke-width=\"1.8\"]').length") == 1,
            "not hidden",
        )
        # A column that is pressed sorts, and the focus stays.
        browser.evaluate("document.querySelector('#kernels th button').focus()")
        browser.press("Enter")
        check(browser.evaluate("document.activeElement.closest('th').ariaSort") == "ascending", "not sorted")

        pdf = ingot.path("report.pdf")
        browser.print(pdf)
        check(pdf.read_bytes().startswith(b"%PDF") and pdf.stat().st_size > 50000, "not printed")
        problems, loaded = browser.problems()
        check(not problems and not loaded, f"{problems} {loaded}")
        check(not browser.evaluate("document.documentElement.dataset.error"), "an error of a script")


@case("report-hostile")
def hostile(ingot):
    """Names that would be markup stay text, and broken figures do not stop the page."""
    name = "</script><img src=x onerror=document.documentElement.dataset.error=1>\"'&"
    model, page = ingot.path("model.onnx"), ingot.path("compiled.html")
    made = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 20]> m (float[N, 4] x) => (float[N, 2] y)'
        " <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { h = Relu(x) y = MatMul(h, w) }"
    )
    for i, node in enumerate(made.graph.node):
        node.name = name + str(i)
    onnx.save(made, model)
    flags = ["--loss", "cross-entropy", "--optimizer", "sgd", "--batch", "4", "--report", page]
    ingot.succeed(ingot.ingotc(model, "-o", ingot.path("t"), *flags))
    log, joined = ingot.path("log.jsonl"), ingot.path("joined.html")
    rows = [{"step": 1, "loss": None, "step_ms": 0}, {"step": 2, name: 1e308, "loss": -1e308, "step_ms": 1e308}]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ingot.succeed([ingot.bin / "ingot-report", log, page, "-o", joined, "--title", name])
    for path in (page, joined):
        with Browser(path.as_uri()) as browser:
            check(not browser.evaluate("document.documentElement.dataset.error"), f"{path}: a script of a name ran")
            check(browser.evaluate("document.images.length") == 0, f"{path}: an element of a name")
            problems, _ = browser.problems()
            check(not problems, f"{path}: {problems}")
