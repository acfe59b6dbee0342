// SPDX-License-Identifier: Apache-2.0
//
// The main job in small, through the program's own commands: generate, run, verify, ask.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/test_program.h"

namespace penumbra::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class EndToEnd : public testing::Test {
 protected:
  void SetUp() override {
    require(run({"gen", "routes", "--count", "2k", "--next-hops", "6", "--ports", "a,b", "-o", folder_.file("routes"),
                 "--neighbours", folder_.file("neighbours")}));
    for (const std::string port : {"a", "b"}) {
      require(run({"gen", "traffic", "--packets", "3k", "--routes", folder_.file("routes"), "--dst", "prefixes",
                   "--odd", "10", "--seed", port == "a" ? "1" : "2", "-o", folder_.file(port + ".pcap")}));
    }
    write_config("pcap:a.pcap", "pcap:b.pcap");
  }

  static void require(const Outcome& outcome) { ASSERT_EQ(outcome.exit_code, 0) << outcome.errors; }

  void write_config(const std::string& a, const std::string& b) {
    std::ofstream(config_) << "ports:\n  - {name: a, device: \"" << a
                           << "\", sink: a-out.pcap}\n  - {name: b, device: \"" << b
                           << "\", sink: b-out.pcap}\ncontrol: {socket: " << socket_
                           << "}\npipeline:\n  - ipv4: {routes: routes, neighbours: neighbours}\n";
  }

  ScratchFolder folder_;
  std::string config_ = folder_.file("router.yaml");
  std::string socket_ = folder_.file("control.sock");
};

TEST_F(EndToEnd, ForwardsFromCaptureToCaptureAsTheOracleSays) {
  require(run({"check", config_}));
  const Outcome first = run({"run", config_, "-j"});
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  const json summary = json::parse(first.output);
  EXPECT_EQ(summary["received"]["packets"], 6000);
  EXPECT_EQ(summary["conserved"], true);
  EXPECT_GT(summary["sent"]["packets"], 4000);
  EXPECT_GT(summary["dropped"], 0);
  EXPECT_GT(summary["punted"], 0);

  const Outcome verified = run({"verify", config_, "-j"});
  EXPECT_EQ(verified.exit_code, 0) << verified.output;
  const json findings = json::parse(verified.output);
  EXPECT_EQ(findings["agreed"], summary["sent"]["packets"]);

  // The oracle counts the same reasons.
  json counted = json::object();
  for (const auto& reason : summary["reasons"]) counted[reason["reason"].get<std::string>()] = reason["packets"];
  EXPECT_EQ(findings["unsent"], counted);

  std::string output = read_file(folder_.file("a-out.pcap"));
  output[output.size() / 2] = static_cast<char>(output[output.size() / 2] ^ 0x20);
  std::ofstream(folder_.file("a-out.pcap"), std::ios::binary) << output;
  EXPECT_NE(run({"verify", config_}).exit_code, 0);
}

TEST_F(EndToEnd, PrintsASummaryForPeople) {
  const Outcome outcome = run({"run", config_, "--packets", "1000"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  for (const char* part : {"received", "1000", "Gbps on the wire", "cycles per packet", "ipv4.pre", "drop"}) {
    EXPECT_THAT(outcome.output, HasSubstr(part));
  }
}

TEST_F(EndToEnd, CannotVerifyWhatWasNotWritten) {
  write_config("synth:count=1", "none");
  const Outcome outcome = run({"verify", config_});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.errors, HasSubstr("router.yaml:2:"));
}

/// `penumbra run` in a process of its own.
class BackgroundRun {
 public:
  BackgroundRun(const std::string& config, const std::string& output) {
    process_ = fork();
    if (process_ != 0) return;
    if (freopen(output.c_str(), "w", stdout) == nullptr) _exit(99);
    const std::vector<const char*> words{"penumbra", "run", config.c_str(), "-j", "--for", "60s"};
    _exit(run_program(static_cast<int>(words.size()), words.data()));
  }
  BackgroundRun(const BackgroundRun&) = delete;
  BackgroundRun& operator=(const BackgroundRun&) = delete;
  ~BackgroundRun() {
    if (process_ > 0) stop(SIGKILL);
  }

  /// Sends the signal and returns the exit code, or -1 if there is none.
  int stop(int signal) {
    int status = 0;
    kill(process_, signal);
    waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t process_ = -1;
};

/// Asks until the router has come up; how long that takes is the machine's affair.
Outcome run_when_up(const std::vector<std::string>& words) {
  Outcome outcome = run(words);
  for (int attempt = 0; attempt < 600 && outcome.exit_code == 5; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    outcome = run(words);
  }
  return outcome;
}

TEST_F(EndToEnd, AnswersWhileItRunsAndEndsCleanlyOnASignal) {
  write_config("synth:dst=prefixes:routes,rate=2000", "none");
  std::string config = read_file(config_);
  for (const char* sink : {", sink: a-out.pcap", ", sink: b-out.pcap"})
    config.erase(config.find(sink), std::string(sink).size());
  std::ofstream(config_) << config;
  for (const int signal : {SIGINT, SIGTERM}) {
    BackgroundRun router(config_, folder_.file("run.json"));
    const Outcome ports = run_when_up({"show", "ports", "-j", "--socket", socket_});
    ASSERT_EQ(ports.exit_code, 0) << ports.errors;
    EXPECT_EQ(json::parse(ports.output).size(), 2U);
    for (const std::string topic : {"ports", "workers", "functions", "drops", "engines", "routes", "neighbours"}) {
      const Outcome shown = run({"show", topic, "--socket", socket_});
      EXPECT_EQ(shown.exit_code, 0) << topic << ": " << shown.errors;
      EXPECT_NE(shown.output, "") << topic;
    }
    const Outcome refused = run({"show", "ports", "c", "--socket", socket_});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.errors, "");

    require(run({"trace", "add", "2", "--port", "a", "--filter", "ip", "--socket", socket_}));
    Outcome traced = run({"trace", "show", "-j", "--socket", socket_});
    for (int attempt = 0; attempt < 600 && json::parse(traced.output).size() < 2; ++attempt) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      traced = run({"trace", "show", "-j", "--socket", socket_});
    }
    EXPECT_EQ(json::parse(traced.output).size(), 2U);
    EXPECT_THAT(run({"trace", "show", "--socket", socket_}).output, HasSubstr("ipv4: "));

    EXPECT_EQ(router.stop(signal), 0);
    const json summary = json::parse(read_file(folder_.file("run.json")));
    EXPECT_EQ(summary["conserved"], true);
    EXPECT_EQ(run({"show", "ports", "--socket", socket_}).exit_code, 5);
  }
}

}  // namespace
}  // namespace penumbra::cli
