// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace penumbra::control::xfrm {

/// Talks with the XFRM of a kernel. One thread uses it.
class KernelLink {
 public:
  using Visit = std::function<void(std::span<const std::uint8_t> message)>;
  enum class Received : std::uint8_t { nothing, messages, overrun };

  KernelLink() = default;
  KernelLink(const KernelLink&) = delete;
  KernelLink& operator=(const KernelLink&) = delete;
  virtual ~KernelLink() = default;

  /// Returns a descriptor that is readable while notifications wait.
  virtual int descriptor() const = 0;
  /// Visits the notifications of one datagram, if there is one. `overrun` means that notifications were lost. Throws
  /// std::system_error.
  virtual Received receive(const Visit& visit) = 0;
  /// Sends one request, visits the messages of the answer, and returns the kernel's errno (0: success). ENOBUFS means
  /// that a part of the answer was lost, and EINTR that a dump has changed meanwhile. Throws std::system_error if the
  /// kernel does not answer.
  virtual int ask(std::span<const std::uint8_t> request, const Visit& visit) = 0;
};

/// Calls `visit` for each whole message of a datagram. A message whose length is wrong ends the datagram.
void visit_messages(std::span<const std::uint8_t> datagram, const KernelLink::Visit& visit);

}  // namespace penumbra::control::xfrm
