// SPDX-License-Identifier: Apache-2.0
#include "control/netlink/feed.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "control/fpm/source.h"
#include "control/netlink/follower.h"
#include "control/netlink/subscription.h"
#include "control/netlink/table_choice.h"
#include "penumbra/errors.h"

namespace penumbra::control::netlink {

class NetlinkFeed::Handle final : public RouteSubscription {
 public:
  Handle(NetlinkFeed& feed, const FeedRequest& request, RouteListener& listener)
      : feed_(feed), subscription_(request, listener) {
    feed_.subscriptions_.push_back(&subscription_);
  }
  ~Handle() override { std::erase(feed_.subscriptions_, &subscription_); }

  void replace_own(const FeedRequest& request) override { subscription_.replace_own(request); }
  void change_own(const FeedRequest& request) override { subscription_.change_own(request); }
  void visit(Ipv4Prefix prefix, const std::function<void(const FeedRow&)>& visit) const override {
    subscription_.visit(prefix, visit);
  }
  void visit(Ipv6Prefix prefix, const std::function<void(const FeedRow&)>& visit) const override {
    subscription_.visit(prefix, visit);
  }
  std::vector<Ipv6Prefix> ipv6_prefixes() const override { return subscription_.prefixes<Ipv6Prefix>(); }
  std::vector<FeedNeighbour> neighbours() const override {
    const std::lock_guard lock(feed_.mutex_);
    return feed_.follower_ == nullptr ? std::vector<FeedNeighbour>{} : feed_.follower_->neighbours();
  }
  std::vector<FeedSource> sources() const override {
    const std::lock_guard lock(feed_.mutex_);
    if (feed_.follower_ == nullptr) return {};
    auto sources = feed_.follower_->sources();
    if (!subscription_.follows_fpm()) sources.resize(1);
    return sources;
  }

 private:
  NetlinkFeed& feed_;
  Subscription subscription_;
};

NetlinkFeed::NetlinkFeed(std::vector<std::string> twins, fpm::Config fpm, Log log)
    : twins_(std::move(twins)), fpm_(std::move(fpm)), log_(std::move(log)) {}
NetlinkFeed::~NetlinkFeed() = default;

void NetlinkFeed::check_source(const std::string& name) const {
  const std::vector<std::string> known{"kernel", "fpm"};
  if (std::ranges::count(known, name) > 0) return;
  throw std::invalid_argument("nothing to follow is called " + quote(name) + "; " + did_you_mean_or_list(name, known));
}

void NetlinkFeed::check_table(const std::string& text) const {
  parse_table(text);
}

std::unique_ptr<RouteSubscription> NetlinkFeed::subscribe(const FeedRequest& request, RouteListener& listener) {
  for (const auto& name : request.follow) check_source(name);
  return std::make_unique<Handle>(*this, request, listener);
}

void NetlinkFeed::start() {
  if (subscriptions_.empty()) return;
  std::unique_ptr<fpm::Source> fpm;
  if (std::ranges::any_of(subscriptions_, &Subscription::follows_fpm)) {
    fpm = std::make_unique<fpm::Source>(fpm_, subscriptions_, log_);
  }
  auto follower = std::make_unique<Follower>(twins_, subscriptions_, std::move(fpm), log_);
  const std::lock_guard lock(mutex_);
  follower_ = std::move(follower);
}

void NetlinkFeed::set_twins(std::vector<std::string> twins) {
  const std::lock_guard lock(mutex_);
  twins_ = std::move(twins);
  if (follower_ != nullptr) follower_->set_twins(twins_);
}

void NetlinkFeed::stop() {
  std::unique_ptr<Follower> ending;  // Its destructor runs at the end of this function, without the lock.
  const std::lock_guard lock(mutex_);
  ending.swap(follower_);
}

}  // namespace penumbra::control::netlink
