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
  explicit ScalarQueue(PlainLoop Loops::* form) : form_(form) {}

  Submitted submit(Batch& batch) noexcept override {
    const Loops& loops = Variants<Loops>::call_of(*batch.shader);
    (loops.*form_)(batch.table->view(), batch);
    return Submitted::done;
  }
  Batch* poll() noexcept override { return nullptr; }

 private:
  PlainLoop Loops::* const form_;
};

class ScalarEngine final : public Engine {
 public:
  explicit ScalarEngine(PlainLoop Loops::* form) : form_(form) {}
  const Shader* find_shader(const std::string& name) const override { return variants().find(name); }
  void use_table(Table& /*table*/) override {}  // The engine needs no copy: it reads the table in host memory.
  std::unique_ptr<EngineQueue> open_queue() override { return std::make_unique<ScalarQueue>(form_); }

 private:
  PlainLoop Loops::* const form_;
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
                                   .tested = {0}},
                                  {.name = "library",
                                   .least = 0,
                                   .most = 1,
                                   .summary = "whether shaders that a library can run use it (1 if left out)",
                                   .tested = {0}}},
                     .probe = [] { return Availability{true, "any CPU"}; },
                     .create = [](const EngineSettings& settings) -> std::unique_ptr<Engine> {
                       const auto is_on = [&settings](const char* name) {
                         const auto found = settings.find(name);
                         return found == settings.end() || found->second != 0;
                       };
                       return std::make_unique<ScalarEngine>(!is_on("avx512")    ? &Loops::plain
                                                             : !is_on("library") ? &Loops::best
                                                                                 : &Loops::library);
                     }});

}  // namespace

bool register_variant(Shader shader, Loops loops) {
  return variants().add(std::move(shader), loops);
}

}  // namespace penumbra::scalar
