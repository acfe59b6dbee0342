// SPDX-License-Identifier: Apache-2.0
//
// `penumbra xfrm run` and `penumbra xfrm status`.
#include <fmt/format.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "base/file_descriptor.h"
#include "base/log.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/output.h"
#include "control/xfrm/keeper.h"
#include "control/xfrm/netlink_link.h"
#include "control/xfrm/protocol.h"

namespace penumbra::cli {
namespace {

namespace xfrm = control::xfrm;

struct XfrmOptions {
  std::string socket = "/run/penumbra/xfrm.sock";
  std::string state = "/var/lib/penumbra";
  bool accept_lost_marks = false, follow_kernel = false, json = false;
};

void run_keeper(const XfrmOptions& options) {
  const std::filesystem::path socket = options.socket, state = options.state;
  const Interruption interruption;
  if (!xfrm::protect_process()) {
    log_warning("xfrm: the memory of the process cannot be locked; raise its limit (ulimit -l, LimitMEMLOCK=)");
  }
  std::filesystem::create_directories(state);
  if (socket.has_parent_path()) std::filesystem::create_directories(socket.parent_path());
  xfrm::SaKeeper keeper({.socket = socket, .marks = state / "xfrm.marks", .witness = socket.string() + ".witness"},
                        options.follow_kernel ? std::make_unique<xfrm::NetlinkLink>() : nullptr);
  if (const std::string& why = keeper.marks().why_lost(); !why.empty()) {
    if (options.accept_lost_marks) {
      log_warning("xfrm: " + why + "; a new file of high-water marks begins");
      keeper.marks().begin_again();
    } else {
      log_error("xfrm: " + why +
                "; SAs with a counter mode are refused, because their keys may have been used. If no such key will "
                "come again, start with --accept-lost-marks");
    }
  }
  log_info(fmt::format("xfrm: listening on {}, {} high-water marks{}", socket.string(), keeper.marks().size(),
                       options.follow_kernel ? "; SAs and policies come from the kernel" : ""));
  keeper.run(interruption.descriptor());
  log_info("xfrm: ended");
}

/// Asks the keeper for its state in JSON.
nlohmann::ordered_json ask_status(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw Failure(ExitCode::usage, "the path of the socket is too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  const FileDescriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw Failure(ExitCode::no_connection, fmt::format("no keeper answers on {}: {}; start it with `penumbra xfrm run`",
                                                       path, std::generic_category().message(errno)));
  }
  const nlmsghdr request{sizeof request, PENUMBRA_XFRM_STATUS, NLM_F_REQUEST, 1, 0};
  std::array<char, 4096> reply{};
  nlmsghdr head{};
  const bool sent = send(connection.get(), &request, sizeof request, MSG_NOSIGNAL) == sizeof request;
  const ssize_t got = sent ? recv(connection.get(), reply.data(), reply.size(), 0) : -1;
  if (got >= static_cast<ssize_t>(sizeof head)) std::memcpy(&head, reply.data(), sizeof head);
  if (head.nlmsg_type != PENUMBRA_XFRM_STATUS || head.nlmsg_len > got) {
    throw Failure(ExitCode::failure, fmt::format("the keeper on {} gives no status", path));
  }
  const std::string padded(reply.data() + sizeof head, reply.data() + head.nlmsg_len);
  return nlohmann::ordered_json::parse(padded.c_str());
}

void print_status(const XfrmOptions& options) {
  const auto status = ask_status(options.socket);
  if (options.json) {
    write_output(status.dump(2) + "\n");
    return;
  }
  const auto& policies = status["policies"];
  std::string text = fmt::format("SAs               {}, {} of them past a soft limit, and {} without keys yet\n",
                                 status["sas"].get<std::size_t>(), status["dying_sas"].get<std::size_t>(),
                                 status["larval_sas"].get<std::size_t>());
  text += fmt::format("policies          {} in, {} out, {} fwd\n", policies["in"].get<std::size_t>(),
                      policies["out"].get<std::size_t>(), policies["fwd"].get<std::size_t>());
  text += fmt::format("high-water marks  {}\n", status["high_water_marks"].get<std::size_t>());
  if (status["source"] == "kernel") {
    const auto count = [&](const char* name) { return status[name].get<std::uint64_t>(); };
    text += fmt::format("source            the kernel, {} overruns, {} resyncs\n", count("overruns"), count("resyncs"));
    text += fmt::format("locked            {} SAs, {} could not be, and {} seal nothing\n", count("locks"),
                        count("lock_failures"), count("unsealed_sas"));
    text += fmt::format("refused           {} SAs, {} policies\n", count("refused_sas"), count("refused_policies"));
  }
  if (const auto why = status["marks_lost"].get<std::string>(); !why.empty())
    text += fmt::format("marks lost        {}\n", why);
  write_output(text);
}

void set_up_xfrm(CLI::App& command) {
  const auto options = std::make_shared<XfrmOptions>();
  command.require_subcommand(1);
  CLI::App& run = *command.add_subcommand("run", "Keep SAs and policies for IKE daemons and the router");
  run.add_option("--socket", options->socket, "Unix socket that carries XFRM messages")
      ->type_name("PATH")
      ->capture_default_str();
  run.add_option("--state", options->state, "Folder of the high-water marks")
      ->type_name("FOLDER")
      ->capture_default_str();
  run.add_flag("--accept-lost-marks", options->accept_lost_marks,
               "Begin new high-water marks if they were lost: no old key will come again");
  run.add_flag("--follow-kernel", options->follow_kernel,
               "Take SAs and policies from the kernel of this network namespace, whose daemons stay unchanged");
  run.footer(
      "Ends with SIGTERM. SAs and policies end with the process; high-water marks stay. See docs/ipsec-control.md.");
  run.callback([options] { run_keeper(*options); });
  CLI::App& status = *command.add_subcommand("status", "Print how many SAs and policies the keeper has");
  status.add_option("--socket", options->socket, "Unix socket of the keeper")->type_name("PATH")->capture_default_str();
  add_json_flag(status, options->json);
  status.callback([options] { print_status(*options); });
}

const bool kXfrmCommand =
    register_command({"xfrm", "Keep the SAs and policies of IPsec, and show their number", set_up_xfrm});

}  // namespace
}  // namespace penumbra::cli
