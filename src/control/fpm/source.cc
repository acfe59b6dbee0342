// SPDX-License-Identifier: Apache-2.0
#include "control/fpm/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace penumbra::control::fpm {
namespace {

using netlink::RouteSource;

std::optional<std::uint16_t> port_of(const netlink::Link* link) {
  return link == nullptr ? std::nullopt : link->port;
}

}  // namespace

std::optional<std::vector<netlink::Message>> read_frame(std::span<const std::byte> netlink) {
  std::vector<netlink::Message> messages;
  netlink::MessageReader reader(netlink);
  while (auto message = reader.next()) {
    if (std::holds_alternative<netlink::MalformedMessage>(message->content)) return std::nullopt;
    messages.push_back(std::move(*message));
  }
  return reader.whole() ? std::optional(std::move(messages)) : std::nullopt;
}

Source::Source(const Config& config, std::vector<netlink::Subscription*> subscriptions, Log log)
    : listen_(config.listen.text),
      subscriptions_(std::move(subscriptions)),
      log_(std::move(log)),
      server_(config.listen),
      resync_(config.settle, config.hold) {
  status_.name = "fpm";
  status_.problem = fmt::format("no FPM client has come to {}", listen_);
}

void Source::turn(const netlink::Links& links) {
  links_ = &links;
  // After a change of interfaces only the client can report the routes again. It reconnects and reports everything.
  const struct Close {
    Batches& batches;
    ~Close() { batches.clear(); }
  } close_at_end{batches_};
  if (interfaces_changed()) server_.drop("interfaces have changed, it must report everything again", *this);
  server_.receive(*this);
  batches_.clear();  // Reports to the listeners and releases the locks.
  withdraw(resync_.due(Clock::now(), stale()));
}

Source::Batches& Source::batches() {
  if (!batches_.empty()) return batches_;
  for (auto* const subscription : subscriptions_) {
    batches_.push_back(std::make_unique<netlink::Subscription::Batch>(*subscription));
  }
  return batches_;
}

std::size_t Source::stale() const {
  std::size_t stale = 0;
  for (const auto* const subscription : subscriptions_) stale += subscription->stale(RouteSource::fpm);
  return stale;
}

void Source::withdraw(Resync::Due due) {
  if (due == Resync::Due::nothing) return;
  for (const auto& batch : batches()) {
    if (due == Resync::Due::withdraw) batch->begin_sync(RouteSource::fpm);
    batch->end_sync(RouteSource::fpm, true);
  }
}

void Source::connected(const std::string& address) {
  ports_.clear();
  batches_.clear();  // Applies the last reports of next-hop objects before the synchronization.
  for (const auto& batch : batches()) batch->begin_sync(RouteSource::fpm);
  batches_.clear();
  resync_.connected(Clock::now(), stale());
  {
    const std::lock_guard lock(status_mutex_);
    ++status_.connections;
    status_.peer = address;
    status_.problem.clear();
  }
  refusal_logged_ = false;
  log_(fmt::format("fpm: client {} has come", address));
}

std::string Source::frame(std::span<const std::byte> netlink) {
  const auto messages = read_frame(netlink);
  if (!messages) return "a frame of malformed netlink messages";
  for (const auto& message : *messages) {
    if (const auto* const route = std::get_if<netlink::RouteMessage>(&message.content)) {
      for (const auto& hop : route->hops) note(hop);
      for (const auto& batch : batches()) batch->apply_fpm(*route, *links_);
    } else if (const auto* const object = std::get_if<netlink::ObjectMessage>(&message.content)) {
      if (object->hop) note(*object->hop);
      for (const auto& batch : batches()) batch->apply(*object, *links_, RouteSource::fpm);
    }
  }
  const std::lock_guard lock(status_mutex_);
  ++status_.frames;
  return "";
}

void Source::lost(std::string_view why, bool malformed) {
  resync_.lost(Clock::now());
  std::string peer;
  {
    const std::lock_guard lock(status_mutex_);
    peer = std::exchange(status_.peer, {});
    if (malformed) ++status_.malformed;
    status_.problem = fmt::format("no FPM client at {}: {}", listen_, why);
  }
  log_(fmt::format("fpm: client {} is lost: {}", peer, why));
}

void Source::refused(const std::string& address) {
  {
    const std::lock_guard lock(status_mutex_);
    ++status_.refused;
  }
  if (std::exchange(refusal_logged_, true)) return;  // The refused client tries again every few seconds.
  log_(fmt::format("fpm: client {} is refused, another one is there", address));
}

void Source::note(const netlink::HopMessage& hop) {
  ports_.try_emplace(hop.interface, port_of(links_->find(hop.interface)));
}

/// Returns true if an interface that the client named now represents another port, or represents a port only now. The
/// client itself handles interfaces that no longer exist.
bool Source::interfaces_changed() const {
  return std::ranges::any_of(ports_, [this](const auto& known) {
    const netlink::Link* const link = links_->find(known.first);
    return link != nullptr && link->port != known.second;
  });
}

FeedSource Source::status() const {
  const std::lock_guard lock(status_mutex_);
  return status_;
}

}  // namespace penumbra::control::fpm
