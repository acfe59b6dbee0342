// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa_engine/session.h"

#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "crypto/rsa/key.h"

namespace penumbra::rsa_engine {

/// Writes an answer. The ring has room for those of an honest client, which has at most kSlots requests in flight and
/// reads their answers before it sends more. The rest overwrites answers of a client that does not.
void Session::answer(const Job& job, Verdict verdict) {
  const std::size_t bytes = job.key->bytes();
  Entry entry{.tag = job.tag, .verdict = verdict};
  if (verdict == Verdict::done) {
    entry.bytes = static_cast<std::uint32_t>(bytes);
    std::copy_n(job.output.begin(), bytes, entry.content.begin());
  }
  const std::scoped_lock lock(mutex_);
  --in_flight_;
  // A client whose socket is full has a wake-up to read.
  if (answers_->write(entry)) send_message(socket_.get(), {MessageKind::wake, 0});
}

bool Session::open() {
  if (region_ != nullptr) return false;
  FileDescriptor descriptor;
  region_ = std::make_unique<MappedRegion>(descriptor);
  requests_ = std::make_unique<RingReader>((*region_)->requests);
  answers_ = std::make_unique<RingWriter>((*region_)->answers);
  keys_.resize(kMostKeys);
  count(counters_.clients);
  return send_message(socket_.get(), {MessageKind::region, kProtocolVersion}, {}, descriptor.get());
}

/// Returns a key that the client brings; null if the client shall not have it. References do not count. The engine's
/// own keys do, so that a form that has room for `most_keys` has room for them, whatever clients bring.
std::shared_ptr<StoredKey> Session::make_key(const rsa::KeyParts& parts, Batcher& batcher,
                                             std::uint64_t most_keys) const {
  try {
    auto key = batcher.make_key();
    rsa::expand(parts, key->key());
    return counters_.keys + own_keys_.size() < most_keys ? key : nullptr;
  } catch (const std::exception&) {
    return nullptr;
  }
}

std::atomic<std::uint64_t>& Session::counter_of(const NamedKey& named) const {
  return named.is_reference ? counters_.references : counters_.keys;
}

void Session::remove(NamedKey& named) const {
  discount(counter_of(named));
  named = {};
}

bool Session::add_key(std::uint32_t number, std::span<const std::uint8_t> rest, Batcher& batcher,
                      std::uint64_t most_keys) {
  if (number >= keys_.size() || keys_[number].key != nullptr) return false;
  const auto parts = read_key(rest);
  if (!parts) return false;
  NamedKey& named = keys_[number];
  named.is_reference = is_reference(*parts);
  named.key = named.is_reference ? own_keys_.find(*parts) : make_key(*parts, batcher, most_keys);
  const bool is_added = named.key != nullptr;
  count(is_added ? counter_of(named) : counters_.refused_keys);
  return send_message(socket_.get(), {is_added ? MessageKind::key_added : MessageKind::key_refused, number});
}

bool Session::send_counters() const {
  std::string text;
  for (const auto& each : kCounters) {
    text += std::string(each.name) + " " + std::to_string((counters_.*each.counter).load()) + "\n";
  }
  return send_message(socket_.get(), {MessageKind::counters, 0},
                      {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

bool Session::handle(const Message& message, Batcher& batcher, std::uint64_t most_keys) {
  const std::uint32_t number = message.head.number;
  switch (message.head.kind) {
    case MessageKind::open:
      return number == kProtocolVersion && open();
    case MessageKind::ask_counters:
      return send_counters();
    case MessageKind::wake:
      return region_ != nullptr;
    case MessageKind::add_key:
      return add_key(number, message.rest, batcher, most_keys);
    case MessageKind::remove_key:
      if (number >= keys_.size() || keys_[number].key == nullptr) return false;
      remove(keys_[number]);
      return true;
    default:
      return false;
  }
}

bool Session::take_requests(Batcher& batcher) {
  if (region_ == nullptr) return true;
  Entry entry;
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    switch (requests_->read(entry)) {
      case Reading::empty:
        return true;
      case Reading::broken:
        return false;
      case Reading::entry:
        break;
    }
    const auto key = entry.key < keys_.size() ? keys_[entry.key].key : nullptr;
    if (key == nullptr || entry.bytes != key->bytes()) return false;
    {
      const std::scoped_lock lock(mutex_);
      if (in_flight_ == kSlots) return false;
      ++in_flight_;
    }
    auto job = std::make_unique<Job>();
    job->key = key;
    job->client = std::static_pointer_cast<Session>(shared_from_this());
    job->tag = entry.tag;
    std::copy_n(entry.content.begin(), key->bytes(), job->input.begin());
    batcher.submit(std::move(job));
  }
  return true;
}

void Session::end() {
  is_gone_.store(true, std::memory_order_release);
  shutdown(socket_.get(), SHUT_RDWR);
  if (region_ != nullptr) discount(counters_.clients);
  for (NamedKey& named : keys_) {
    if (named.key != nullptr) remove(named);
  }
}

}  // namespace penumbra::rsa_engine
