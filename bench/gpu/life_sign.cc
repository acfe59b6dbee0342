// SPDX-License-Identifier: Apache-2.0
#include "gpu/life_sign.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

namespace penumbra::bench::gpu {
namespace {

std::atomic<const char*> last_doing{""};
static_assert(std::atomic<const char*>::is_always_lock_free, "a signal's handler reads it");

void say(const char* text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
}

/// Destructors would wait for the GPU too: nothing of them.
[[noreturn]] void end(int /*signal*/) {
  say("gpu: no sign of life for two minutes: ");
  say(last_doing.load());
  say("\n");
  _exit(1);
}

}  // namespace

LifeSign::LifeSign() {
  struct sigaction action{};
  action.sa_handler = &end;
  sigaction(SIGALRM, &action, nullptr);
  now("the beginning");
}

LifeSign::~LifeSign() {
  alarm(0);
}

void LifeSign::now(const char* doing) {
  last_doing = doing;
  alarm(kPatience);
}

}  // namespace penumbra::bench::gpu
