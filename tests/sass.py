# SPDX-License-Identifier: Apache-2.0
"""Reads kernels of NVIDIA GPUs: their machine code (SASS) as nvdisasm prints it, and the constants that they read.

The tools are in the Python packages nvidia-cuda-nvdisasm and nvidia-cuda-cuobjdump."""

import re
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ARCHITECTURE = "sm_90"


def tool(name):
    """Returns the path of a tool of CUDA, or None: from the path, from a toolkit, or from a Python package."""
    places = [Path(each) / "nvidia/cu13/bin" / name for each in sys.path] + [Path("/usr/local/cuda/bin") / name]
    return shutil.which(name) or next((str(each) for each in places if each.exists()), None)


@dataclass(frozen=True)
class Instruction:
    """One instruction: guard ("P0", "!UP1" or ""), opcode with its modifiers, operands as text."""

    address: int
    guard: str
    opcode: str
    operands: tuple
    text: str


@dataclass
class Kernel:
    """The code of a kernel, with the functions that it calls, and the data that it reads."""

    name: str
    code: dict = field(default_factory=dict)
    labels: dict = field(default_factory=dict)
    constants: dict = field(default_factory=dict)  # bytes of a bank of constants, by number
    data: bytes = b""  # initialised global memory
    pointers: list = field(default_factory=list)  # (bank, place, offset in `data`): addresses in the constants


LINE = re.compile(r"\s*/\*([0-9a-f]+)\*/\s+(?:@(!?U?P[0-9T]+)\s+)?([A-Z0-9_.]+)\s*(.*?)\s*;")


def split_operands(text):
    """Splits at commas outside brackets."""
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    last = text[begin:].strip()
    return tuple(parts + [last] if last else parts)


def parse_code(text, kernel):
    """Adds the instructions of a kernel to it. `text` is the output of nvdisasm for the whole file."""
    begin = text.index(f"\n.text.{kernel.name}:\n")
    end = text.find("\n//-----", begin)
    waiting = []
    for line in text[begin:end].splitlines():
        if found := LINE.match(line):
            address = int(found[1], 16)
            kernel.labels.update((label, address) for label in waiting)
            waiting = []
            operands = re.sub(r"\s*\(\*.*?\*\)", "", found[4].replace(".reuse", ""))
            kernel.code[address] = Instruction(address, found[2] or "", found[3], split_operands(operands), line.split("*/")[1].strip())
        elif re.match(r"\S+:$", line):
            waiting.append(line[:-1])


class Elf:
    """The sections of a cubin."""

    def __init__(self, content):
        self.content = content
        table, entry, count, names = *struct.unpack_from("<Q", content, 0x28), *struct.unpack_from("<HHH", content, 0x3A)
        headers = [struct.unpack_from("<IIQQQQIIQQ", content, table + entry * i) for i in range(count)]
        name_of = lambda at: content[headers[names][4] + at : content.index(b"\0", headers[names][4] + at)].decode()  # noqa: E731
        self.names = [name_of(each[0]) for each in headers]
        self.sections = {
            name: content[each[4] : each[4] + each[5]] if each[1] != 8 else b"" for name, each in zip(self.names, headers, strict=True)
        }

    def symbol(self, index):
        """Returns the section of a symbol and its offset there."""
        _, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", self.sections[".symtab"], 24 * index)
        return self.names[section], value


def read_constants(content, kernel):
    """Adds the constants and the initialised memory of a cubin to a kernel."""
    elf = Elf(content)
    kernel.data = elf.sections.get(".nv.global.init", b"")
    for name, bytes_of in elf.sections.items():
        found = re.fullmatch(r"\.nv\.constant([1-9]\d*)(\..*)?", name)
        if found and found[2] in (None, "." + kernel.name):
            kernel.constants[int(found[1])] = bytearray(bytes_of)
        found = re.fullmatch(r"\.rela\.nv\.constant(\d+)", name)
        for at in range(0, len(bytes_of), 24) if found else ():
            place, info, addend = struct.unpack_from("<QQq", bytes_of, at)
            section, offset = elf.symbol(info >> 32)
            assert section == ".nv.global.init", f"constants point to {section}"
            kernel.pointers.append((int(found[1]), place, offset + addend))


def kernels_of_cubin(path, pattern):
    """Returns the kernels of a cubin whose names match."""
    text = subprocess.run([tool("nvdisasm"), "-c", path], capture_output=True, text=True, check=True).stdout
    kernels = []
    for name in re.findall(r"^\.text\.(\S+):$", text, re.MULTILINE):
        if re.search(pattern, name):
            kernel = Kernel(name)
            parse_code(text, kernel)
            read_constants(Path(path).read_bytes(), kernel)
            kernels.append(kernel)
    return kernels


def cubins_of_program(program, folder):
    """Writes the cubins of a program into an empty folder, and returns their paths. A program without any has none."""
    subprocess.run([tool("cuobjdump"), "-xelf", ARCHITECTURE, Path(program).resolve()], cwd=folder, capture_output=True)
    return sorted(Path(folder).glob("*.cubin"))
