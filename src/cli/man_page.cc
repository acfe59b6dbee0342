// SPDX-License-Identifier: Apache-2.0
#include "cli/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/version.h"

namespace penumbra::cli {
namespace {

constexpr std::string_view kDescription = R"(.SH DESCRIPTION
Penumbra is a software data plane. It receives packets from ports (DPDK devices, captures, synthetic traffic), passes
them through a pipeline of network functions, and sends, drops or punts each one. Every packet that is not sent is
counted under a named reason, and packets received, with the copies of those that leave by several ports, are at all times those
sent, dropped and punted and those in flight.
)";

constexpr std::string_view kConfiguration = R"(.SH CONFIGURATION
A YAML file. docs/configuration.md explains every key.
.PP
.RS 4
.nf
ports:
  - {name: wan, device: "pcap:in.pcap", sink: "wan\-out.pcap"}
  - {name: lan, device: "net_af_packet0,iface=eth1", queues: 2}
workers: {cores: [0, 1]}
engine: auto
pipeline:
  - ipv4: {routes: routes.txt, neighbours: neighbours.txt}
.fi
.RE
.PP
.TP
.B ports
A list:
.BR name ,
.B device
(pcap:FILE[,loop][,rate=PPS], synth:[OPTION,...], none, or the devargs of a DPDK device),
.B sink
of a port without a DPDK device (count, or a capture that ends in .pcap),
.B queues
to receive from,
.BR mac ,
.BR mtu ,
.B addresses
as A.B.C.D/LENGTH,
.BR promiscuous .
.TP
.B workers
.BR cores :
a list of cores, each with a worker pinned to it.
.TP
.B engine
auto, or a name of
.BR "penumbra show engines" .
.TP
.B pipeline
A list of functions in order, each a name or a name with its keys; each has a key
.B engine
of its own, and a key
.B go_to
with the stages that follow an outcome.
.TP
.B control
.BR socket :
the path of the control socket.
.PP
Relative file names count from the configuration's folder. Route and neighbour files are what
.BR ip\-route (8)
and
.BR ip\-neighbour (8)
print, with
.B dev
a port's name.
)";

constexpr std::string_view kFiles = R"(.SH FILES
.TP
.I $RUNTIME_DIRECTORY/penumbra.sock
.TQ
.I /run/penumbra/penumbra.sock
.TQ
.I $XDG_RUNTIME_DIR/penumbra.sock
.TQ
.I /tmp/penumbra\-UID/penumbra.sock
The control socket that
.BR "penumbra run" ", " "penumbra show" " and " "penumbra trace"
use if nothing else is said: the first one in a service of systemd, the second one for root, the last one for others
without
.BR XDG_RUNTIME_DIR .
.TP
.I $CACHE_DIRECTORY/calibration.json
.TQ
.I $XDG_CACHE_HOME/penumbra/calibration.json
.TQ
.I ~/.cache/penumbra/calibration.json
What the engines measured on this machine, kept by
.B penumbra run
for the next run, which begins with it: the first one in a service of systemd, the second one where that variable is
set. It may be deleted.
.SH ENVIRONMENT
.TP
.B XDG_RUNTIME_DIR
Where the control socket is made, for users other than root.
.TP
.B NOTIFY_SOCKET\fR, \fBWATCHDOG_USEC
Where and how often
.B penumbra run
tells a service manager that it runs: see
.BR sd_notify (3).
)";

constexpr std::string_view kSignalsSection = R"(.SH SIGNALS
.B penumbra run
ends on SIGINT and SIGTERM: it receives no more, finishes and writes what is in flight, prints its summary and exits
with 0 if all packets are accounted for. Further signals change nothing.
)";

constexpr std::string_view kExamples = R"(.SH EXAMPLES
.PP
.RS 4
.nf
penumbra gen routes \-\-count 900000 \-o routes.txt \-\-neighbours neighbours.txt
penumbra gen traffic \-\-packets 1M \-\-routes routes.txt \-\-dst prefixes \-o in.pcap
penumbra check router.yaml && penumbra run router.yaml
penumbra verify router.yaml
penumbra lookup \-\-routes routes.txt < addresses.txt
penumbra show drops
penumbra trace add 10 \-\-filter 'udp port 53' && penumbra trace show
.fi
.RE
)";

/// Escapes text for roff: no control lines, no escapes, and dashes that users can copy and search.
std::string roff_escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\') {
      result += "\\e";
    } else if (letter == '-') {
      result += "\\-";
    } else if ((letter == '.' || letter == '\'') && (result.empty() || result.back() == '\n')) {
      result += std::string("\\&") + letter;
    } else {
      result += letter;
    }
  }
  return result;
}

std::string value_text(const ParserOption& option) {
  return fmt::format("\\fI{}\\fR", roff_escaped(option.label)) + (option.repeats ? "..." : "");
}

std::string names_text(const ParserOption& option) {
  if (option.names.empty()) return value_text(option);
  std::string text;
  for (const auto& name : option.names) text += (text.empty() ? "" : ", ") + ("\\fB" + roff_escaped(name) + "\\fR");
  return option.value.empty() ? text : text + " " + value_text(option);
}

void add_option(const ParserOption& option, std::string& page) {
  page += fmt::format(".TP\n{}\n{}", names_text(option), roff_escaped(option.help));
  if (!option.choices.empty())
    page += fmt::format(" ({})", roff_escaped(fmt::format("{}", fmt::join(option.choices, ", "))));
  if (!option.default_value.empty()) page += ", by default " + roff_escaped(option.default_value);
  page += option.required && !option.names.empty() ? " (required)\n" : "\n";
}

void add_command(const ParserCommand& command, std::string& page) {
  std::string usage = "\\fB" + roff_escaped(command.full_name) + "\\fR";
  for (const auto& option : command.options) {
    if (option.required) usage += " " + names_text(option);
  }
  for (const auto& argument : command.arguments) {
    usage += argument.required ? " " + value_text(argument) : " [" + value_text(argument) + "]";
  }
  if (!command.commands.empty()) usage += " \\fICOMMAND\\fR";
  if (!command.options.empty()) usage += " [options]";
  page += fmt::format(".SS \"{}\"\n{}.\n", usage, roff_escaped(command.summary));
  if (!command.notes.empty()) page += fmt::format(".PP\n{}\n", roff_escaped(command.notes));
  for (const auto& argument : command.arguments) add_option(argument, page);
  for (const auto& option : command.options) {
    if (option.names.back() != "--help") add_option(option, page);
  }
  for (const auto& child : command.commands) add_command(child, page);
}

}  // namespace

std::string man_page(const ParserCommand& program) {
  std::string page =
      fmt::format(".TH PENUMBRA 1 \"\" \"penumbra {}\" \"User Commands\"\n.nh\n.ad l\n", version_number());
  page += ".SH NAME\npenumbra \\- a software data plane\n";
  page += ".SH SYNOPSIS\n.B penumbra\n.I COMMAND\n[\\fIoptions\\fR]\n";
  page += kDescription;
  page += ".SH OPTIONS\n";
  for (const auto& option : program.options) add_option(option, page);
  page += ".SH COMMANDS\n";
  for (const auto& command : program.commands) add_command(command, page);
  page += kConfiguration;
  page += kFiles;
  page += kSignalsSection;
  page += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_codes()) {
    page += fmt::format(".TP\n{}\n{}\n", static_cast<int>(code), roff_escaped(meaning));
  }
  page += kExamples;
  return page + ".SH SEE ALSO\n.BR ip\\-route (8),\n.BR pcap\\-filter (7)\n";
}

}  // namespace penumbra::cli
