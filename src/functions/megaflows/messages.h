// SPDX-License-Identifier: Apache-2.0
//
// Reads requests and writes replies of the socket (wire.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "functions/megaflows/actions.h"
#include "functions/megaflows/meter.h"
#include "functions/megaflows/wire.h"
#include "tables/rules_tuple/sparse_match.h"

namespace penumbra::megaflows {

using Ufid = std::array<std::uint64_t, 2>;

struct Request {
  std::uint8_t type = 0;
  std::uint32_t id = 0;
  Ufid ufid{};
  // NOLINTBEGIN(readability-redundant-member-init): initialisers may omit the members
  SparseMatch match = {};            ///< of MEGAFLOWS_ADD
  std::vector<Action> actions = {};  ///< of MEGAFLOWS_ADD
  MeterConfig meter = {};            ///< of MEGAFLOWS_METER_SET
  // NOLINTEND(readability-redundant-member-init)
  int error = 0;  ///< errno of a request that is well formed up to its id, and wrong after it
  bool operator==(const Request&) const = default;
};

/// Reads a request. Returns nothing if the header is wrong: the client then speaks another protocol.
std::optional<Request> read_request(std::span<const std::byte> message);
/// Returns the message of a request.
std::vector<std::byte> write_request(const Request& request);

struct Reply {
  int error = 0;
  std::uint64_t packets = 0, bytes = 0, used_ms = 0;
};
/// Returns the reply to a request about a meter.
std::vector<std::byte> write_reply(const Request& request, const MeterCounts& counts);
/// Returns the reply to a request, with the names of the ports from number 1 on. An empty name is left out.
std::vector<std::byte> write_reply(const Request& request, const Reply& reply, std::span<const std::string> ports = {});

}  // namespace penumbra::megaflows
