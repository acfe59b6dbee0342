// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/file_descriptor.h"
#include "crypto/rsa_engine/batcher.h"
#include "crypto/rsa_engine/message.h"
#include "crypto/rsa_engine/own_keys.h"
#include "crypto/rsa_engine/region.h"

namespace penumbra::rsa_engine {

/// A client on a socket, with its region and keys. The client may be hostile: it has a region of its own, and receives
/// nothing but answers to its requests. It names keys that it has sent, and the engine's own keys by references.
class Session final : public Client {
 public:
  Session(FileDescriptor socket, const OwnKeys& own_keys, Counters& counters)
      : socket_(std::move(socket)), own_keys_(own_keys), counters_(counters) {}

  int socket() const { return socket_.get(); }
  bool is_gone() const override { return is_gone_.load(std::memory_order_acquire); }
  void answer(const Job& job, Verdict verdict) override;

  /// Handles a message of the client; for the thread of the server. Returns false if the client breaks the protocol.
  bool handle(const Message& message, Batcher& batcher, std::uint64_t most_keys);
  /// Passes at most kSlots requests of the ring to the batcher; for the thread of the server. Returns false if the
  /// client breaks the protocol.
  bool take_requests(Batcher& batcher);
  /// Asks for a message with the next request. Returns false if there is a request already.
  bool begin_sleep() { return region_ == nullptr || requests_->begin_sleep(); }
  void end_sleep() {
    if (region_ != nullptr) requests_->end_sleep();
  }
  /// Ends the connection and removes the keys. Jobs in flight end later, and their results go nowhere.
  void end();

 private:
  struct NamedKey {
    std::shared_ptr<StoredKey> key;
    bool is_reference = false;
  };

  bool open();
  bool add_key(std::uint32_t number, std::span<const std::uint8_t> rest, Batcher& batcher, std::uint64_t most_keys);
  std::shared_ptr<StoredKey> make_key(const rsa::KeyParts& parts, Batcher& batcher, std::uint64_t most_keys) const;
  std::atomic<std::uint64_t>& counter_of(const NamedKey& named) const;
  void remove(NamedKey& named) const;
  bool send_counters() const;

  FileDescriptor socket_;
  const OwnKeys& own_keys_;
  Counters& counters_;
  std::unique_ptr<MappedRegion> region_;
  std::unique_ptr<RingReader> requests_;
  std::vector<NamedKey> keys_;  ///< By number.
  std::atomic<bool> is_gone_ = false;
  std::mutex mutex_;  ///< Of the next two.
  std::unique_ptr<RingWriter> answers_;
  std::uint32_t in_flight_ = 0;
};

}  // namespace penumbra::rsa_engine
