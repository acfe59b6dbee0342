// SPDX-License-Identifier: Apache-2.0
//
// The driver net_af_xdp of DPDK 22.11 does not delete the UMEM (packet memory that the kernel pins) of a device that is
// closed. The interface's queue then stays bound to it, and no port can be opened on that interface again.
#pragma once

#include <vector>

struct xsk_umem;

namespace penumbra::io {

/// The UMEMs of one device. Use from one thread at a time.
class XdpUmems {
 public:
  XdpUmems() = default;
  XdpUmems(const XdpUmems&) = delete;
  XdpUmems& operator=(const XdpUmems&) = delete;
  ~XdpUmems() = default;

  /// Calls of the driver on this thread, between construction and destruction, are for the device of `umems`.
  class Recording {
   public:
    explicit Recording(XdpUmems& umems);
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording();

   private:
    XdpUmems* const before_;
  };

  void add(xsk_umem* umem) { umems_.push_back(umem); }
  void remove(xsk_umem* umem) { std::erase(umems_, umem); }
  /// Deletes what the driver has left. Call after the device is closed.
  void delete_all() noexcept;

 private:
  std::vector<xsk_umem*> umems_;
};

}  // namespace penumbra::io
