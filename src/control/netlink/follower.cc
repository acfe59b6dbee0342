// SPDX-License-Identifier: Apache-2.0
#include "control/netlink/follower.h"

#include <linux/rtnetlink.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "control/fpm/source.h"

namespace penumbra::control::netlink {
namespace {

using namespace std::chrono_literals;

constexpr auto kDebounce = 50ms;        // Delay from the first sign of a missed message.
constexpr auto kProbeInterval = 100ms;  // Interval of probing kProbesAtOnce neighbours.
constexpr int kProbesAtOnce = 10;
constexpr std::size_t kBatchDatagrams = 4096;  // Limit of a batch, so that threads that ask for data get the lock.
constexpr int kFirstAttempts = 20;
constexpr auto kAfterFailure = 200ms;
constexpr auto kReportInterval = 1s;  // Minimum interval between reports of lost neighbours.

}  // namespace

Follower::Follower(std::vector<std::string> twins, std::vector<Subscription*> subscriptions,
                   std::unique_ptr<fpm::Source> fpm, Log log)
    : twins_(twins),
      log_(std::move(log)),
      subscriptions_(std::move(subscriptions)),
      links_(std::move(twins)),
      events_(std::make_unique<EventSocket>()),
      dumps_(std::make_unique<DumpSocket>()),
      fpm_(std::move(fpm)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) throw std::system_error(errno, std::generic_category(), "eventfd");
  // On a host that changes constantly, a snapshot that is not quite consistent is good enough to begin with.
  for (int attempt = 0; attempt == 0 || (next_synchronization_ && attempt < kFirstAttempts); ++attempt) synchronize();
  thread_ = std::thread([this] { run(); });
}

Follower::~Follower() {
  stop_ = true;
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void Follower::set_twins(std::vector<std::string> twins) {
  {
    const std::lock_guard lock(twins_mutex_);
    new_twins_ = std::move(twins);
  }
  eventfd_write(wake_.get(), 1);
}

void Follower::take_twins() {
  eventfd_t count = 0;
  eventfd_read(wake_.get(), &count);
  const std::lock_guard lock(twins_mutex_);
  if (!new_twins_) return;
  twins_ = *new_twins_;
  links_.set_twins(std::move(*new_twins_));
  new_twins_.reset();
  ask_for_everything(0ms);
}

std::vector<FeedSource> Follower::sources() const {
  std::vector<FeedSource> sources;
  {
    const std::lock_guard lock(problem_mutex_);
    FeedSource& kernel = sources.emplace_back();
    kernel.name = "kernel";
    kernel.overflows = overflows_;
    if (!problem_.empty()) kernel.problem = "the host is not followed: " + problem_;
  }
  if (fpm_ != nullptr) sources.push_back(fpm_->status());
  return sources;
}

void Follower::run() {
  pthread_setname_np(pthread_self(), "netlink");
  while (!stop_) {
    try {
      follow();
    } catch (const std::exception& error) {
      set_problem(error.what());
    }
    if (stop_) return;
    // Retry with new sockets until it works.
    try {
      std::this_thread::sleep_for(kAfterFailure);
      events_ = std::make_unique<EventSocket>();
      dumps_ = std::make_unique<DumpSocket>();
      synchronize();
    } catch (const std::exception& error) {
      set_problem(error.what());
      ask_for_everything(kAfterFailure);
    }
  }
}

void Follower::set_problem(const std::string& problem) {
  const std::lock_guard lock(problem_mutex_);
  if (log_ && problem_ != problem) {
    log_(problem.empty() ? "the host is followed again" : "the host is not followed: " + problem);
  }
  problem_ = problem;
}

/// Handles events until stop_ is set.
void Follower::follow() {
  const FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) throw std::system_error(errno, std::generic_category(), "epoll");
  std::vector<int> descriptors{wake_.get(), events_->descriptor()};
  if (fpm_ != nullptr) descriptors.push_back(fpm_->descriptor());
  for (const int descriptor : descriptors) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
    if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
      throw std::system_error(errno, std::generic_category(), "epoll");
    }
  }
  while (!stop_) {
    auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(kProbeInterval);
    if (next_synchronization_) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next_synchronization_ - Clock::now());
      wait = std::clamp(left, 0ms, wait);
    }
    std::array<epoll_event, 3> ready;
    epoll_wait(epoll.get(), ready.data(), ready.size(), static_cast<int>(wait.count()));
    take_twins();
    receive();
    if (next_synchronization_ && Clock::now() >= *next_synchronization_) synchronize();
    probe();
    report_lost_neighbours();
    // The FPM source runs after the kernel's events, so that an interface's port is known before a route uses it.
    if (fpm_ != nullptr) fpm_->turn(links_);
  }
}

Follower::Batches Follower::open_batches() {
  Batches batches;
  for (auto* const subscription : subscriptions_) {
    batches.push_back(std::make_unique<Subscription::Batch>(*subscription));
  }
  return batches;
}

void Follower::notify(const std::function<void(RouteListener&)>& change) {
  for (auto* const subscription : subscriptions_) change(subscription->listener());
}

/// Handles the received messages. Returns true if there may be more.
bool Follower::receive() {
  Batches batches;
  for (std::size_t datagrams = 0; datagrams < kBatchDatagrams; ++datagrams) {
    const auto received = events_->receive([&](const Message& message) {
      if (batches.empty()) batches = open_batches();
      apply(message, batches);
    });
    if (received == EventSocket::Received::nothing) return false;
    if (received == EventSocket::Received::overflow) {
      ++overflows_;
      ask_for_everything(0ms);
    }
  }
  return true;
}

void Follower::apply(const Message& message, Batches& batches) {
  if (const auto* const link = std::get_if<LinkMessage>(&message.content)) {
    const Link* const before = links_.find(link->index);
    const bool goes = before != nullptr && before->up && (link->removed || !link->up);
    const bool carrier_goes = before != nullptr && before->carrier && !link->carrier;
    for (const auto& batch : batches) {
      if (goes) batch->lose(*before);
      if (carrier_goes && !goes) batch->lose_objects(*before);
    }
    if (links_.update(*link)) ask_for_everything(kDebounce);
  } else if (const auto* const address = std::get_if<AddressMessage>(&message.content)) {
    // The kernel removes IPv4 routes that prefer the address as their source without reporting the removals.
    if (address->removed) ask_for_everything(kDebounce);
  } else if (const auto* const neighbour = std::get_if<NeighbourMessage>(&message.content)) {
    neighbours_.apply(*neighbour, links_, [this](const auto& change) { notify(change); });
  } else if (const auto* const route = std::get_if<RouteMessage>(&message.content)) {
    for (const auto& batch : batches) {
      if (batch->apply(*route, message.flags, links_)) ask_for_everything(kDebounce);
    }
  } else if (const auto* const object = std::get_if<ObjectMessage>(&message.content)) {
    for (const auto& batch : batches) batch->apply(*object, links_, RouteSource::kernel);
  }
}

/// Schedules a synchronization, no sooner after the last one than the last one took. Thus a flapping interface does not
/// occupy the thread.
void Follower::ask_for_everything(Clock::duration delay) {
  if (next_synchronization_) return;
  next_synchronization_ = std::max(Clock::now() + delay, last_synchronization_ + longest_synchronization_);
}

void Follower::synchronize() {
  // Handles earlier events first. Otherwise an old event would override the newer dump.
  while (receive() && !stop_) continue;
  const auto begun = Clock::now();
  next_synchronization_.reset();
  {
    Batches batches = open_batches();
    if (!synchronize_all(batches)) ask_for_everything(kDebounce);
  }
  last_synchronization_ = Clock::now();
  longest_synchronization_ = last_synchronization_ - begun;
  set_problem("");
}

/// Synchronizes everything. Returns true if nothing can have been missed.
bool Follower::synchronize_all(Batches& batches) {
  bool complete = false;
  const auto end_sync = [&] {
    for (const auto& batch : batches) batch->end_sync(RouteSource::kernel, complete);
    neighbours_.end_sync(complete, [this](const auto& change) { notify(change); });
  };
  try {
    complete = dump_everything(batches);
  } catch (...) {
    end_sync();
    throw;
  }
  end_sync();
  return complete;
}

/// Dumps everything. Returns true if the dumps are consistent.
bool Follower::dump_everything(Batches& batches) {
  links_.begin_sync();
  bool complete = dumps_->dump(RTM_GETLINK, AF_UNSPEC, [this](const Message& message) {
    if (const auto* const link = std::get_if<LinkMessage>(&message.content)) links_.update(*link);
  });
  links_.end_sync(complete);
  const Visit visit = [&](const Message& message) { apply(message, batches); };
  for (const auto& batch : batches) batch->begin_sync(RouteSource::kernel);
  neighbours_.begin_sync();
  complete &= dumps_->dump(RTM_GETNEXTHOP, AF_UNSPEC, visit);
  for (const std::uint8_t family : {AF_INET, AF_INET6}) {
    complete &= dumps_->dump(RTM_GETNEIGH, family, visit);
  }
  for (const std::uint8_t family : {AF_INET, AF_INET6}) {
    complete &= dumps_->dump(RTM_GETROUTE, family, visit);
  }
  return complete;
}

/// Reports lost neighbours, at most a few lines a second: a vanished twin loses all its neighbours at once.
void Follower::report_lost_neighbours() {
  if (!log_ || Clock::now() < next_report_) return;
  const auto [lost, count] = neighbours_.take_lost();
  if (count == 0) return;
  next_report_ = Clock::now() + kReportInterval;
  for (const auto& [port, address, answers_not] : lost) {
    log_("neighbour " + std::visit([](auto each) { return to_string(each); }, address) + " on " + twins_.at(port) +
         " is lost: " + (answers_not ? "it does not answer" : "the host has deleted it"));
  }
  if (count > lost.size()) log_(std::to_string(count - lost.size()) + " more neighbours are lost");
}

void Follower::probe() {
  if (Clock::now() < next_probe_) return;
  next_probe_ = Clock::now() + kProbeInterval;
  for (int i = 0; i < kProbesAtOnce; ++i) {
    const auto next = neighbours_.next_to_probe();
    if (!next) return;
    dumps_->probe(next->first, next->second);
  }
}

}  // namespace penumbra::control::netlink
