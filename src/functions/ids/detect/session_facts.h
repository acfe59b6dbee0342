// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "functions/ids/rules/packet_test.h"
#include "functions/ids/rules/protocol.h"
#include "functions/ids/verify/buffer_table.h"

namespace penumbra::ids {

/// What rules ask about the session of a subject.
struct SessionFacts {
  Application application = Application::none;
  bool has_parser = false;              ///< The messages of the application are read.
  bool is_stream = false;               ///< The subject is reassembled text.
  bool is_message = false;              ///< The subject is a message of the application.
  bool is_recognition = false;          ///< The application was recognized now, or cannot be.
  bool is_unknown = false;              ///< The application cannot be recognized.
  std::array<std::uint64_t, 2> sent{};  ///< Bytes to the client, to the server.
  std::uint8_t tls_states = 0;          ///< TlsStateTest::States
  std::uint8_t tls_version = 0;         ///< A bit of TlsVersionTest, or 0.

  /// Returns true if a test of a session holds. Tests of headers do not hold.
  bool matches(const PacketTest& test, const BufferTable& buffers) const;
};

/// Returns true if a rule for the protocol `wanted` sees sessions of `found`. Without a protocol, it sees all.
bool is_same(Application wanted, Application found);

}  // namespace penumbra::ids
