// SPDX-License-Identifier: Apache-2.0
#include "remote_engine.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include "base/unix_socket.h"

namespace penumbra::tls {
namespace {

using rsa_engine::Entry;
using rsa_engine::kMostKeys;
using rsa_engine::kProtocolVersion;
using rsa_engine::kSlots;
using rsa_engine::MessageKind;

/// An engine that gives no result in this time is taken for dead.
constexpr std::chrono::milliseconds kPatience{1000};
/// The same while it has a request of a key reference, which nobody else can compute.
constexpr std::chrono::milliseconds kPatienceWithReference{5000};
constexpr std::chrono::seconds kInterval{1};  ///< Of attempts to connect, and of looking for unused keys.
constexpr int kTickMilliseconds = 100;        ///< While results or the engine are awaited.
/// Messages that are received before answers and the time are looked at again. An engine may send without an end.
constexpr unsigned kMostMessages = 16;

}  // namespace

RemoteEngine::RemoteEngine(OSSL_LIB_CTX* library, std::filesystem::path socket, std::optional<uid_t> user,
                           Counters& counters, Receivers receivers)
    : library_(library),
      path_(std::move(socket)),
      user_(user),
      counters_(counters),
      receivers_(std::move(receivers)),
      own_wakeup_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      room_(rsa_engine::kMostMessage),
      by_number_(kMostKeys) {
  if (!own_wakeup_) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
  thread_ = std::jthread([this] { serve(); });
}

RemoteEngine::~RemoteEngine() {
  is_ending_.store(true);
  wake();
  thread_ = {};
  disconnect();
  for (auto& request : waiting_) receivers_.lost(std::move(request));
  for (const auto& [key, remote] : keys_) key->release();
}

void RemoteEngine::wake() const {
  eventfd_write(own_wakeup_.get(), 1);
}

bool RemoteEngine::submit(const std::shared_ptr<Request>& request) {
  const std::scoped_lock lock(mutex_);
  // A request that overtook those that wait could make them fail.
  if (!waiting_.empty() || !send(request)) {
    if (!request->key.is_reference()) return false;
    waiting_.push_back(request);
    wake();
  }
  count(counters_.taken);
  count(counters_.in_flight);
  return true;
}

/// Passes a request to the engine, or its key if the engine does not have that yet. The caller holds the lock. Returns
/// false if the request is not passed.
bool RemoteEngine::send(const std::shared_ptr<Request>& request) {
  if (region_ == nullptr) return false;
  Key& key = request->key;
  const auto found = keys_.find(&key);
  if (found == keys_.end()) add_key(key);
  if (found == keys_.end() || found->second.state != KeyState::added || free_slots_.empty()) return false;
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  const std::uint32_t tag = kSlots * next_tag_++ + slot;
  pending_[slot] = {.request = request, .tag = tag, .since = Clock::now()};
  count(counters_.sent);
  Entry entry{.tag = tag, .key = found->second.number, .bytes = static_cast<std::uint32_t>(key.bytes())};
  std::copy_n(request->input.begin(), key.bytes(), entry.content.begin());
  // An engine whose socket is full has a wake-up to read.
  if (requests_->write(entry)) rsa_engine::send_message(socket_.get(), {MessageKind::wake, 0});
  return true;
}

/// Lets the thread pass the key to the engine, if a number is free.
void RemoteEngine::add_key(Key& key) {
  const auto number = std::ranges::find(by_number_, nullptr);
  if (number == by_number_.end()) return;
  keys_.emplace(&key, RemoteKey{.number = static_cast<std::uint32_t>(number - by_number_.begin())});
  *number = &key;
  key.refer();
  are_keys_new_ = true;
  wake();
}

void RemoteEngine::serve() {
  while (!is_ending_.load()) {
    bool is_whole = false;
    try {
      is_whole = serve_once();
      // NOLINTNEXTLINE(bugprone-empty-catch): without memory for an engine, this process computes
    } catch (const std::exception&) {
    }
    if (!is_whole) disconnect();
  }
  OPENSSL_thread_stop();
}

/// Returns false if the engine is gone, late, or breaks the protocol.
bool RemoteEngine::serve_once() {
  if (!socket_) connect();
  wait();
  if (socket_ && (!receive_messages() || !receive_answers() || is_late())) return false;
  send_waiting();
  if (socket_ && !send_keys()) return false;
  if (Clock::now() < next_sweep_) return true;
  next_sweep_ = Clock::now() + kInterval;
  return remove_keys();
}

void RemoteEngine::connect() {
  const Clock::time_point now = Clock::now();
  bool is_awaited = false;
  {
    const std::scoped_lock lock(mutex_);
    is_awaited = !waiting_.empty();
  }
  if (now < last_attempt_ + (is_awaited ? std::chrono::milliseconds(kTickMilliseconds) : kInterval)) return;
  last_attempt_ = now;
  FileDescriptor socket = connect_to(path_);
  if (!socket) return;
  if (!may_have_keys(socket.get())) return count(counters_.untrusted_engines);
  if (!rsa_engine::send_message(socket.get(), {MessageKind::open, kProtocolVersion})) return;
  const std::scoped_lock lock(mutex_);
  socket_ = std::move(socket);
}

/// Returns whether a trusted user listens. Another may have replaced the socket to collect keys.
bool RemoteEngine::may_have_keys(int socket) const {
  const auto listener = user_of_peer(socket);
  return listener && (*listener == 0 || *listener == geteuid() || listener == user_);
}

/// Gives back what is in flight. The keys wait for the next engine.
void RemoteEngine::disconnect() {
  std::array<std::shared_ptr<Request>, kSlots> lost;
  {
    const std::scoped_lock lock(mutex_);
    socket_ = {};
    requests_.reset();
    answers_.reset();
    region_.reset();
    for (auto& [key, remote] : keys_) remote.state = KeyState::unknown;
    are_keys_new_ = !keys_.empty();
    for (std::size_t i = 0; i < kSlots; ++i) lost[i] = std::exchange(pending_[i].request, nullptr);
  }
  for (auto& request : lost) {
    if (request == nullptr) continue;
    count(counters_.sent_lost);
    request->loss = Loss::ended;
    receivers_.lost(std::move(request));
  }
}

/// Waits for answers, messages, new keys or the time to look for something else.
void RemoteEngine::wait() {
  const bool may_sleep = answers_ == nullptr || answers_->begin_sleep();
  bool is_awaiting = false;
  {
    const std::scoped_lock lock(mutex_);
    is_awaiting = !waiting_.empty() || (region_ != nullptr && free_slots_.size() != kSlots);
  }
  std::array<pollfd, 2> waits{{{own_wakeup_.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}}};
  const auto interval = static_cast<int>(std::chrono::milliseconds(kInterval).count());
  poll(waits.data(), waits.size(), !may_sleep ? 0 : is_awaiting ? kTickMilliseconds : interval);
  if (answers_ != nullptr) answers_->end_sleep();
  eventfd_t value = 0;
  eventfd_read(own_wakeup_.get(), &value);
}

/// Returns false if the engine is gone or breaks the protocol.
bool RemoteEngine::receive_messages() {
  const std::span room(reinterpret_cast<std::uint8_t*>(room_.data()), room_.bytes());
  for (unsigned i = 0; i < kMostMessages; ++i) {
    FileDescriptor passed;
    rsa_engine::Message message{};
    switch (rsa_engine::receive_message(socket_.get(), room, message, &passed)) {
      case rsa_engine::Receipt::nothing:
        return true;
      case rsa_engine::Receipt::ended:
        return false;
      case rsa_engine::Receipt::message:
        if (!handle(message, passed)) return false;
    }
  }
  return true;
}

bool RemoteEngine::handle(const rsa_engine::Message& message, const FileDescriptor& passed) {
  const auto [kind, number] = message.head;
  const std::scoped_lock lock(mutex_);
  if (kind == MessageKind::wake) return true;
  if (kind == MessageKind::region) {
    if (number != kProtocolVersion || region_ != nullptr) return false;
    try {
      region_ = rsa_engine::MappedRegion::of_peer(passed);
    } catch (const std::exception&) {
      return false;
    }
    requests_ = std::make_unique<rsa_engine::RingWriter>((*region_)->requests);
    answers_ = std::make_unique<rsa_engine::RingReader>((*region_)->answers);
    free_slots_.clear();
    for (std::uint32_t slot = kSlots; slot-- > 0;) free_slots_.push_back(slot);
    return true;
  }
  if (kind != MessageKind::key_added && kind != MessageKind::key_refused) return false;
  const auto found = number < kMostKeys ? keys_.find(by_number_[number]) : keys_.end();
  if (found == keys_.end() || found->second.state != KeyState::asked) return false;
  found->second.state = kind == MessageKind::key_added ? KeyState::added : KeyState::refused;
  return true;
}

bool RemoteEngine::receive_answers() {
  if (answers_ == nullptr) return true;
  Entry entry;
  while (true) {
    switch (answers_->read(entry)) {
      case rsa_engine::Reading::empty:
        return true;
      case rsa_engine::Reading::broken:
        return false;
      case rsa_engine::Reading::entry:
        if (!accept_answer(entry)) return false;
    }
  }
}

/// Returns false if the answer is to no request.
bool RemoteEngine::accept_answer(const Entry& entry) {
  std::shared_ptr<Request> request;
  {
    const std::scoped_lock lock(mutex_);
    Pending& pending = pending_[entry.tag % kSlots];
    if (pending.request == nullptr || pending.tag != entry.tag) return false;
    request = std::move(pending.request);
    pending.request.reset();
    free_slots_.push_back(entry.tag % kSlots);
  }
  std::ranges::copy(entry.content, request->output.begin());
  if (entry.verdict == rsa_engine::Verdict::done && entry.bytes == request->key.bytes() &&
      request->key.is_result(library_, request->input.data(), request->output.data())) {
    count(counters_.sent_answered);
    receivers_.answered(*request);
  } else {
    count(counters_.sent_lost);
    request->loss = Loss::wrong;
    receivers_.lost(std::move(request));
  }
  return true;
}

bool RemoteEngine::is_late() {
  const Clock::time_point now = Clock::now();
  const std::scoped_lock lock(mutex_);
  const bool has_reference = std::ranges::any_of(
      pending_, [](const Pending& each) { return each.request != nullptr && each.request->key.is_reference(); });
  const auto patience = has_reference ? kPatienceWithReference : kPatience;
  return std::ranges::any_of(pending_, [now, patience](const Pending& each) {
    return each.request != nullptr && each.since + patience < now;
  });
}

/// Returns whether a request waits in vain, and why. The caller holds the lock.
bool RemoteEngine::has_failed(Request& request) {
  const bool is_connected = static_cast<bool>(socket_);
  request.loss = is_connected ? Loss::ended : Loss::absent;
  if (request.since + (is_connected ? kPatienceWithReference : kPatience) < Clock::now()) return true;
  if (region_ == nullptr) return false;
  const auto found = keys_.find(&request.key);
  if (found != keys_.end() && found->second.state != KeyState::refused) return false;
  request.loss = found == keys_.end() ? Loss::full : Loss::refused;
  return true;
}

/// Passes on the requests that wait, oldest first, and gives back those that wait in vain.
void RemoteEngine::send_waiting() {
  std::unique_lock lock(mutex_);
  for (std::size_t i = 0; i < waiting_.size();) {
    const bool is_sent = send(waiting_[i]);
    if (!is_sent && !has_failed(*waiting_[i])) {
      ++i;
      continue;
    }
    std::shared_ptr<Request> request = std::move(waiting_[i]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    if (is_sent) continue;
    lock.unlock();
    receivers_.lost(std::move(request));
    lock.lock();
  }
}

/// Passes keys to the engine. A full socket is no failure: the engine's replies wake the thread again.
bool RemoteEngine::send_keys() {
  const std::span room(reinterpret_cast<std::uint8_t*>(room_.data()), room_.bytes() - sizeof(rsa_engine::MessageHead));
  const std::scoped_lock lock(mutex_);
  if (region_ == nullptr || !are_keys_new_) return true;
  are_keys_new_ = false;
  for (auto& [key, remote] : keys_) {
    if (remote.state != KeyState::unknown) continue;
    const std::size_t bytes = key->write(room);
    if (bytes == 0) {  // no message has room for it
      remote.state = KeyState::refused;
      continue;
    }
    const bool is_sent =
        rsa_engine::send_message(socket_.get(), {MessageKind::add_key, remote.number}, room.first(bytes));
    erase_bytes(room.data(), bytes);
    if (is_sent) {
      remote.state = KeyState::asked;
    } else if (errno == EAGAIN) {
      are_keys_new_ = true;
      return true;
    } else {
      return false;
    }
  }
  return true;
}

/// Releases the keys that the application has freed. Those for whose message a full socket has no room wait for the
/// next time. Returns false if the engine is gone.
bool RemoteEngine::remove_keys() {
  const std::scoped_lock lock(mutex_);
  bool is_sent = true;
  std::erase_if(keys_, [&](const auto& each) {
    const auto& [key, remote] = each;
    if (!key->has_one_owner() || remote.state == KeyState::asked) return false;
    if (remote.state == KeyState::added &&
        !rsa_engine::send_message(socket_.get(), {MessageKind::remove_key, remote.number})) {
      is_sent &= errno == EAGAIN;
      return false;
    }
    by_number_[remote.number] = nullptr;
    key->release();
    return true;
  });
  return is_sent;
}

}  // namespace penumbra::tls
