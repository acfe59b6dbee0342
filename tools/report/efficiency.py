# SPDX-License-Identifier: Apache-2.0
"""Divides the best rate of ours, on a CPU and on a GPU, by prices and by power, as figure 3 of APUNet does."""

from plots import figure, matches, place_name

RATES = "packets/s|lookups/s|look-ups/s|headers/s|Gbit/s$"


def best_of_ours(document, panel, on_gpu):
    """Tells by the engine in the name whether a GPU was used. `auto` uses a GPU if the machine has one."""
    on_gpus = "cuda|gpu" + ("|^auto" if "gpu" in document.machine else "")
    points = [(curve, point) for curve in panel.values() if curve.role() == "ours" for point in curve.points]
    points = [each for each in points if any(matches(on_gpus, part.name) for part in each) == on_gpu]
    return max(points, key=lambda each: each[1].value.median, default=None)


def watts_of(document, plot):
    """Returns the power during the benchmark of the plot: by kind of meter."""
    for entry in document.entries:
        is_of_plot = plot.measurement in (entry.get("measurements") or []) if plot.measurement else not entry.get("measurements")
        if entry["benchmark"] == plot.benchmark and is_of_plot:
            return entry.get("watts") or {}
    return {}


def per_watt(rate, watts, on_gpu):
    """Returns the rate per watt, or an empty text without a meter. A processor feeds a GPU, so both count for it."""
    processors, gpus = watts.get("processors"), watts.get("gpus")
    known = [each for each in ([processors, gpus] if on_gpu else [processors]) if each]
    if not known or (on_gpu and not gpus):
        return ""
    return figure(rate / sum(known)) + (" of the GPU alone" if on_gpu and not processors else "")


def per_dollars(rate, document, prices, on_gpu):
    parts = [document.machine.get(kind) for kind in (("processor", "gpu") if on_gpu else ("processor",))]
    found = [next((dollars for pattern, dollars in prices if part and matches(pattern, part)), None) for part in parts]
    return figure(1000 * rate / sum(found)) if all(found) else ""


def efficiency(plots, documents, prices):
    """Returns rows of machine, plot, series, rate, rate per 1000 dollars, rate per watt: those with a price or power."""
    rows = []
    for plot in plots:
        if plot.is_table or not matches(RATES, plot.unit):
            continue
        for number, panel in plot.panels.items():
            for on_gpu in (False, True):
                best = best_of_ours(documents[number], panel, on_gpu)
                rate = best[1].value.median if best else 0
                watts = watts_of(documents[number], plot)
                costs = (per_dollars(rate, documents[number], prices, on_gpu), per_watt(rate, watts, on_gpu))
                if not best or not any(costs):
                    continue
                place = place_name(best[1].place, plot.x_unit) + ("" if plot.x_unit in ("", "B") else f" {plot.x_unit}")
                series = f"{best[0].name}, {plot.x}: {place}"
                rows.append((number, f"{plot.section()} {plot.title}", series, f"{figure(rate)} {plot.unit}", *costs))
    return rows
