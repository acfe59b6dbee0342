# SPDX-License-Identifier: Apache-2.0
"""Shortens the SVG of Vega to a tenth: it merges marks of the same look, and removes what a reader does not need."""

import re
import xml.etree.ElementTree as ElementTree

SVG = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", SVG)
#: Attributes that are removed, and values that are the default.
NEEDLESS = {"role", "class", "font-family", "pointer-events", "stroke-miterlimit", "version", "display"}
DEFAULTS = {"opacity": "1", "stroke-dasharray": "1,0", "stroke-width": "1", "transform": "translate(0,0)", "font-weight": "normal"}
TRANSLATION = re.compile(r"translate\((-?[\d.]+),(-?[\d.]+)\)$")


def rounded(text):
    return re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.1f}".removesuffix(".0").replace("-0.0", "0"), text)


def place_of(element):
    """Returns x and y of an element that is only moved, or None."""
    return (found := TRANSLATION.match(element.get("transform", ""))) and found.groups()


def stroke_of(x, y):
    """Returns the part of a path that draws a straight line to a relative place."""
    return f"v{y}" if x == "0" else f"h{x}" if y == "0" else f"l{x},{y}"


def look_of(element):
    """Returns what elements must share to be merged: everything but the place."""
    but = {"transform", "x2", "y2"} if element.tag == "line" else {"transform"}
    return element.tag, tuple(sorted((name, value) for name, value in element.items() if name not in but))


def merged(elements, shapes):
    """Returns one element for neighbours of one look. Lines become one path; points refer to a shape, by its text."""
    tag, attributes = look_of(elements[0])
    attributes = dict(attributes)
    if tag == "line":
        parts = (f"M{','.join(place_of(each))}{stroke_of(each.get('x2', '0'), each.get('y2', '0'))}" for each in elements)
        return ElementTree.Element("path", d="".join(parts), **attributes)
    if tag == "text" and len(elements) == 1:
        return None
    outline = attributes.pop("d", None)
    shape = shapes.setdefault(outline, f"p{len(shapes)}") if outline else None
    group = ElementTree.Element("g", attributes)
    for each in elements:
        x, y = place_of(each)
        part = ElementTree.SubElement(group, *(("use", {"href": f"#{shape}"}) if shape else ("text",)), x=x, y=y)
        part.text = each.text
    return group


def merge_children(element, shapes):
    children, run = [], []

    def end_run():
        one = merged(run, shapes) if run else None
        children.extend([one] if one is not None else run)
        run.clear()

    for child in element:
        is_mark = child.tag in ("line", "path", "text") and len(child) == 0 and place_of(child)
        if run and not (is_mark and look_of(child) == look_of(run[0])):
            end_run()
        (run if is_mark else children).append(child)
    end_run()
    element[:] = children


def is_seen(element):
    if element.tag == "g" or element.get("opacity") == "0":
        return len(element) > 0
    return element.tag != "path" or bool({"fill", "stroke"} & element.attrib.keys()) and bool(element.get("d"))


def simplify(element, shapes):
    """Shortens a chart. Adds the outline of each kind of point to `shapes`, with its id. Returns the element."""
    element.tag = element.tag.removeprefix(f"{{{SVG}}}")
    for name in [name for name in element.keys() if name in NEEDLESS or name.startswith("aria-")]:
        del element.attrib[name]
    for name, value in element.items():
        element.set(name, rounded(value))
        if rounded(value) == DEFAULTS.get(name):
            del element.attrib[name]
    if element.get("fill") == "none" and element.tag != "g":
        del element.attrib["fill"]
    for child in element:
        simplify(child, shapes)
    children = []
    for child in filter(is_seen, element):
        children += list(child) if child.tag == "g" and not child.attrib else [child]
    element[:] = children
    merge_children(element, shapes)
    return element
