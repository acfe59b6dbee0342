// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "runtime/pipeline.h"

namespace penumbra::runtime {

/// Returns one row for each engine: whether it is available, the stages that use it, its settings and notes.
nlohmann::ordered_json show_engines(const Pipeline& pipeline);

/// Returns the answer of the only stage that knows the topic, or an object with the answers of all such stages. Returns
/// null if no stage knows the topic.
nlohmann::ordered_json show_stages(const Pipeline& pipeline, std::string_view topic,
                                   std::span<const std::string> arguments);

}  // namespace penumbra::runtime
