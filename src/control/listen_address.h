// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "control/endpoint.h"
#include "penumbra/config_node.h"

namespace penumbra::control {

/// Holds a TCP address of this machine on which the router listens: `listen: A.B.C.D:PORT` or `listen:
/// "[X:X::X]:PORT"`.
struct ListenAddress {
  std::string text;         ///< "192.0.2.1:9464".
  Endpoint endpoint;        ///< The parsed `text`.
  SourceLocation location;  ///< Place in the configuration.

  bool same_as(const ListenAddress& other) const { return endpoint == other.endpoint; }
};

/// Reads a listen address. Throws InputError.
ListenAddress read_listen(const ConfigNode& node);

/// Returns a socket that listens on `at`. `type` is SOCK_STREAM with optional flags. Throws InputError that begins with
/// `who` and has the system's reason.
FileDescriptor listen_at(const ListenAddress& at, std::string_view who, int type);

}  // namespace penumbra::control
