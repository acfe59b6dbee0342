// SPDX-License-Identifier: Apache-2.0
#include "scalar/scalar.h"

#include <utility>

#include "penumbra/engine.h"
#include "variants.h"

namespace penumbra::scalar {
namespace {

/// Filled before main() begins, so made when it is first asked for.
Variants<Call>& variants() {
  static Variants<Call> all;
  return all;
}

class ScalarQueue final : public EngineQueue {
 public:
  Submitted submit(Batch& batch) noexcept override {
    Variants<Call>::call_of (*batch.shader)(batch.table->view(), batch);
    return Submitted::done;
  }
  Batch* poll() noexcept override { return nullptr; }
};

class ScalarEngine final : public Engine {
 public:
  const Shader* find_shader(const std::string& name) const override { return variants().find(name); }
  void use_table(Table& /*table*/) override {}  // host memory is where it runs
  std::unique_ptr<EngineQueue> open_queue() override { return std::make_unique<ScalarQueue>(); }
};

[[maybe_unused]] const bool kRegistered = register_engine(
    {.name = "scalar",
     .summary = "plain CPU code, run by the worker itself",
     .priority = 10,
     .at_once = true,
     .settings = {},
     .probe = [] { return Availability{true, "any CPU"}; },
     .create = [](const EngineSettings&) -> std::unique_ptr<Engine> { return std::make_unique<ScalarEngine>(); }});

}  // namespace

bool register_variant(Shader shader, Call call) {
  return variants().add(std::move(shader), call);
}

}  // namespace penumbra::scalar
