# SPDX-License-Identifier: Apache-2.0
"""Provides independent references that the router is checked against."""
