// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "functions/megaflows/megaflows.h"

namespace penumbra::megaflows {

using packet_fields::PacketLayers;

/// The data half of the function.
class Worker final : public FunctionWorker {
 public:
  Worker(Megaflows& function, const WorkerContext& context);

  void process(Chunk& chunk) noexcept override;
  bool resume(Chunk& chunk) noexcept override;
  std::string trace(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const override;

 private:
  struct Lookups;

  void ask_cache(const Chunk& chunk, Lookups& lookups) noexcept;
  void carry_out(Chunk& chunk, const Lookups& lookups, std::uint16_t lookup, std::uint64_t now_ms) noexcept;
  static bool admit(const CompiledActions& actions, std::uint32_t bytes) noexcept;
  Verdict output(const CompiledActions& actions, PacketLayers layers, Chunk& chunk, std::uint8_t packet) noexcept;
  static std::optional<std::uint32_t> rule_of(const Chunk& chunk, std::uint16_t packet);

  Megaflows& function_;
  rule_list::ExactCache<SparseWords> cache_;
};

}  // namespace penumbra::megaflows
