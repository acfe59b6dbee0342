// SPDX-License-Identifier: Apache-2.0
//
// Tests changes of ports while a run ends, and the undoing of unconfirmed changes.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "runtime/scripted_devices.h"

namespace penumbra::runtime {
namespace {

using std::chrono::milliseconds;
using test::ChangingRouter;
using test::wait_until;

/// Runs threads that change ports until the run has ended. Ignores refused changes.
class Changers {
 public:
  explicit Changers(ChangingRouter& bed) : bed_(bed) {}
  template <class Action>
  void add(const Action& action) {
    threads_.emplace_back([this, action] {
      for (unsigned i = 0; !ended_; ++i) {
        try {
          action(i);
        } catch (const std::exception&) {
          std::this_thread::yield();
        }
      }
    });
  }
  void end_run_and_check() {
    bed_.stop();
    bed_.join();
    ended_ = true;
    threads_.clear();
    bed_.join_and_check();
  }

 private:
  ChangingRouter& bed_;
  std::atomic<bool> ended_{false};
  std::vector<std::jthread> threads_;
};

/// A worker closes its queue of a device when the run ends. A thread that removes the port must wait until the queue is
/// closed.
TEST(RunEnd, ADeviceIsNotDestroyedWhileAWorkerClosesIt) {
  ChangingRouter bed(ChangingRouter::ports_a_b(), 2);
  std::atomic<bool> closing{false}, goes_on{false};
  bed.device("a").at_close = [&] {
    closing = true;
    while (!goes_on) std::this_thread::yield();
  };
  bed.start();
  bed.stop();
  wait_until([&] { return closing.load(); }, "worker that closes");
  std::thread changer([&] {
    try {
      bed.change(ChangingRouter::line("b"));
    } catch (const std::runtime_error& error) {
      EXPECT_STRNE(error.what(), "") << "the change came too late";
    }
  });
  std::this_thread::sleep_for(milliseconds(50));  // without a wait, the device would be destroyed by now
  EXPECT_EQ(bed.device("a").alive, 1U);
  goes_on = true;
  changer.join();
  bed.join_and_check();
}

/// While the run ends, the workers receive packets that the devices still hold. A port that is added then has no such
/// packets.
TEST(RunEnd, APortThatIsAddedWhileTheRunEndsDoesNotKeepIt) {
  ChangingRouter bed(ChangingRouter::ports_a_b(), 1);
  bed.device("a").holds_drained = true;
  bed.start();
  bed.stop();
  wait_until([&] { return bed.device("a").drained.load(); }, "drained queue");
  bed.change(ChangingRouter::ports_a_b() + ChangingRouter::line("c"));
  bed.device("a").holds_drained = false;
  bed.join_and_check();
  EXPECT_TRUE(bed.device("c").drained);
}

/// All packets of a port are received if the port is added before all sources are exhausted.
TEST(RunEnd, APortThatIsAddedBeforeTheEndIsReceivedFrom) {
  for (unsigned run = 0; run < 10; ++run) {
    ChangingRouter bed(ChangingRouter::ports_a_b(), 2);
    bed.device("c").packets = 1000;
    bed.start();
    bed.device("a").packets = 0;
    bed.change(ChangingRouter::ports_a_b() + ChangingRouter::line("c"));
    bed.device("b").packets = 0;
    bed.join_and_check();
    EXPECT_EQ(bed.device("c").given, 2000U);  // 1000 packets from each of two queues
  }
}

TEST(RunEnd, PortsChangeUntilTheRunHasEnded) {
  for (unsigned run = 0; run < 6; ++run) {
    ChangingRouter bed(ChangingRouter::ports_a_b(), 2);
    Changers changers(bed);
    bed.start(run % 2 == 0);
    changers.add([&](unsigned i) {
      const std::string a = ChangingRouter::line("a", i % 2 == 0 ? "mtu: 1400" : "mtu: 1500");
      bed.change(a + ChangingRouter::line(i % 3 == 0 ? "c" : "b"));
    });
    changers.add([&](unsigned) { bed.router().show("ports", {}); });
    std::this_thread::sleep_for(milliseconds(20 + run * 10));
    bed.device("a").lost = true;
    changers.end_run_and_check();
  }
}

/// Several threads make, confirm and undo changes until the run ends.
TEST(RunEnd, UnconfirmedChangesAreTakenBackUntilTheRunHasEnded) {
  for (unsigned run = 0; run < 3; ++run) {
    ChangingRouter bed(ChangingRouter::ports_a_b(), 2);
    Changers changers(bed);
    bed.start();
    const auto command = [&](const std::string& action, const std::vector<std::string>& arguments) {
      bed.router().change("port", action, arguments);
    };
    changers.add([&](unsigned) { command("add", {"--confirm", "0.1", "c device net_null_c"}); });
    changers.add([&](unsigned i) {
      std::this_thread::sleep_for(milliseconds(7));
      command("replace", {"a device net_null_a mtu " + std::to_string(1400 + i % 100)});
    });
    changers.add([&](unsigned i) {
      std::this_thread::sleep_for(milliseconds(11));
      if (i % 5 == 0) {
        command("del", {"c"});
      } else {
        bed.router().configure(i % 2 == 0 ? "rollback" : "confirm", {});
      }
    });
    std::this_thread::sleep_for(milliseconds(150 + run * 90));
    changers.end_run_and_check();
  }
}

/// Unconfirmed changes stay at the end of a run.
TEST(RunEnd, AnUnconfirmedChangeStaysWhenTheRunEnds) {
  ChangingRouter bed(ChangingRouter::ports_a_b(), 1);
  bed.start();
  bed.router().change("port", "add", std::vector<std::string>{"--confirm", "3600", "c device net_null_c"});
  bed.wait_until_sent(2);
  bed.stop();
  bed.join_and_check();
  EXPECT_EQ(bed.device("c").opened, 1U);
}

/// A change is undone completely although its device was lost meanwhile.
TEST(RunEnd, AnUnconfirmedChangeIsTakenBackWhileItsDeviceIsLost) {
  ChangingRouter bed(ChangingRouter::ports_a_b(), 2);
  bed.start();
  bed.router().change("port", "replace", std::vector<std::string>{"--confirm", "3600", "b device net_null_b mtu 1400"});
  bed.device("b").opens = false;
  bed.device("b").lost = true;
  wait_until([&] { return bed.device("b").refused > 0; }, "attempt");
  EXPECT_EQ(bed.router().configure("rollback", {}).count("failures"), 0U);
  bed.device("b").opens = true;
  bed.wait_until_sent(1);
  EXPECT_EQ(bed.device("b").mtu, 1500);
  bed.stop();
  bed.join_and_check();
}

}  // namespace
}  // namespace penumbra::runtime
