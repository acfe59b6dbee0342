// SPDX-License-Identifier: Apache-2.0
#include "runtime/control_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/scratch_folder.h"
#include "runtime/control_client.h"
#include "runtime/test_support.h"
#include "runtime/unix_socket.h"
#include "testing/message_of.h"

namespace penumbra::runtime {
namespace {

using json = nlohmann::ordered_json;
using testing::HasSubstr;

constexpr std::chrono::seconds kTimeout{20};

/// Returns the request, or a long text for the topic "big". Throws for the topic "error".
json echo(std::string_view command, std::string_view topic, Arguments arguments) {
  if (topic == "error") throw std::invalid_argument("as you request");
  if (topic == "long error") throw std::invalid_argument(std::string(100'000, 'a'));
  if (topic == "big") return std::string(8 << 20, 'x');
  return {{"command", command}, {"topic", topic}, {"arguments", arguments}};
}

/// Returns a configuration with one socket for the owner.
control::ControlSockets only(const std::filesystem::path& path) {
  control::ControlSockets sockets;
  sockets.socket = path;
  return sockets;
}

FileDescriptor connect(const std::filesystem::path& path) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_EQ(connect_to(socket.get(), unix_address(path)), 0);
  return socket;
}

void send_text(const FileDescriptor& socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (count <= 0) return;  // The server has disconnected.
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// Receives until a newline or the end.
std::string receive_text(const FileDescriptor& socket) {
  std::string text;
  char byte = 0;
  while (::recv(socket.get(), &byte, 1, 0) == 1 && byte != '\n') text += byte;
  return text;
}

class Control : public testing::Test {
 protected:
  Control() { server_.start({.handle = echo}); }
  json ask(std::string_view topic, const std::vector<std::string>& arguments = {}) {
    return ask_router(path_, "show", topic, arguments, kTimeout);
  }

  ScratchFolder folder_;
  std::filesystem::path path_ = folder_ / "control.sock";
  ControlServer server_{only(path_)};
};

TEST(Answer, TakesRequestsAndExplainsWhatIsNone) {
  const auto answered = [](std::string_view line) { return json::parse(answer(echo, line)); };
  EXPECT_EQ(
      answered(R"({"command":"show","topic":"ports","arguments":["a","b"]})"),
      json::parse(R"({"ok":true,"version":1,"result":{"command":"show","topic":"ports","arguments":["a","b"]}})"));
  EXPECT_EQ(answered(R"({"command":"trace","topic":"show"})")["result"]["arguments"], json::array());
  const auto error = [&answered](std::string_view line) {
    const json answer = answered(line);
    EXPECT_EQ(answer["ok"], false);
    return answer["error"].get<std::string>();
  };
  EXPECT_EQ(error(""), "not valid JSON");
  EXPECT_EQ(error("{"), "not valid JSON");
  EXPECT_EQ(error("[]"), "expected a JSON object");
  EXPECT_EQ(error("7"), "expected a JSON object");
  EXPECT_EQ(error("{}"), "'command' is missing");
  EXPECT_EQ(error(R"({"command":"show"})"), "'topic' is missing");
  EXPECT_EQ(error(R"({"command":1,"topic":"x"})"), "expected 'command' to be a string");
  EXPECT_EQ(error(R"({"command":"show","topic":null})"), "expected 'topic' to be a string");
  EXPECT_EQ(error(R"({"command":"show","topic":"x","arguments":{}})"), "expected 'arguments' to be a list of strings");
  EXPECT_EQ(error(R"({"command":"show","topic":"x","arguments":[1]})"), "expected each argument to be a string");
  EXPECT_THAT(error(R"({"comand":"show"})"), HasSubstr("unknown key 'comand'"));
  EXPECT_EQ(error(R"({"command":"show","topic":"error"})"), "as you request");
  EXPECT_EQ(error(std::string(60000, '[')), "not valid JSON");
}

TEST(Answer, SaysWhatKindOfRefusalItIs) {
  const auto refused = [](const std::function<void()>& action) {
    const auto handler = [&action](std::string_view, std::string_view, Arguments) {
      action();
      return json();
    };
    return json::parse(answer(handler, R"({"command":"show","topic":"ports"})"));
  };
  const json usage = refused([] { throw std::invalid_argument("which?"); });
  EXPECT_EQ(usage, json::parse(R"({"ok":false,"kind":"usage","error":"which?","version":1})"));
  EXPECT_EQ(refusal_of(usage).kind(), RefusalKind::usage);
  const json failure = refused([] { throw std::runtime_error("not now"); });
  EXPECT_EQ(failure, json::parse(R"({"ok":false,"kind":"failure","error":"not now","version":1})"));
  EXPECT_EQ(refusal_of(failure).kind(), RefusalKind::failure);
  const json input = refused([] { throw InputError({"f", 3, 4}, "no"); });
  EXPECT_EQ(input,
            json::parse(R"({"ok":false,"kind":"input","error":"no","file":"f","line":3,"column":4,"version":1})"));
  const RouterRefusal refusal = refusal_of(input);
  EXPECT_EQ(refusal.kind(), RefusalKind::input);
  EXPECT_STREQ(refusal.what(), "no");
  EXPECT_EQ(refusal.location().file, "f");
  EXPECT_EQ(refusal.location().line, 3);
  EXPECT_EQ(refusal.location().column, 4);
  EXPECT_EQ(refusal_of(json::parse(R"({"ok":false,"error":"of another version"})")).kind(), RefusalKind::failure);
}

TEST(Answer, TakesItsOwnVersionOnly) {
  const auto answered = [](std::string_view line) { return json::parse(answer(echo, line)); };
  EXPECT_EQ(answered(R"({"version":1,"command":"show","topic":"ports"})")["ok"], true);
  for (const char* other : {"0", "2", "-1", "18446744073709551615"}) {
    // A later version may have other keys.
    const json refused = answered(fmt::format(R"({{"version":{},"command":"show","verb":1}})", other));
    EXPECT_EQ(refused["kind"], "version");
    EXPECT_EQ(refused["version"], kControlVersion);
    EXPECT_EQ(refusal_of(refused).kind(), RefusalKind::version);
  }
  EXPECT_EQ(answered(R"({"version":"1","command":"show","topic":"ports"})")["kind"], "usage");
}

TEST(Answer, NeverFailsOnAnyBytes) {
  std::mt19937 random(11);
  const std::string valid = R"({"command":"show","topic":"ports","arguments":["a","b"]})";
  for (int round = 0; round < 5000; ++round) {
    std::string line = valid;
    for (int change = 0; change < 3; ++change) line[random() % line.size()] = static_cast<char>(random());
    EXPECT_TRUE(json::parse(answer(echo, line))["ok"].is_boolean());
  }
}

TEST_F(Control, AnswersOverTheSocket) {
  EXPECT_EQ(ask("ports", {"wan"}), echo("show", "ports", std::vector<std::string>{"wan"}));
  EXPECT_EQ(ask("big").get<std::string>().size(), 8U << 20);
  EXPECT_EQ(message_of<std::runtime_error>([this] { ask("error"); }), "as you request");
}

TEST_F(Control, IsItsOwnersOnly) {
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
}

TEST_F(Control, AnswersSeveralRequestsOfOneClientInOrder) {
  const auto socket = connect(path_);
  std::string requests;
  for (int i = 0; i < 100; ++i) requests += R"({"command":"show","topic":")" + std::to_string(i) + "\"}\n";
  send_text(socket, requests);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(json::parse(receive_text(socket))["result"]["topic"], std::to_string(i));
}

TEST_F(Control, PutsTogetherWhatComesInPieces) {
  const auto socket = connect(path_);
  for (const char byte : std::string(R"({"command":"show","topic":"ports"})")) send_text(socket, {&byte, 1});
  EXPECT_NE(ask("other"), nullptr);
  send_text(socket, "\n");
  EXPECT_EQ(json::parse(receive_text(socket))["ok"], true);
}

TEST_F(Control, RefusesLinesWithoutEnd) {
  const auto socket = connect(path_);
  send_text(socket, std::string(ControlServer::kMostLineBytes + 1, ' '));
  EXPECT_THAT(receive_text(socket), HasSubstr("a request must have at most"));
  EXPECT_EQ(receive_text(socket), "");
  EXPECT_NE(ask("ports"), nullptr);
}

TEST_F(Control, TakesTheLongestLine) {
  const auto socket = connect(path_);
  std::string line = R"({"command":"show","topic":"ports"})";
  line.resize(ControlServer::kMostLineBytes, ' ');
  send_text(socket, line + "\n");
  EXPECT_EQ(json::parse(receive_text(socket))["ok"], true);
}

TEST_F(Control, OutlivesGarbageAndClientsThatLeave) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    const auto socket = connect(path_);
    std::string garbage(random() % 5000, '\0');
    for (auto& byte : garbage) byte = static_cast<char>(random());
    send_text(socket, garbage);
    if (round % 3 == 0) send_text(socket, "\n{\"command\":\"show\",\"topic\":\"big\"}\n");
  }
  EXPECT_NE(ask("ports"), nullptr);
}

TEST_F(Control, ServesOthersWhileClientsAreSilentOrDoNotRead) {
  std::array<FileDescriptor, 20> idle;
  for (std::size_t i = 0; i < idle.size(); ++i) {
    idle[i] = connect(path_);
    if (i < 5) send_text(idle[i], "{\"command\":\"show\",\"topic\":\"big\"}\n");
    if (i >= 15) send_text(idle[i], "{\"comm");
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask("ports")["topic"], "ports");
}

TEST_F(Control, ServesManyClientsAtOnce) {
  std::atomic<int> answers{0};
  {
    std::array<std::jthread, 16> clients;
    for (std::size_t i = 0; i < clients.size(); ++i) {
      clients[i] = std::jthread([&, i] {
        for (std::size_t round = 0; round < 20; ++round) {
          const std::string topic = std::to_string(i * 100 + round);
          if (ask(topic)["topic"] == topic) ++answers;
        }
      });
    }
  }
  EXPECT_EQ(answers.load(), 16 * 20);
}

/// Excess clients wait and are served when others leave.
TEST_F(Control, ServesMoreClientsThanItHasPlacesFor) {
  std::vector<FileDescriptor> silent(ControlServer::kMostClients);
  std::generate(silent.begin(), silent.end(), [this] { return connect(path_); });
  const auto late = connect(path_);
  send_text(late, "{\"command\":\"show\",\"topic\":\"late\"}\n");
  silent.clear();
  EXPECT_EQ(json::parse(receive_text(late))["result"]["topic"], "late");
}

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

/// Provides a server with both sockets. Requests with the topic "set" are privileged.
class TwoSockets : public testing::Test {
 protected:
  TwoSockets() {
    server_.start(
        {.handle = echo,
         .stream = {.command = "stream", .start = [](auto, auto, auto&) { throw std::runtime_error("busy"); }},
         .is_privileged =
             [](const ControlRequest& request) { return request.command == "set" || request.command == "stream"; },
         .audit = [this](std::string_view line) { audit_.emplace_back(line); }});
  }
  control::ControlSockets sockets() const {
    control::ControlSockets sockets = only(folder_ / "new" / "all.sock");
    sockets.read_only_socket = folder_ / "new" / "show.sock";
    sockets.read_only_access = {.group = ::getegid(), .mode = 0660};
    return sockets;
  }
  json ask_all(const char* command, const std::string& topic) {
    return ask_router(sockets().socket, command, topic, {}, kTimeout);
  }
  json ask_read_only(const char* command) { return ask_router(sockets().read_only_socket, command, "x", {}, kTimeout); }

  ScratchFolder folder_;
  std::vector<std::string> audit_;  ///< Valid after the server has stopped.
  ControlServer server_{sockets()};
};

TEST_F(TwoSockets, HaveTheModesThatWereAskedFor) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(mode_of(sockets().socket), 0600U);
  EXPECT_EQ(mode_of(sockets().read_only_socket), 0660U) << "umask " << mask;
  EXPECT_EQ(mode_of(sockets().socket.parent_path()), 0700U) << "the first socket is its owner's only";
}

TEST_F(TwoSockets, OneOfThemTakesOnlyWhatChangesNothing) {
  EXPECT_EQ(ask_read_only("show")["command"], "show");
  EXPECT_EQ(ask_all("set", "x")["command"], "set");
  for (const char* command : {"set", "stream"}) {
    try {
      ask_read_only(command);
      ADD_FAILURE() << command << " was taken";
    } catch (const RouterRefusal& refusal) {
      EXPECT_EQ(refusal.kind(), RefusalKind::permission);
    }
  }
}

TEST_F(TwoSockets, TellWhoChangedWhat) {
  ask_all("show", "x");
  ask_all("set", "a\nb");
  message_of<std::runtime_error>([this] { ask_read_only("set"); });
  EXPECT_THROW(ask_all("set", "error"), RouterRefusal);
  message_of<std::runtime_error>([this] { ask_all("stream", "wan"); });
  server_.stop();
  const std::string who = fmt::format("audit: uid {} gid {} pid {} asked for ", ::geteuid(), ::getegid(), ::getpid());
  EXPECT_THAT(audit_,
              testing::ElementsAre(
                  who + R"(["set","a\nb"]: done)",
                  testing::StartsWith(who + R"(["set","x"]: refused: "set: this control socket only shows)"),
                  who + R"(["set","error"]: refused: "as you request")", who + R"(["stream","wan"]: refused: "busy")"));
}

TEST_F(TwoSockets, ShortenInTheAuditWhatIsLong) {
  const std::vector<std::string> arguments{std::string(100'000, 'a'), "b"};
  ask_router(sockets().socket, "set", "x", arguments, kTimeout);
  EXPECT_THROW(ask_router(sockets().socket, "set", "long error", arguments, kTimeout), RouterRefusal);
  server_.stop();
  ASSERT_EQ(audit_.size(), 2U);
  const std::string beginning(200, 'a');
  EXPECT_THAT(audit_[0], testing::EndsWith("[\"set\",\"x\",\"" + beginning + "... (100000 bytes)\",\"b\"]: done"));
  EXPECT_THAT(audit_[1], testing::EndsWith(": refused: \"" + beginning + "... (100000 bytes)\""));
}

/// Requests are short there.
TEST_F(TwoSockets, TakeNoTableFromThoseWhoOnlyLook) {
  const std::string line(ControlServer::kMostReadOnlyLineBytes + 1, ' ');
  const auto read_only = connect(sockets().read_only_socket), all = connect(sockets().socket);
  send_text(read_only, line);
  EXPECT_THAT(receive_text(read_only), HasSubstr("a request must have at most 65536 bytes"));
  send_text(all, line + R"({"command":"show","topic":"ports"})" + "\n");
  EXPECT_EQ(json::parse(receive_text(all))["ok"], true);
}

/// Clients of one socket do not count against the limit of the other.
TEST_F(TwoSockets, DoNotShareTheirPlaces) {
  std::vector<FileDescriptor> silent(ControlServer::kMostClients);
  std::generate(silent.begin(), silent.end(), [this] { return connect(sockets().read_only_socket); });
  EXPECT_EQ(ask_all("show", "x")["topic"], "x");
}

TEST(ControlServer, RemovesItsSocketAtTheEnd) {
  const ScratchFolder folder;
  const auto path = folder / "control.sock";
  {
    const ControlServer server(only(path));
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ControlServer, MakesItsFolder) {
  const ScratchFolder folder;
  const ControlServer server(only(folder / "new" / "control.sock"));
  struct stat status{};
  ASSERT_EQ(::stat((folder / "new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
}

TEST(ControlServer, LetsOthersIntoTheFolderThatItMakesIfTheyMayConnect) {
  const ScratchFolder folder;
  control::ControlSockets sockets = only(folder / "new" / "control.sock");
  sockets.access.mode = 0660;
  const ControlServer server(sockets);
  EXPECT_EQ(mode_of(folder / "new"), 0755U);
  EXPECT_EQ(mode_of(folder / "new" / "control.sock"), 0660U);
}

TEST(ControlServer, SaysThatItMayNotGiveItsSocketToAGroup) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may give files to any group";
  const ScratchFolder folder;
  control::ControlSockets sockets = only(folder / "control.sock");
  sockets.access = {.group = 0, .mode = 0660};
  EXPECT_THAT(message_of<std::runtime_error>([&sockets] { ControlServer server(sockets); }),
              HasSubstr("member of the group"));
  EXPECT_FALSE(std::filesystem::exists(sockets.socket));
}

TEST(ControlServer, RefusesAFolderThatIsOpenToAll) {
  const ScratchFolder folder;
  ASSERT_EQ(::mkdir((folder / "open").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((folder / "open").c_str(), 0777), 0);
  EXPECT_THAT(
      message_of<std::runtime_error>([&folder] { ControlServer server(only(folder / "open" / "control.sock")); }),
      HasSubstr("other users could replace"));
  ASSERT_EQ(::chmod((folder / "open").c_str(), 01777), 0);  // The mode is that of /tmp.
  const ControlServer server(only(folder / "open" / "control.sock"));
}

TEST(ControlServer, ReplacesAStaleSocketButNeitherALiveOneNorAFile) {
  const ScratchFolder folder;
  const auto path = folder / "control.sock";
  {
    const FileDescriptor dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(bind_to(dead.get(), unix_address(path)), 0);
  }
  {
    ControlServer server(only(path));
    server.start({.handle = echo});
    EXPECT_THAT(message_of<std::runtime_error>([&path] { ControlServer second(only(path)); }),
                HasSubstr("another router listens"));
    EXPECT_NE(ask_router(path, "show", "ports", {}, kTimeout), nullptr);
  }
  std::ofstream(path) << "precious";
  EXPECT_THAT(message_of<std::runtime_error>([&path] { ControlServer second(only(path)); }), HasSubstr(path.string()));
  EXPECT_EQ(std::filesystem::file_size(path), 8U);
}

TEST(ControlServer, SaysWhyItCannotListen) {
  EXPECT_THAT(message_of<std::runtime_error>([] { ControlServer server(only(std::string(200, 'x'))); }),
              HasSubstr("1 to 107 bytes"));
  EXPECT_THAT(message_of<std::runtime_error>([] { ControlServer server(only("/proc/none/control.sock")); }),
              HasSubstr("folder"));
}

}  // namespace
}  // namespace penumbra::runtime
