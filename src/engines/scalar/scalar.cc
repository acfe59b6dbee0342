// SPDX-License-Identifier: Apache-2.0
#include "scalar/scalar.h"

#include <utility>

#include "penumbra/engine.h"
#include "variants.h"

namespace penumbra::scalar {
namespace {

/// Constructed on first use, because registrations before main() fill it.
Variants<Loops>& variants() {
  static Variants<Loops> all;
  return all;
}

class ScalarQueue final : public EngineQueue {
 public:
  explicit ScalarQueue(bool vectors) : vectors_(vectors) {}

  Submitted submit(Batch& batch) noexcept override {
    const Loops& loops = Variants<Loops>::call_of(*batch.shader);
    (vectors_ ? loops.best : loops.plain)(batch.table->view(), batch);
    return Submitted::done;
  }
  Batch* poll() noexcept override { return nullptr; }

 private:
  const bool vectors_;
};

class ScalarEngine final : public Engine {
 public:
  explicit ScalarEngine(bool vectors) : vectors_(vectors) {}
  const Shader* find_shader(const std::string& name) const override { return variants().find(name); }
  void use_table(Table& /*table*/) override {}  // The engine needs no copy: it reads the table in host memory.
  std::unique_ptr<EngineQueue> open_queue() override { return std::make_unique<ScalarQueue>(vectors_); }

 private:
  const bool vectors_;
};

[[maybe_unused]] const bool kRegistered =
    register_engine({.name = "scalar",
                     .summary = "plain CPU code, run by the worker itself",
                     .priority = 10,
                     .is_synchronous = true,
                     .settings = {{.name = "avx512",
                                   .least = 0,
                                   .most = 1,
                                   .summary = "whether look-ups that are written for AVX-512 use it (1 if left out)",
                                   .tested = {0}}},
                     .probe = [] { return Availability{true, "any CPU"}; },
                     .create = [](const EngineSettings& settings) -> std::unique_ptr<Engine> {
                       const auto avx512 = settings.find("avx512");
                       return std::make_unique<ScalarEngine>(avx512 == settings.end() || avx512->second != 0);
                     }});

}  // namespace

bool register_variant(Shader shader, Loops loops) {
  return variants().add(std::move(shader), loops);
}

}  // namespace penumbra::scalar
