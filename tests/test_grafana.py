# SPDX-License-Identifier: Apache-2.0
"""Compares the Grafana dashboard with the metrics of a router. Each metric of the dashboard must exist, with its
labels."""

import json
import re

import pytest

import conftest
from test_metrics import free_port, get

DASHBOARD = json.loads((conftest.ROOT / "packaging" / "grafana" / "penumbra.json").read_text())
#: Prometheus adds these labels to each sample.
ADDED = {"instance", "job"}
PORTS = [{"name": "wan", "device": "net_null0", "sink": None}, {"name": "lan", "device": "none", "sink": "count"}]
#: `l2` and `megaflows` take every packet, so that they need pipelines of their own.
PIPELINES = [
    "  - flows\n  - ids: {rules: [rules]}\n  - ipsec: {states: sa.txt, policies: sp.txt, marks: marks}\n  - l2",
    "  - megaflows: {socket: megaflows.sock, miss: drop}",
]


def expressions():
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"], target["legendFormat"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["query"], ""


def labels_of(expression, legend):
    """Returns all labels in an expression and its legend."""
    named = set(re.findall(r"\{\{(\w+)\}\}", legend))
    for inside in re.findall(r"\bby \(([^)]*)\)", expression):
        named.update(re.findall(r"\w+", inside))
    for inside in re.findall(r"(?<!\{)\{([^{}]*)\}", expression):
        named.update(re.findall(r"(\w+)\s*(?:=|!)", inside))
    return named


@pytest.fixture(scope="module")
def exposed(tmp_path_factory):
    """Returns the labels of each metric, for routers with every function that the dashboard has panels of."""
    labels = {}
    for pipeline in PIPELINES:
        port = free_port()
        bench = conftest.Bench(tmp_path_factory.mktemp("grafana"))
        for name in ("rules", "sa.txt", "sp.txt"):
            (bench.folder / name).touch()
        bench.configure(PORTS, pipeline=pipeline)
        with bench.config.open("a") as config:
            config.write(f"metrics: {{listen: '127.0.0.1:{port}'}}\n")
        with bench.start() as router:
            text = get(port)[2]
            router.stop()
        for name, inside in re.findall(r"^(penumbra_\w+)(?:\{(.*)\})? ", text, re.MULTILINE):
            labels.setdefault(name, set()).update(re.findall(r'(\w+)="', inside))
    assert len(labels) > 50
    return labels


def test_every_metric_is_exposed_with_the_labels_that_are_asked_for(exposed):
    asked = list(expressions())
    assert len(asked) > 10
    for title, expression, legend in asked:
        names = re.findall(r"penumbra_\w+", expression)
        assert names, title
        for name in names:
            assert name in exposed, f"{title}: {name}"
            missing = labels_of(expression, legend) - exposed[name] - ADDED
            assert not missing, f"{title}: {name} has no {missing}"


@pytest.mark.parametrize("function", ["ids", "ipsec", "megaflows"])
def test_panels_have_every_metric_of_a_function(exposed, function):
    asked = {name for _, expression, _ in expressions() for name in re.findall(r"penumbra_\w+", expression)}
    of_function = {name for name in exposed if name.startswith(f"penumbra_{function}_")}
    assert of_function and of_function <= asked


def test_counters_are_asked_for_by_their_rate():
    for title, expression, _ in expressions():
        for name in re.findall(r"penumbra_\w+_total", expression):
            assert f"rate({name}{{" in expression, f"{title}: {name}"


def test_panels_do_not_lie_upon_each_other():
    taken = set()
    identities = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(identities)) == len(identities)
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + i, place["y"] + j) for i in range(place["w"]) for j in range(place["h"])}
        assert not cells & taken and max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells
        assert panel["title"] and panel["description"] and panel["fieldConfig"]["defaults"]["unit"]
