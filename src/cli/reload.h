// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace penumbra::cli {

/// For people: a router's answer to `reload`, or if `planned` to `plan`.
std::string reload_in_words(const nlohmann::ordered_json& answer, bool planned);

}  // namespace penumbra::cli
