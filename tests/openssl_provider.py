# SPDX-License-Identifier: Apache-2.0
"""The provider for OpenSSL in tests."""

import os
from pathlib import Path

import conftest

#: A folder with another OpenSSL and its glibc (tools/unpack-openssl), or None for this machine's.
OTHER_OPENSSL = Path(os.environ["PENUMBRA_OPENSSL"]) if "PENUMBRA_OPENSSL" in os.environ else None
MODULE = conftest.PROGRAM.parent.parent / "lib" / "ossl-modules" / "penumbra.so"


def command(program):
    """Returns the words that start a program with the OpenSSL that is tested."""
    if OTHER_OPENSSL is None:
        return [program]
    libraries = OTHER_OPENSSL / "usr/lib/x86_64-linux-gnu"
    own = OTHER_OPENSSL / "usr/bin" / program
    search = f"{libraries}:/usr/lib/x86_64-linux-gnu"
    return [libraries / "ld-linux-x86-64.so.2", "--library-path", search, own if own.exists() else program]


def configuration(*settings, properties="", order=("default", "penumbra")):
    """Returns a configuration of OpenSSL that loads the provider with settings, and sets default properties. OpenSSL
    loads the providers in `order`."""
    providers = "".join(f"{each} = section_{each}\n" for each in order)
    algorithms = f"alg_section = algorithms\n[algorithms]\ndefault_properties = {properties}\n" if properties else ""
    return f"""openssl_conf = init
[init]
providers = providers
{algorithms}[providers]
{providers}[section_default]
activate = 1
[section_penumbra]
module = {MODULE}
activate = 1
""" + "".join(f"{setting}\n" for setting in settings)
