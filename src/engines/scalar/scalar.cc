// SPDX-License-Identifier: Apache-2.0
#include "scalar/scalar.h"

#include <map>

#include "penumbra/engine.h"

namespace penumbra::scalar {
namespace {

struct Variant : Shader {
  Call call = nullptr;
};

/// By name. Nodes never move, and batches name a shader by its address here.
std::map<std::string, Variant>& variants() {
  static std::map<std::string, Variant> map;
  return map;
}

class ScalarQueue final : public EngineQueue {
 public:
  Submitted submit(Batch& batch) noexcept override {
    static_cast<const Variant*>(batch.shader)->call(batch.table->view(), batch);
    return Submitted::done;
  }
  Batch* poll() noexcept override { return nullptr; }
};

class ScalarEngine final : public Engine {
 public:
  const Shader* find_shader(const std::string& name) const override {
    const auto found = variants().find(name);
    return found == variants().end() ? nullptr : &found->second;
  }
  void use_table(Table& /*table*/) override {}  // host memory is where it runs
  std::unique_ptr<EngineQueue> open_queue() override { return std::make_unique<ScalarQueue>(); }
};

[[maybe_unused]] const bool kRegistered = register_engine(
    {.name = "scalar",
     .summary = "plain CPU code, run by the worker itself",
     .priority = 10,
     .settings = {},
     .probe = [] { return Availability{true, "any CPU"}; },
     .create = [](const EngineSettings&) -> std::unique_ptr<Engine> { return std::make_unique<ScalarEngine>(); }});

}  // namespace

bool register_variant(Shader shader, Call call) {
  std::string name = shader.name;
  variants().insert_or_assign(std::move(name), Variant{{std::move(shader)}, call});
  return true;
}

}  // namespace penumbra::scalar
