// SPDX-License-Identifier: Apache-2.0
//
// RSA on a GPU for the process of the engine.
#include <algorithm>
#include <array>
#include <utility>

#include "crypto/rsa/cuda.h"
#include "crypto/rsa_engine/expansions.h"

namespace penumbra::rsa_engine {
namespace {

constexpr std::uint32_t kMostKeysOnGpu = 4096;
constexpr std::uint32_t kMostTasks = 4096;

/// A key on the GPU, which is erased with this object.
class KeyOnGpu {
 public:
  KeyOnGpu(rsa::CudaBatch& batch, const rsa_key& key) : batch_(&batch), index_(batch.add_key(key)) {}
  KeyOnGpu(KeyOnGpu&& other) noexcept : batch_(std::exchange(other.batch_, nullptr)), index_(other.index_) {}
  KeyOnGpu& operator=(KeyOnGpu&&) = delete;
  ~KeyOnGpu() {
    if (batch_ != nullptr) batch_->remove_key(index_);
  }
  std::uint32_t index() const { return index_; }

 private:
  rsa::CudaBatch* batch_;
  std::uint32_t index_;
};

class CudaForm final : public BatchForm {
 public:
  const char* name() const override { return "cuda"; }
  std::size_t most() const override { return kMostTasks; }
  void run(std::span<Task* const> tasks) override {
    OfSize& of_size = sizes_[size_of_bytes(tasks.front()->key->bytes())];
    rsa::CudaBatch& batch = of_size.batch;
    std::uint32_t count = 0;
    for (Task* const task : tasks) {
      task->status = RSA_WRONG;
      const KeyOnGpu* const key =
          of_size.keys.find(task->key, [&batch](const rsa_key& from) { return KeyOnGpu(batch, from); });
      if (key == nullptr) continue;
      tasks_[count] = task;
      batch.keys()[count] = key->index();
      std::ranges::copy(std::span(task->input).first(batch.bytes()),
                        batch.inputs().subspan(std::size_t{count} * batch.bytes()).begin());
      ++count;
    }
    batch.run(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      tasks_[i]->status = static_cast<rsa_status>(batch.statuses()[i]);
      std::ranges::copy(batch.outputs().subspan(std::size_t{i} * batch.bytes(), batch.bytes()),
                        tasks_[i]->output.begin());
    }
  }
  void forget_keys() override {
    for (OfSize& each : sizes_) each.keys.forget();
  }

 private:
  struct OfSize {
    explicit OfSize(unsigned bits) : batch(bits, kMostKeysOnGpu, kMostTasks) {}
    rsa::CudaBatch batch;
    Expansions<KeyOnGpu> keys;
  };
  std::array<OfSize, kSizes> sizes_{OfSize(2048), OfSize(3072), OfSize(4096)};
  std::array<Task*, kMostTasks> tasks_{};
};

}  // namespace

std::unique_ptr<BatchForm> make_cuda_form() {
  return std::make_unique<CudaForm>();
}

}  // namespace penumbra::rsa_engine
