# SPDX-License-Identifier: Apache-2.0
"""Marks that skip tests on a machine that lacks something."""

import shutil

import pytest

import frr
import netns


def _unless(reason: str | None) -> pytest.MarkDecorator:
    return pytest.mark.skipif(reason is not None, reason=f"{reason}")


def tools(*names: str) -> pytest.MarkDecorator:
    """Skips the test unless all programs are installed."""
    missing = [name for name in names if shutil.which(name) is None]
    return _unless(f"needs {' and '.join(missing)}" if missing else None)


NAMESPACES = _unless(netns.unavailable())
TAPS = _unless(netns.taps_unavailable())
FRR = _unless(frr.unavailable())
