# SPDX-License-Identifier: Apache-2.0
"""Independent references that the router is checked against."""
