// SPDX-License-Identifier: Apache-2.0
//
// The ciphers as jobs on an engine, for the tests that all forms must pass.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "crypto/forms_testing.h"
#include "crypto/jobs/cipher_jobs.shader.h"
#include "crypto/jobs/cipher_keys.h"
#include "penumbra/engine.h"
#include "penumbra/table.h"

namespace penumbra::crypto_testing {

/// Runs a job for each packet. Keeps the last key only. A packet that no job can describe is a std::length_error.
class JobForm final : public Form {
 public:
  explicit JobForm(const std::string& engine)
      : engine_(create_engine(engine)), shader_(engine_->find_shader("cipher_jobs")) {
    if (shader_ == nullptr) throw std::logic_error("the engine '" + engine + "' runs no ciphers");
    engine_->use_table(keys_.table());
    queue_ = engine_->open_queue();
  }

  std::uint32_t add(const KeyMaterial& material) override {
    if (key_) keys_.remove(*key_);
    key_.reset();
    key_ = keys_.add(material);
    tag_bytes_ = material.tag_bytes;
    has_digest_ = material.digest != 0;
    return *key_;
  }
  void seal(std::span<const cipher_packet> packets, std::uint8_t* are_done) override {
    for (const cipher_packet& packet : packets) *are_done++ = run(packet, CIPHER_SEAL);
  }
  void open(std::span<const cipher_packet> packets, std::uint8_t* are_right) override {
    for (const cipher_packet& packet : packets) *are_right++ = run(packet, CIPHER_OPEN);
  }

 private:
  /// Copies bytes into a job.
  static std::uint8_t put(std::span<std::uint8_t> to, const std::uint8_t* from, std::uint32_t bytes) {
    if (bytes > to.size()) throw std::length_error("no job has room for so many bytes");
    if (bytes > 0) std::memcpy(to.data(), from, bytes);
    return static_cast<std::uint8_t>(bytes);
  }

  std::uint8_t run(const cipher_packet& packet, cipher_direction direction) {
    const bool seals = direction == CIPHER_SEAL;
    cipher_job job{};
    job.key = packet.key;
    job.direction = static_cast<std::uint8_t>(direction);
    job.nonce_bytes = put(job.nonce, packet.nonce, packet.nonce_bytes);
    job.trailer_bytes = put(job.trailer, packet.trailer, packet.trailer_bytes);
    if (has_digest_) {
      job.prefix_bytes = put(job.prefix, packet.aad, packet.aad_bytes);
    } else {
      job.aad_bytes = put(job.aad, packet.aad, packet.aad_bytes);
    }
    std::vector<std::uint8_t> sealed(job.prefix_bytes + packet.bytes + tag_bytes_), plain(packet.bytes);
    if (seals) {
      std::copy_n(packet.source, packet.bytes, plain.begin());
    } else {
      auto end = std::copy_n(job.prefix, job.prefix_bytes, sealed.begin());
      end = std::copy_n(packet.source, packet.bytes, end);
      std::copy_n(packet.received_tag, tag_bytes_, end);
    }
    std::vector<std::uint8_t>& from = seals ? plain : sealed;
    std::vector<std::uint8_t>& to = seals ? sealed : plain;
    if (shade(job, from, to) != CIPHER_DONE) return 0;
    if (seals) {
      std::copy_n(sealed.begin() + job.prefix_bytes, packet.bytes, packet.destination);
      std::copy_n(sealed.end() - tag_bytes_, tag_bytes_, packet.tag);
    } else {
      std::copy_n(plain.begin(), packet.bytes, packet.destination);
    }
    return 1;
  }

  std::uint8_t shade(const cipher_job& job, const std::vector<std::uint8_t>& from, std::vector<std::uint8_t>& to) {
    const std::uint64_t position = 0;
    const auto length = static_cast<std::uint32_t>(from.size()), room = static_cast<std::uint32_t>(to.size());
    std::uint32_t written = 0;
    std::uint8_t status = CIPHER_NO_KEY;
    Batch batch;
    batch.shader = shader_;
    batch.table = &keys_.table();
    batch.items = 1;
    batch.inputs = {&job, &position, &length, &position, &room};
    batch.outputs = {&written, &status};
    batch.source = reinterpret_cast<const std::byte*>(from.data());
    batch.destination = reinterpret_cast<std::byte*>(to.data());
    if (queue_->submit(batch) == EngineQueue::Submitted::queued) {
      while (queue_->poll() == nullptr) std::this_thread::yield();
    }
    return status;
  }

  NoReaders readers_;
  CipherKeys keys_{1, readers_};
  std::optional<std::uint32_t> key_;
  std::uint32_t tag_bytes_ = 0;
  bool has_digest_ = false;
  std::unique_ptr<Engine> engine_;
  const Shader* shader_;
  std::unique_ptr<EngineQueue> queue_;
};

}  // namespace penumbra::crypto_testing
