# SPDX-License-Identifier: Apache-2.0
"""Draws a plot as SVG by Vega-Lite. Its colours are variables of CSS, so that it fits a light and a dark page."""

import json
import math
import re
import textwrap
import xml.etree.ElementTree as ElementTree

import vl_convert
from compact import SVG, simplify
from plots import place_name

#: Colours of the series for a light and for a dark page. Charts are drawn in the light ones, which become variables.
SERIES = [
    ("#0057b7", "#6fb1ff"), ("#c2410b", "#ff9a5c"), ("#00795b", "#3ecf9e"), ("#9c2f8f", "#e38ad9"),
    ("#876a01", "#e2c244"), ("#007792", "#4fd3ed"), ("#5a5a61", "#b4b4bb"), ("#d1346c", "#ff8fb1"),
]
COLOURS = {
    **{f"s{number}": pair for number, pair in enumerate(SERIES)},
    "text": ("#1c1c22", "#ececf0"), "quiet": ("#55555f", "#b9b9c4"), "grid": ("#d8d8df", "#3b3b45"), "page": ("#fefefe", "#17171c"),
}
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"]
DASHES = {"ours": [1, 0], "rival": [5, 3], "limit": [1, 3]}
#: An axis is logarithmic if its values span more than this.
MOST_LINEAR = 16
FONTS = "Arial,'Liberation Sans',Helvetica,sans-serif"
#: Texts are laid out larger than they are drawn, because a reader's font may be wider than Vega's.
MEASURED, DRAWN = 13, 11
LONGEST = 36  # letters of a title of an axis
PANEL, ALONE, CROWDED, HEIGHT = 300, 400, 540, 210


def variables():
    """Returns the style sheet of the colours."""
    light, dark = (" ".join(f"--{name}:{pair[mode]};" for name, pair in COLOURS.items()) for mode in (0, 1))
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def families_of(names):
    """Returns a family and a variant of each name, such that neither are more than the colours; None if no part of the
    names gives such a division."""
    for division in (r"(.*?) by (.*)", r"(.*), (.*?)", r"(.*?) (.*)"):
        found = {name: re.fullmatch(division, name) for name in names}
        parts = {name: match.groups() if match else (name, "") for name, match in found.items()}
        known = sorted({family for family, variant in parts.values() if variant}, key=len, reverse=True)
        # A limit such as "the bus next to cuda" has the colour of `cuda`.
        parts = {name: (next((each for each in known if name.endswith(each)), parts[name][0]), parts[name][1]) for name in names}
        families, variants = ({part[side] for part in parts.values()} for side in (0, 1))
        if len(families) > 1 and max(len(families), len(variants)) <= len(SERIES):
            return parts
    return None


def looks_of(plot):
    """Returns colour, shape and role of each series. With more series than colours, a family shares a colour."""
    roles = {}
    for _, curve in plot.curves():
        roles.setdefault(curve.name, curve.role())
    names = list(roles)
    parts = families_of(names) if len(names) > len(SERIES) else None
    count = len(SERIES)
    places = {name: (number % count, (number + number // count) % count) for number, name in enumerate(names)}
    if parts:
        families, variants = (list(dict.fromkeys(part[side] for part in parts.values())) for side in (0, 1))
        places = {name: (families.index(parts[name][0]), variants.index(parts[name][1])) for name in names}
    return {name: (SERIES[colour][0], SHAPES[shape], roles[name]) for name, (colour, shape) in places.items()}


def ticks_of(least, most):
    """Returns the ticks of a logarithmic axis: powers of ten, and steps between them if these are few."""
    decades = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    steps = (1, 2, 5) if len(decades) <= 3 else (1,)
    ticks = [step * 10.0**power for power in decades for step in steps if least <= step * 10.0**power <= most * 1.001]
    return ticks[:: 1 + len(ticks) // 9]


def scale_of(values):
    """Returns a logarithmic scale for values that span much, otherwise a linear one."""
    positive = [value for value in values if value > 0]
    if min(values) < 0 or not positive or max(positive) <= MOST_LINEAR * min(positive):
        return {"type": "linear"}
    if min(values) == 0:
        return {"type": "symlog", "constant": min(positive)}
    return {"type": "log"}


def axis_title(name, unit, kind):
    title = ", ".join(part for part in (name, unit) if part not in ("", "B"))
    return textwrap.wrap(f"{title} (log)" if kind in ("log", "symlog") else title, LONGEST)


def value_axis(plot):
    """Returns scale and axis of the measured values."""
    bounds = [bound for _, curve in plot.curves() for point in curve.points for bound in (point.value.least, point.value.most)]
    scale = scale_of(bounds)
    axis = {"title": axis_title(plot.unit, "", scale["type"]), "format": ",.3~r", "tickCount": 5}
    if scale["type"] == "log":
        axis["values"] = ticks_of(min(bounds), max(bounds))
    is_linear = scale["type"] == "linear"
    return {"scale": {**scale, "zero": is_linear, "nice": is_linear, "padding": 0 if is_linear else 8}, "axis": axis}


def place_axis(plot):
    """Returns scale and axis of numeric places. Its ticks are the places."""
    places = plot.places()
    scale = scale_of(places)
    names = json.dumps({f"{place:.15g}": place_name(place, plot.x_unit) for place in places})
    axis = {"title": axis_title(plot.x, plot.x_unit, scale["type"]), "values": places, "labelOverlap": "greedy", "labelSeparation": 8}
    return {"scale": {**scale, "nice": False, "zero": False, "padding": 12}, "axis": {**axis, "labelExpr": f"({names})[''+datum.value] || datum.label"}}


def rows_of(plot, letters):
    return [
        {"machine": letters[document], "series": curve.name, "place": point.place,
         "value": point.value.median, "least": point.value.least, "most": point.value.most}
        for document, curve in plot.curves() for point in curve.points
    ]  # fmt: skip


def layers_of(plot, values, places):
    """Returns the marks: a bar from the least to the greatest sample, a line between places, and a point."""
    if plot.is_by_words():
        place = {"field": "place", "type": "nominal", "sort": plot.places(), "title": None, "axis": {"labelLimit": 190, "ticks": False}}
        across = {"y": place, "yOffset": {"field": "series", "sort": plot.names()}}
        ends = {"x": {"field": "least", "type": "quantitative", **values}, "x2": {"field": "most"}}
        middle = {"x": {"field": "value", "type": "quantitative", **values}}
    else:
        across = {"x": {"field": "place", "type": "quantitative", **places}}
        ends = {"y": {"field": "least", "type": "quantitative", **values}, "y2": {"field": "most"}}
        middle = {"y": {"field": "value", "type": "quantitative", **values}}
    layers = [{"mark": {"type": "rule", "strokeWidth": 1}, "encoding": {**across, **ends}}]
    dash = {"field": "series", "legend": None}
    if not plot.is_by_words():
        layers.append({"mark": {"type": "line", "strokeWidth": 1.6}, "encoding": {**across, **middle, "strokeDash": dash}})
    looks = {channel: {"field": "series"} for channel in ("shape", "fill")}
    layers.append({"mark": {"type": "point", "size": 42, "strokeWidth": 1.4, "opacity": 1}, "encoding": {**across, **middle, **looks}})
    return layers


def with_scales(layers, looks):
    """Adds the looks of each series. Points of rivals and limits are hollow."""
    def scale(*values):
        return {"scale": {"domain": list(looks), "range": list(values)}, "type": "nominal", "title": None, "sort": None}

    columns = max(1, min(6, 640 // (40 + 7 * max(map(len, looks)))))
    legend = {"orient": "bottom", "columns": columns, "labelLimit": 420, "symbolSize": 60, "columnPadding": 14}
    scales = {
        "color": {**scale(*(look[0] for look in looks.values())), "legend": legend},
        "shape": {**scale(*(look[1] for look in looks.values())), "legend": legend},
        "fill": {**scale(*(look[0] if look[2] == "ours" else COLOURS["page"][0] for look in looks.values())), "legend": legend},
        "strokeDash": scale(*(DASHES[look[2]] for look in looks.values())),
    }
    for layer in layers:
        layer["encoding"]["color"] = {"field": "series", **scales["color"]}
        for channel in scales.keys() & layer["encoding"].keys():
            layer["encoding"][channel] |= scales[channel]
    return layers


def config():
    text, quiet, grid = (COLOURS[name][0] for name in ("text", "quiet", "grid"))
    labels = {"labelColor": text, "titleColor": text, "labelFontSize": MEASURED, "titleFontSize": MEASURED, "titleFontWeight": "normal"}
    return {
        "font": "sans-serif", "background": None, "view": {"stroke": grid},
        "axis": {**labels, "gridColor": grid, "domainColor": quiet, "tickColor": quiet},
        "legend": labels, "header": labels,
    }  # fmt: skip


def specification(plot, letters):
    """Returns the Vega-Lite specification. `letters` name the machines."""
    size = PANEL if len(plot.panels) > 1 else ALONE if len(plot.names()) <= len(SERIES) else CROWDED
    values = value_axis(plot)
    layers = with_scales(layers_of(plot, values, None if plot.is_by_words() else place_axis(plot)), looks_of(plot))
    height = {"step": max(5, 24 // len(plot.names())), "for": "offset"} if plot.is_by_words() else HEIGHT
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": rows_of(plot, letters)},
        "facet": {"field": "machine", "title": None, "header": {"labelAnchor": "start", "labelLimit": size}},
        "columns": 2,
        "spec": {"width": size, "height": height, "layer": layers},
        "config": config(),
    }


def description(plot):
    places = plot.places()
    ends = f"from {place_name(places[0], plot.x_unit)} to {place_name(places[-1], plot.x_unit)}"
    over = f" by {plot.x} {'' if plot.is_by_words() else ends}" if plot.x else ""
    return f"{plot.title}, {plot.unit},{over}: {', '.join(plot.names())}. The table has the figures.".replace(" :", ":")


def element_of(plot, letters, shapes):
    """Returns the chart as an element for a page that has definitions_of(shapes) once."""
    root = simplify(ElementTree.fromstring(vl_convert.vegalite_to_svg(specification(plot, letters))), shapes)
    root.set("role", "img")
    root.set("aria-label", description(plot))
    svg = ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")
    svg = svg.replace(f'font-size="{MEASURED}px"', f'font-size="{DRAWN}px"')
    for name, (light, _) in COLOURS.items():
        svg = svg.replace(f'"{light}"', f'"var(--{name})"')
    return svg


def definitions_of(shapes):
    return "<defs>" + "".join(f'<path id="{name}" d="{outline}"/>' for outline, name in shapes.items()) + "</defs>"


def file_of(element, shapes, lines):
    """Returns a chart as a complete file, with lines of text above it."""
    root = ElementTree.fromstring(element)
    width, height = (int(float(root.get(name))) for name in ("width", "height"))
    width, above = max([width, *(7 * len(line) for line in lines)]), 18 * len(lines)
    for name, value in (("xmlns", SVG), ("width", width), ("height", height + above), ("viewBox", f"0 {-above} {width} {height + above}")):
        root.set(name, str(value))
    for number, line in enumerate(lines):
        weight = "normal" if number else "bold"
        text = {"x": "4", "y": str(18 * number + 14 - above), "font-size": "13px", "font-weight": weight, "fill": "var(--text)"}
        ElementTree.SubElement(root, "text", text).text = line
    svg = ElementTree.tostring(root, encoding="unicode")
    style = f"<style>{variables()}text{{font-family:{FONTS}}}</style>"
    used = {outline: name for outline, name in shapes.items() if f'"#{name}"' in svg}
    return svg.replace(">", f">{style}{definitions_of(used)}", 1) + "\n"
