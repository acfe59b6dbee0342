// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "crypto/rsa/ifma.h"
#include "crypto/rsa_engine/expansions.h"

namespace penumbra::rsa_engine {
namespace {

class IfmaForm final : public BatchForm {
 public:
  const char* name() const override { return "ifma"; }
  std::size_t most() const override { return rsa::kMostTogether; }
  void run(std::span<Task* const> tasks) override {
    std::array<rsa::Operation, rsa::kMostTogether> operations;
    std::array<Task*, rsa::kMostTogether> of_operation{};
    std::size_t count = 0;
    for (Task* const task : tasks) {
      task->status = RSA_WRONG;
      rsa::IfmaKey* const key = keys_.find(task->key, [](const rsa_key& from) { return rsa::IfmaKey(from); });
      if (key == nullptr) continue;
      of_operation[count] = task;
      operations[count++] = {.key = key, .input = task->input.data(), .output = task->output.data()};
    }
    worker_.run(std::span(operations).first(count));
    for (std::size_t i = 0; i < count; ++i) of_operation[i]->status = operations[i].status;
  }
  void forget_keys() override { keys_.forget(); }

 private:
  rsa::IfmaWorker worker_;
  Expansions<rsa::IfmaKey> keys_;
};

}  // namespace

std::unique_ptr<BatchForm> make_ifma_form() {
  return std::make_unique<IfmaForm>();
}

}  // namespace penumbra::rsa_engine
