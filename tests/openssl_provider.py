# SPDX-License-Identifier: Apache-2.0
"""The provider for OpenSSL in tests."""

import conftest

MODULE = conftest.PROGRAM.parent.parent / "lib" / "ossl-modules" / "penumbra.so"


def configuration(*settings, properties=""):
    """Returns a configuration of OpenSSL that loads the provider with settings, and sets default properties."""
    algorithms = f"alg_section = algorithms\n[algorithms]\ndefault_properties = {properties}\n" if properties else ""
    return f"""openssl_conf = init
[init]
providers = providers
{algorithms}[providers]
default = of_openssl
penumbra = penumbra
[of_openssl]
activate = 1
[penumbra]
module = {MODULE}
activate = 1
""" + "".join(f"{setting}\n" for setting in settings)
