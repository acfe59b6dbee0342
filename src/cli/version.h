// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace penumbra::cli {

/// What `penumbra --version` prints: version, commit, compiler, DPDK, engines; ends with a newline.
std::string version_text();
/// The same as a JSON object on one line.
std::string version_json();
/// "0.1.0"
std::string version_number();

}  // namespace penumbra::cli
