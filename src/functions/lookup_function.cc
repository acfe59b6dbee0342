// SPDX-License-Identifier: Apache-2.0
#include "penumbra/lookup_function.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace penumbra {
namespace {

class LookupWorker final : public FunctionWorker {
 public:
  explicit LookupWorker(LookupFunction& function) : function_(function) {}

  void process(Chunk& chunk) noexcept override { function_.pre_shade(chunk); }
  bool resume(Chunk& chunk) noexcept override {
    function_.post_shade(chunk);
    return false;
  }
  std::string trace(const Chunk& chunk, std::uint16_t packet) const override { return function_.trace(chunk, packet); }
  nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const override {
    return function_.explain(chunk, packet);
  }

 private:
  LookupFunction& function_;
};

}  // namespace

std::unique_ptr<FunctionWorker> LookupFunction::open_worker(const WorkerContext& context) {
  if (context.index < context.count) prepare(context.index);
  return std::make_unique<LookupWorker>(*this);
}

nlohmann::ordered_json LookupFunction::show(std::string_view topic, std::span<const std::string> /*arguments*/) const {
  throw std::invalid_argument("there is no topic '" + std::string(topic) + "'");
}

nlohmann::ordered_json LookupFunction::explain(const Chunk& /*chunk*/, std::uint16_t /*packet*/) const {
  return nlohmann::ordered_json::object();
}

}  // namespace penumbra
