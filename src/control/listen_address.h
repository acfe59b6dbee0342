// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "control/endpoint.h"
#include "penumbra/config_node.h"

namespace penumbra::control {

/// A TCP port of this machine at which the router listens: `listen: A.B.C.D:PORT` or `listen: "[X:X::X]:PORT"`.
struct ListenAddress {
  std::string text;         ///< "192.0.2.1:9464"
  Endpoint endpoint;        ///< the same
  SourceLocation location;  ///< where the configuration says so

  bool same_as(const ListenAddress& other) const { return endpoint == other.endpoint; }
};

/// Reads one. Throws InputError.
ListenAddress read_listen(const ConfigNode& node);

/// A socket that listens there; `type` is SOCK_STREAM with flags. Throws InputError that begins with `who` and has the
/// system's reason.
FileDescriptor listen_at(const ListenAddress& at, std::string_view who, int type);

}  // namespace penumbra::control
