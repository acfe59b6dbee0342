# SPDX-License-Identifier: Apache-2.0
"""Compares the packet parser with tshark, frame by frame, on every real capture. `print_headers` prints what the parser
finds, `tshark_headers.lua` what tshark finds. `parser_differences.txt` lists the frames that both read differently."""

import hashlib
import os
import pathlib
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

import conftest
import corpus as corpora
import needs
from captures import Frame, write_pcap
from exclusive import exclusive

TESTS = pathlib.Path(__file__).parent
PRINT_HEADERS = conftest.PROGRAM.parent.parent / "tests" / "print_headers"
CACHE = conftest.ROOT / "build" / "tshark"
COLUMNS = ["ethertype", "tags", "tci", "network", "source", "destination", "protocol", "transport", "end", "fragment"]
COLUMNS += ["ports", "payload"]
FIRST_UNPARSABLE = 4  # HeaderFault::frame_cut
DATA_OFFSET = 2  # HeaderFault::data_offset
#: tshark dissects only these protocols, so that the headers are those of the outermost stack.
PROTOCOLS = "frame eth ethertype vlan ieee8021ad llc arp ip ipv6 ipv6.hopopts ipv6.routing ipv6.fraghdr"
PROTOCOLS += " ipv6.dstopts ah esp shim6 mipv6 hip tcp udp udplite sctp dccp icmp icmpv6 data"
OPTIONS = "ip.defragment:FALSE ipv6.defragment:FALSE ip.tso_support:FALSE ipv6.tso_support:FALSE eth.fcs:Never"
OPTIONS += " tcp.desegment_tcp_streams:FALSE tcp.analyze_sequence_numbers:FALSE vlan.qinq_ethertype:0x88a8"
PROCESSES = 2  # of tshark, each for a part of the frames


class Named(NamedTuple):
    name: str  #: path of the capture and number of the frame
    frame: Frame


def named_frames(corpus):
    """Returns all frames, and the packets of captures without Ethernet again after an Ethernet header."""
    frames = []
    for file in corpus.ethernet + corpus.oversized + corpus.foreign:
        path = file.path.relative_to(conftest.CACHE)
        offset = corpora.RAW_IP_OFFSETS.get(file.capture.link_type)
        for number, frame in enumerate(file.capture.frames, 1):
            frames.append(Named(f"{path} {number}", frame))
            if file.capture.link_type != corpora.ETHERNET and offset is not None:
                data = corpora.with_ethernet(frame.data[offset:])
                length = frame.original_length + len(data) - len(frame.data)
                frames.append(Named(f"{path} {number} ip", Frame(0, data, length)))
    return frames


def write_frames(path, frames):
    write_pcap(path, [named.frame._replace(time_ns=0) for named in frames])


def tshark(*arguments, **environment):
    command = ["tshark", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, **environment})
    assert done.returncode == 0 and "Lua" not in done.stderr, done.stderr
    return done.stdout


def headers_by_tshark(capture, output, profile):
    """Returns the columns by the number of the frame."""
    options = [word for option in OPTIONS.split() for word in ("-o", option)]
    script = f"lua_script:{TESTS / 'tshark_headers.lua'}"
    tshark("-n", "-Q", "-r", capture, "-X", script, *options, WIRESHARK_CONFIG_DIR=str(profile), HEADERS=str(output))


def kept_headers(frames, folder):
    """Returns tshark's columns of all frames, a line each. They are kept in the folder, because tshark takes a minute."""
    digest = hashlib.sha256((TESTS / "tshark_headers.lua").read_bytes())
    digest.update(f"{PROTOCOLS}{OPTIONS}{PROCESSES}{tshark('--version').splitlines()[0]}".encode())
    for named in frames:
        digest.update(named.frame.data)
    kept = folder / f"headers-{digest.hexdigest()[:16]}.txt"
    if not kept.exists():
        names = {line.split("\t")[2] for line in tshark("-G", "protocols").splitlines() if line.count("\t") >= 2}
        (folder / "disabled_protos").write_text("\n".join(sorted(names - set(PROTOCOLS.split()))))
        share = -(-len(frames) // PROCESSES)
        parts = []
        for part in range(PROCESSES):
            capture = folder / f"part{part}.pcap"
            write_frames(capture, frames[part * share : (part + 1) * share])
            parts.append(capture)
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda part: headers_by_tshark(part, part.with_suffix(".txt"), folder), parts))
        lines = [""] * len(frames)
        for part, capture in enumerate(parts):
            for line in capture.with_suffix(".txt").read_text().splitlines():
                number, columns = line.split("\t", 1)
                lines[part * share + int(number) - 1] = columns
            capture.unlink()
            capture.with_suffix(".txt").unlink()
        kept.with_suffix(".new").write_text("\n".join(lines))
        kept.with_suffix(".new").rename(kept)
    return kept.read_text().split("\n")


def limited(column, length):
    """Returns an offset that tshark takes from a length field, at most the frame's length."""
    return str(min(int(column), length)) if column else ""


def difference(named, ours, theirs):
    """Returns the columns that differ, with both values. Of an unparsable frame, the parser and tshark may know
    different columns, but tshark must not know a protocol or ports that the parser does not."""
    fault, *found = ours.split("\t")
    if theirs == "":
        return "tshark prints nothing"
    wanted = theirs.split("\t")
    for column in ("end", "payload"):
        wanted[COLUMNS.index(column)] = limited(wanted[COLUMNS.index(column)], len(named.frame.data))
    if int(fault) == DATA_OFFSET:
        found[-1] = wanted[-1] = ""
    pairs = list(zip(COLUMNS, found, wanted, strict=True))
    if int(fault) >= FIRST_UNPARSABLE:
        must = ("protocol", "ports")
        pairs = [pair for pair in pairs if all(pair[1:]) or (pair[0] in must and pair[2])]
    return ", ".join(f"{column} {a or '-'} not {b or '-'}" for column, a, b in pairs if a != b)


def listed_differences():
    """Returns the reason by frame. A line has the path of a capture, the numbers of frames, and a reason."""
    reasons = {}
    for line in (TESTS / "parser_differences.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        path, numbers, reason = line.split("\t")
        assert reason
        for number in numbers.split(","):
            reasons[f"{path} {number}"] = reason
    return reasons


@needs.tools("tshark")
@pytest.mark.skipif(not PRINT_HEADERS.exists(), reason=f"needs {PRINT_HEADERS.name}, which `make test` builds")
def test_the_parser_reads_every_frame_as_tshark_does(data, tmp_path):
    frames = named_frames(corpora.load(data / "pcap", conftest.CACHE))
    assert len(frames) > 300_000
    with exclusive(CACHE):
        theirs = kept_headers(frames, CACHE)
    capture = tmp_path / "all.pcap"
    write_frames(capture, frames)
    done = subprocess.run([PRINT_HEADERS, capture], capture_output=True, text=True, timeout=300, check=True)
    conftest.check_sanitizers(done.stderr)
    ours = done.stdout.splitlines()
    assert len(ours) == len(theirs) == len(frames)
    found = {}
    for named, our, their in zip(frames, ours, theirs, strict=True):
        if our.split("\t", 1)[1] != their and (text := difference(named, our, their)):
            found[named.name] = text
    listed = listed_differences()
    assert {name: text for name, text in found.items() if name not in listed} == {}, "differences that are not listed"
    assert set(listed) - set(found) == set(), "listed differences that are none"
    assert len(listed) < len(frames) / 1000
