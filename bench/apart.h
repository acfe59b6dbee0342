// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

namespace penumbra::bench {

/// What `work` returns in a process of its own, whose memory and threads nobody else has: an object, or {"error": why}
/// if it throws (the reason stands on standard error too, behind `who`), the process ends otherwise, or it has not
/// ended after `patience` seconds and is killed: a call that waits for a GPU may never return. `tick` is called about
/// once a second meanwhile.
nlohmann::json run_apart(const std::string& who, double patience, const std::function<nlohmann::json()>& work,
                         const std::function<void()>& tick);

}  // namespace penumbra::bench
