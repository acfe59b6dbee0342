// SPDX-License-Identifier: Apache-2.0
#include "io/xdp_umems.h"

#include <xdp/xsk.h>

#include <utility>

// The linker redirects the driver's calls of xsk_umem__create() and xsk_umem__delete() here (cmake/Dpdk.cmake).
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
int __real_xsk_umem__create(xsk_umem** umem, void* area, __u64 size, xsk_ring_prod* fill, xsk_ring_cons* completion,
                            const xsk_umem_config* config);
int __wrap_xsk_umem__create(xsk_umem** umem, void* area, __u64 size, xsk_ring_prod* fill, xsk_ring_cons* completion,
                            const xsk_umem_config* config);
int __real_xsk_umem__delete(xsk_umem* umem);
int __wrap_xsk_umem__delete(xsk_umem* umem);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace penumbra::io {
namespace {

thread_local XdpUmems* recorder = nullptr;

}  // namespace

XdpUmems::Recording::Recording(XdpUmems& umems) : before_(std::exchange(recorder, &umems)) {}

XdpUmems::Recording::~Recording() {
  recorder = before_;
}

void XdpUmems::delete_all() noexcept {
  for (xsk_umem* const umem : umems_) __real_xsk_umem__delete(umem);
  umems_.clear();
}

}  // namespace penumbra::io

int __wrap_xsk_umem__create(xsk_umem** umem, void* area, __u64 size, xsk_ring_prod* fill, xsk_ring_cons* completion,
                            const xsk_umem_config* config) {
  const int result = __real_xsk_umem__create(umem, area, size, fill, completion, config);
  if (result == 0 && penumbra::io::recorder != nullptr) penumbra::io::recorder->add(*umem);
  return result;
}

int __wrap_xsk_umem__delete(xsk_umem* umem) {
  if (penumbra::io::recorder != nullptr) penumbra::io::recorder->remove(umem);
  return __real_xsk_umem__delete(umem);
}
