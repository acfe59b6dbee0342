// SPDX-License-Identifier: Apache-2.0
#include "functions/flows/exporter.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace penumbra::flows {
namespace {

/// Sending over UDP waits only for a queue of the host. The timeout lets accounting continue if that queue is stuck.
FileDescriptor make_socket(int family) {
  FileDescriptor made(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  constexpr timeval kPatience{.tv_sec = 0, .tv_usec = 100'000};
  if (!made || ::setsockopt(made.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot make a socket for a flow collector");
  }
  return made;
}

}  // namespace

Exporter::Exporter(const ExportSettings& settings, ExportCounters& counters)
    : template_interval_(settings.template_interval),
      counters_(counters),
      address_(settings.address),
      address_bytes_(settings.address_bytes),
      socket_(make_socket(settings.address.ss_family)),
      messages_(settings.observation_domain) {}

void Exporter::add(const ClosedFlow& flow, milliseconds now) {
  if (now >= templates_due_) {
    flush();
    messages_.add_templates();
    flush();
    ++counters_.templates;
    templates_due_ = now + template_interval_;
  }
  if (!messages_.add(flow)) {
    flush();
    messages_.add(flow);
  }
  ++flows_;
  packets_ += flow.counts.packets;
  bytes_ += flow.counts.bytes;
}

/// The socket is not connected, so a missing collector causes no error, and a collector that comes back receives
/// messages.
void Exporter::flush() {
  const auto message = messages_.take();
  if (message.empty()) return;
  const auto* const to = reinterpret_cast<const sockaddr*>(&address_);
  const bool taken = ::sendto(socket_.get(), message.data(), message.size(), 0, to, address_bytes_) >= 0;
  if (taken) {
    ++counters_.messages;
    counters_.flows += flows_;
    counters_.packets += packets_;
    counters_.bytes += bytes_;
  } else {
    ++counters_.lost_messages;
    counters_.lost_flows += flows_;
  }
  flows_ = packets_ = bytes_ = 0;
}

}  // namespace penumbra::flows
