// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

namespace penumbra::bench {

/// Runs `work` in a child process and returns its result: an object. Returns {"error": reason} if `work` throws, if the
/// process ends abnormally, or if it has not ended after `patience` seconds and is killed. A separate process has its
/// own memory and threads, and a call that waits for a GPU may never return. The reason of an exception is also printed
/// on standard error, after `who`. `tick` is called about once a second meanwhile.
nlohmann::json run_apart(const std::string& who, double patience, const std::function<nlohmann::json()>& work,
                         const std::function<void()>& tick);

}  // namespace penumbra::bench
