// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "functions/ids/detect/compiled_rules.h"
#include "functions/ids/rules/exceptions.h"
#include "functions/ids/rules/tunnel_settings.h"
#include "functions/ids/streams/stream_settings.h"
#include "packet/reassembly.h"

namespace penumbra::cli {

struct CaptureSettings {
  ids::StreamSettings streams;
  ids::TunnelSettings tunnels;
  ReassemblyLimits reassembly;
  ids::ExceptionPolicies exceptions;
  ids::ExceptionPolicy fragments = ids::ExceptionPolicy::ignore;  ///< Of fragments for which there is no memory.
  bool simulates_ips = false;                                     ///< Drops what an inline system would drop.
};

/// Evaluates the rules on a capture, or on each capture of a folder, and writes events to eve.json in `folder`. Events
/// of a folder name their capture. Prints counts. Throws InputError if the capture cannot be read, or Failure if the
/// file cannot be written.
void inspect_capture(const std::string& file, const ids::CompiledRules& rules, const CaptureSettings& settings,
                     const std::string& folder);

}  // namespace penumbra::cli
