// SPDX-License-Identifier: Apache-2.0
//
// SAs and policies as text in the syntax of ip-xfrm(8): its commands (`ip xfrm state add ...`), and what `ip xfrm
// state` and `ip xfrm policy` print, with or without `-s`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "control/xfrm/model.h"

namespace penumbra::control::xfrm {

/// Parses SAs of ESP. The keys are allocated in `keys`; `now` is the time of addition. The first words `ip xfrm state
/// add` may be left out. Throws InputError with file, line and column; no message contains a key.
std::vector<Sa> parse_states(std::string_view text, const std::string& name, KeyStore& keys, std::uint64_t now);
/// Reads a file like parse_states(), and overwrites its text in memory.
std::vector<Sa> read_states(const std::filesystem::path& file, KeyStore& keys, std::uint64_t now);
std::vector<Policy> parse_policies(std::string_view text, const std::string& name, std::uint64_t now);
std::vector<Policy> read_policies(const std::filesystem::path& file, std::uint64_t now);

/// Returns what `ip -s xfrm state nokeys` prints, without statistics. It never contains a key.
std::string to_text(const Sa& sa);
/// Returns what `ip -s xfrm policy` prints, without statistics.
std::string to_text(const Policy& policy);

}  // namespace penumbra::control::xfrm
