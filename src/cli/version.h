// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace penumbra::cli {

/// Returns the output of `penumbra --version`: version, commit, compiler, DPDK, engines. Ends with a newline.
std::string version_text();
/// Returns the same as a JSON object on one line.
std::string version_json();
/// Returns "0.1.0".
std::string version_number();

}  // namespace penumbra::cli
