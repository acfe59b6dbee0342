// SPDX-License-Identifier: Apache-2.0
//
// Feeds the engine what a client may send: a message after each two bytes of its length. A small length ends them, and
// the rest goes into shared memory.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <span>

#include "crypto/rsa_engine/session.h"

namespace {

using namespace penumbra;
using namespace penumbra::rsa_engine;

/// Copies the rest of the input over the requests of the region.
void fill_region(int client, std::span<const std::uint8_t> rest) {
  std::array<std::uint8_t, kMostMessage> room;
  Message message{};
  FileDescriptor file;
  if (receive_message(client, room, message, &file) != Receipt::message || !file) return;
  const auto region = MappedRegion::of_peer(file);
  Ring& requests = (*region)->requests;
  Entry entry;
  std::uint32_t written = 0;
  constexpr std::size_t kBytes = 64;
  for (; rest.size() > kBytes && written < 2 * kSlots; rest = rest.subspan(kBytes)) {
    std::copy_n(rest.begin(), kBytes, reinterpret_cast<std::uint8_t*>(&entry));
    requests.entries[written++ % kSlots].store(entry);
  }
  requests.written = rest.empty() || rest[0] % 2 == 0 ? written : 0U - rest[0];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span input(data, size);
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) std::abort();
  const FileDescriptor client(ends[1]);
  Counters counters{};
  Batcher batcher({}, counters);
  const OwnKeys own_keys;
  const auto session = std::make_shared<Session>(FileDescriptor(ends[0]), own_keys, counters);
  if (!session->handle({{MessageKind::open, kProtocolVersion}, {}}, batcher, 2)) std::abort();
  bool is_whole = true;
  while (is_whole && input.size() >= 2 + sizeof(MessageHead)) {
    const std::size_t length = std::min<std::size_t>(input[0] << 8 | input[1], input.size() - 2);
    if (length < sizeof(MessageHead)) {
      input = input.subspan(2);
      break;
    }
    Message message{};
    std::copy_n(input.begin() + 2, sizeof message.head, reinterpret_cast<std::uint8_t*>(&message.head));
    message.rest = input.subspan(2, length).subspan(sizeof message.head);
    is_whole = session->handle(message, batcher, 2);
    input = input.subspan(2 + length);
  }
  fill_region(client.get(), input);
  session->take_requests(batcher);
  session->end();
  if (counters.taken != counters.failed + counters.abandoned || counters.in_flight != 0 || counters.keys != 0 ||
      counters.references != 0) {
    std::abort();
  }
  return 0;
}
