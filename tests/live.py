# SPDX-License-Identifier: Apache-2.0
"""Runs commands of a running router, for the tests of their effects."""

import json
import re

import conftest

PORTS = [
    {"name": "wan", "device": "synth:dst=uniform,rate=5k,seed=3", "sink": "count"},
    {"name": "lan", "device": "none", "sink": "count", "addresses": ["192.0.2.254/24"]},
    {"name": "dmz", "device": "none", "sink": "count"},
]
ROUTES = "default via 192.0.2.1 dev lan\n10.0.0.0/8 via 192.0.2.1 dev lan metric 20\n"
NEIGHBOURS = "192.0.2.1 dev lan lladdr 02:aa:00:00:00:01\n192.0.2.2 dev dmz lladdr 02:aa:00:00:00:02\n"


class Commands:
    """Runs the program with the socket of one router."""

    def __init__(self, bench):
        self.bench = bench

    def try_to(self, *words, **options):
        return conftest.penumbra(*words, "--socket", self.bench.folder / "ctl", **options)

    def do(self, *words, **options):
        """Returns the changes as (stage, added, removed, changed)."""
        done = self.try_to(*words, "-j", **options)
        assert done.returncode == 0, done.stderr
        changes = json.loads(done.stdout)["changes"]
        return [(each["stage"], each["added"], each["removed"], each["changed"]) for each in changes]

    def refused(self, *words, **options):
        """Returns the exit code and the message."""
        done = self.try_to(*words, **options)
        return done.returncode, done.stderr.removeprefix("penumbra: ").rstrip("\n")


def routes(router):
    """Returns the IPv4 routes: (prefix, metric) -> next hops or type."""
    shown = router.show("routes", "all")
    rows = shown.get("ipv4", shown)["routes"]
    return {
        (row["prefix"], row["metric"]): [(hop.get("via"), hop["dev"]) for hop in row.get("next_hops", [])] or row["type"]
        for row in rows
        if row["source"] == "route"
    }


def acl(router):
    return [row["entry"] for row in router.show("acl", "all")["acl"]][:-1]


def same(first, second):
    """Returns True if the tables are equal, apart from the numbers of next hops."""
    strip = re.compile(r'"(id|packets|bytes|line|last_hit_seconds_ago)": [^,}]*')
    return strip.sub("", json.dumps(first)) == strip.sub("", json.dumps(second))
