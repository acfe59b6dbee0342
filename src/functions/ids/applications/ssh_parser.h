// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include "functions/ids/applications/parser.h"

namespace penumbra::ids {

/// Reads the first line of each side of SSH (RFC 4253, section 4.2).
class SshParser : public ApplicationParser {
 public:
  void read(bool to_server, std::span<const std::uint8_t> bytes, ApplicationConsumer& consumer) override;
  void lose(bool to_server, std::uint64_t bytes, ApplicationConsumer& consumer) override;
  void end(bool to_server, ApplicationConsumer& consumer) override;
  std::size_t memory() const override;

 private:
  static constexpr std::size_t kMostLine = 255;
  struct Side {
    std::string line;
    bool done = false;
  };
  std::array<Side, 2> sides_;
  BufferTable buffers_;
};

}  // namespace penumbra::ids
