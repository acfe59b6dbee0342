// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "functions/ids/detect/compiled_rules.h"
#include "functions/ids/streams/stream_settings.h"

namespace penumbra::cli {

/// Evaluates the rules on a capture and writes events to eve.json in `folder`. Prints counts. Throws
/// InputError if the capture cannot be read, or Failure if the file cannot be written.
void inspect_capture(const std::string& file, const ids::CompiledRules& rules, const ids::StreamSettings& streams,
                     const std::string& folder);

}  // namespace penumbra::cli
