// SPDX-License-Identifier: Apache-2.0
#include "pin.h"

#include <sched.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "base/permitted_cores.h"

namespace penumbra::bench {
namespace {

const std::vector<unsigned>& cores() {
  static const std::vector<unsigned> kCores = permitted_cores();
  if (kCores.empty()) throw std::system_error(errno, std::generic_category(), "sched_getaffinity");
  return kCores;
}

void pin_to(unsigned core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) {
    throw std::system_error(errno, std::generic_category(), "sched_setaffinity");
  }
}

}  // namespace

unsigned first_core() {
  return cores().front();
}
unsigned last_core() {
  return cores().back();
}
unsigned core_count() {
  return static_cast<unsigned>(cores().size());
}
unsigned core(unsigned index) {
  return cores().at(index);
}
void pin_to_core(unsigned index) {
  pin_to(core(index));
}
void pin_to_first_core() {
  pin_to(first_core());
}
void pin_to_last_core() {
  pin_to(last_core());
}

}  // namespace penumbra::bench
