// SPDX-License-Identifier: Apache-2.0
//
// Measures ciphers as jobs on the engines, one thread that submits batches of 64 packets. Payload lies in the host's
// memory, which is shared with the engine. Of a GPU, a copy of the same packets is the limit: it reads and writes the
// same bytes over the bus.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "batches.h"
#include "bench.h"
#include "crypto/jobs/cipher_keys.h"
#include "crypto_work.h"
#include "penumbra/engine.h"
#include "penumbra/huge_memory.h"
#include "pin.h"
#include "tables/payload_copy/payload_copy.shader.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kJobBatches = 128, kJobKeys = 16;
constexpr std::array<std::uint32_t, 3> kJobPayloads{64, 512, 1408};
constexpr std::uint32_t kJobPrefix = 16;
constexpr double kCopyBar = 0.83;
constexpr std::uint32_t kBarredPayload = 512;

/// JobPackets in shared memory, batch by batch, and the columns of jobs and of copies.
class JobPackets {
 public:
  JobPackets(const CipherSuite& suite, std::uint32_t bytes, std::span<const std::uint32_t> keys, Random& random)
      : bytes_(bytes),
        sealed_bytes_(kJobPrefix + bytes + suite.tag_bytes),
        place_((sealed_bytes_ + 63) / 64 * 64 + 64),
        memory_(std::make_shared<HugeMemory>(2 * kJobBatches * kChunk * place_)),
        masks_(256) {
    for (std::size_t i = 0; i < memory_->bytes() / 2; i += 8) {
      const std::uint64_t word = random.next();
      std::memcpy(memory_->data() + i, &word, sizeof word);
    }
    for (std::size_t i = 0; i < kJobBatches * kChunk; ++i) {
      cipher_job job{};
      job.key = keys[random.below(static_cast<std::uint32_t>(keys.size()))];
      job.direction = CIPHER_SEAL;
      job.nonce_bytes = suite.cipher == CIPHER_AES_CBC ? 16 : 12;
      job.prefix_bytes = kJobPrefix;
      job.aad_bytes = suite.digest == 0 ? 8 : 0;
      std::memcpy(job.nonce, &i, sizeof i);
      jobs_.push_back(job);
      from_.push_back(i * place_ + 2);
      to_.push_back(i * place_ + 2 + 16);
      lengths_.push_back(bytes);
      rooms_.push_back(sealed_bytes_);
    }
    written_.resize(kJobBatches * kChunk);
    status_.resize(kJobBatches * kChunk);
    copy_keys_.resize(kJobBatches * kChunk);
    view_ = {masks_.data()};
    masks_table_.publish(
        view_, {{offsetof(payload_masks, mask), reinterpret_cast<const std::byte*>(masks_.data()), masks_.size()}});
  }

  const std::shared_ptr<HugeMemory>& memory() const { return memory_; }
  Table& masks() { return masks_table_; }
  std::uint32_t bytes() const { return bytes_; }

  /// Returns batch `i` as jobs of the shader, which seals or copies.
  Batch batch(std::size_t i, const Shader& shader, const Table& table, bool is_copy) {
    const std::size_t at = i * kChunk;
    Batch batch;
    batch.shader = &shader;
    batch.table = &table;
    batch.items = kChunk;
    batch.has_backlog = true;
    batch.source = memory_->data();
    batch.destination = memory_->data() + memory_->bytes() / 2;
    const void* const first = is_copy ? static_cast<const void*>(&copy_keys_[at]) : &jobs_[at];
    batch.inputs = {first, &from_[at], &lengths_[at], &to_[at], &rooms_[at]};
    batch.outputs = {&written_[at]};
    if (!is_copy) batch.outputs[1] = &status_[at];
    return batch;
  }
  /// Throws WrongAnswer unless all packets are sealed. Returns the sealed bytes.
  std::vector<std::byte> sealed(const std::string& what) const {
    for (std::size_t i = 0; i < status_.size(); ++i) {
      if (status_[i] != CIPHER_DONE || written_[i] != sealed_bytes_) {
        throw WrongAnswer(fmt::format("{}: packet {} has status {}", what, i, status_[i]));
      }
    }
    const std::byte* const begin = memory_->data() + memory_->bytes() / 2;
    return {begin, begin + memory_->bytes() / 2};
  }
  void forget() {
    std::memset(memory_->data() + memory_->bytes() / 2, 0, memory_->bytes() / 2);
    std::ranges::fill(status_, std::uint8_t{0xFF});
    std::ranges::fill(written_, 0U);
  }

 private:
  const std::uint32_t bytes_, sealed_bytes_;
  const std::size_t place_;
  const std::shared_ptr<HugeMemory> memory_;
  std::vector<cipher_job> jobs_;
  std::vector<std::uint64_t> from_, to_;
  std::vector<std::uint32_t> lengths_, rooms_, written_;
  std::vector<std::uint8_t> status_, copy_keys_, masks_;
  payload_masks view_{};
  Table masks_table_{"masks"};
};

/// A shader of an engine over the packets.
class JobRunner {
 public:
  /// Payload that is not shared is copied by the engine's queue.
  JobRunner(const std::string& engine, const char* shader, Table& table, JobPackets& packets, bool is_shared = true)
      : packets_(packets), engine_(create_engine(engine)), shader_(*engine_->find_shader(shader)), table_(table) {
    is_copy_ = shader_.name == "payload_copy";
    engine_->use_table(table);
    queue_ = engine_->open_queue();
    if (is_shared) queue_->share(packets.memory());
    for (std::size_t i = 0; i < kJobBatches; ++i) batches_.push_back(packets.batch(i, shader_, table_, is_copy_));
  }

  void run(std::size_t times) { run_batches(*queue_, batches_, times); }
  /// Returns Gbit/s of payload.
  double measure(std::size_t times) {
    const double begin = now();
    run(times);
    return 8e-9 * static_cast<double>(times * kJobBatches * kChunk * packets_.bytes()) / (now() - begin);
  }

 private:
  JobPackets& packets_;
  std::unique_ptr<Engine> engine_;
  const Shader& shader_;
  Table& table_;
  std::unique_ptr<EngineQueue> queue_;
  std::vector<Batch> batches_;
  bool is_copy_ = false;
};

bool has_cuda() {
  return std::ranges::any_of(engines_here(), [](const EngineInfo* each) { return each->name == "cuda"; });
}

void compare_jobs(const CipherSuite& suite, std::uint32_t bytes, const Options& options, Random& random,
                  Report& report) {
  const CipherSecrets secrets(suite, kJobKeys, random);
  NoReaders readers;
  CipherKeys keys(kJobKeys, readers);
  std::vector<std::uint32_t> indexes;
  for (const KeyMaterial& each : secrets.materials()) indexes.push_back(keys.add(each));
  JobPackets packets(suite, bytes, indexes, random);
  std::vector<std::unique_ptr<JobRunner>> runners;
  std::vector<Contender> turns;
  std::vector<std::byte> right;
  const auto add = [&](const std::string& name, const std::string& engine, std::size_t times, bool is_shared) {
    JobRunner& runner =
        *runners.emplace_back(std::make_unique<JobRunner>(engine, "cipher_jobs", keys.table(), packets, is_shared));
    packets.forget();
    runner.run(1);
    const std::vector<std::byte> sealed = packets.sealed(suite.name + " by " + name);
    if (right.empty()) right = sealed;
    if (sealed != right) throw WrongAnswer(suite.name + " by " + name + ": a packet differs from scalar's");
    turns.push_back({name, [&runner, times] { return runner.measure(times); }, Role::ours});
  };
  const std::size_t times = 1 + 4096 / (bytes + 64);
  add("scalar", "scalar", times, true);
  if (has_cuda()) {
    add("cuda", "cuda", 8 * times, true);
    add("cuda, payload copied", "cuda", 8 * times, false);
    JobRunner& copy =
        *runners.emplace_back(std::make_unique<JobRunner>("cuda", "payload_copy", packets.masks(), packets));
    turns.push_back({"copy by cuda", [&copy, times] { return copy.measure(8 * times); }, Role::rival});
  }
  const std::string title = fmt::format("{}, seal, {} bytes, as jobs", suite.name, bytes);
  const std::vector<double> ratios = report.compare(
      title, "Gbit/s", interleave(turns, options.rounds), turns.back().name,
      Place{{"cipher-jobs", suite.name + ", seal, as jobs", "payload", "bytes"}, static_cast<double>(bytes)});
  // The first contender is the library on a core.
  if (has_cuda() && bytes >= kBarredPayload && suite.digest == 0) {
    report.bar(fmt::format("cuda / copy by cuda, {}", title), ratios[1], kCopyBar, true);
  }
}

void run_cipher_jobs(const Options& options, Report& report) {
  pin_to_first_core();
  Random random(options.seed);
  const std::vector<CipherSuite> suites{{"AES-128-GCM", CIPHER_AES_GCM, 16, 0, 16, 8},
                                        {"AES-128-CTR", CIPHER_AES_CTR, 16, 0, 0, 0},
                                        {"ChaCha20-Poly1305", CIPHER_CHACHA20_POLY1305, 32, 0, 16, 8},
                                        {"AES-128-CBC, HMAC-SHA1-96", CIPHER_AES_CBC, 16, HMAC_SHA1, 12, 16},
                                        {"HMAC-SHA1-96", CIPHER_NONE, 0, HMAC_SHA1, 12, 16},
                                        {"HMAC-SHA256-128", CIPHER_NONE, 0, HMAC_SHA256, 16, 16}};
  for (const CipherSuite& suite : suites) {
    for (const std::uint32_t bytes : kJobPayloads) compare_jobs(suite, bytes, options, random, report);
  }
  report.checked("every sealed byte equals that of the engine scalar");
}

[[maybe_unused]] const bool kCipherJobs =
    register_benchmark({.name = "cipher-jobs",
                        .measurements = {"E16"},
                        .measures = "ciphers as jobs on the engines, compared with a copy of the same packets by a GPU",
                        .needs = "100 MB of memory",
                        .cost = {5, 3},
                        .run = &run_cipher_jobs});

}  // namespace
}  // namespace penumbra::bench
