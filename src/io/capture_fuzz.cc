// SPDX-License-Identifier: Apache-2.0
//
// Loads arbitrary bytes as a capture file. load_capture() must load or refuse them.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "io/frames.h"
#include "penumbra/errors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int descriptor = memfd_create("capture", MFD_CLOEXEC);
  if (descriptor < 0 || ::write(descriptor, data, size) != static_cast<ssize_t>(size)) std::abort();
  try {
    const penumbra::io::Frames frames = penumbra::io::load_capture("/proc/self/fd/" + std::to_string(descriptor));
    std::size_t dealt = 0;
    for (const auto& part : penumbra::io::partition(frames, 3)) dealt += part.size();
    if (dealt != frames.entries.size()) std::abort();
  } catch (const penumbra::InputError&) {
  }
  ::close(descriptor);
  return 0;
}
