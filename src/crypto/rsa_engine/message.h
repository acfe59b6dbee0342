// SPDX-License-Identifier: Apache-2.0
//
// The messages of a client and of the process of the engine, on a unix socket of type SOCK_SEQPACKET.
//
// The rings carry requests and answers. Messages carry the rest: the shared memory, keys, and wake-ups. Wake-ups are
// messages, and no eventfds, because a client could make the engine's write to a shared eventfd block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/file_descriptor.h"
#include "crypto/rsa/key.h"

namespace penumbra::rsa_engine {

/// The socket of the package's service. Its folder belongs to the user of the service.
inline constexpr char kDefaultSocket[] = "/run/penumbra-tls/engine.sock";

enum class MessageKind : std::uint32_t {
  open,          ///< From the client: asks for a region. The number is kProtocolVersion.
  region,        ///< From the engine, with the descriptor of the region. The number is kProtocolVersion.
  add_key,       ///< From the client: the number that requests name, and the key. Its public part alone
                 ///< names a key of the engine itself.
  key_added,     ///< From the engine: requests may name the number.
  key_refused,   ///< From the engine.
  remove_key,    ///< From the client. No later request names the number.
  wake,          ///< From either side: the ring has entries.
  ask_counters,  ///< From a client without a region.
  counters       ///< From the engine: lines of a name and a number.
};

struct MessageHead {
  MessageKind kind;
  std::uint32_t number;
};

inline constexpr std::size_t kMostMessage = 4096;

/// Sends a message without waiting, with a descriptor unless that is negative. Returns false if the socket has no room
/// or no peer.
bool send_message(int socket, MessageHead head, std::span<const std::uint8_t> rest = {}, int descriptor = -1);

/// A message in the room of receive_message().
struct Message {
  MessageHead head;
  std::span<const std::uint8_t> rest;
};

enum class Receipt { message, nothing, ended /* or the peer sent what is no message */ };

/// Receives a message into `room` without waiting. If `passed` is null, a descriptor in the message is closed.
Receipt receive_message(int socket, std::span<std::uint8_t> room, Message& message, FileDescriptor* passed = nullptr);

/// Writes a key as the rest of a message. Returns its size; 0 if `room` is too small.
std::size_t write_key(std::span<std::uint8_t> room, const rsa::KeyParts& parts);
/// Returns the parts of a key, which point into the message. Returns nothing if the lengths do not fit.
std::optional<rsa::KeyParts> read_key(std::span<const std::uint8_t> rest);

}  // namespace penumbra::rsa_engine
