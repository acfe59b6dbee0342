// SPDX-License-Identifier: Apache-2.0
//
// Commands that change the tables of a function while the router runs: `penumbra route add 10.0.0.0/8 dev lan`. A
// function registers its commands (FunctionInfo::commands). The command line, the shell completion, the man page and
// the control socket take them from there.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace penumbra {

/// One action of a command.
struct CommandAction {
  std::string name;     ///< "add"
  std::string help;     ///< one line
  std::string entry;    ///< the form of an entry: "PREFIX [via ADDRESS] dev PORT [metric N]"
  bool changes = true;  ///< false: the action changes nothing, and a read-only control socket takes it
};

/// A command of a function: `penumbra NAME ACTION ENTRY`.
struct FunctionCommand {
  std::string name;  ///< "route"
  std::string help;  ///< one line
  std::vector<CommandAction> actions;
  std::string topic;  ///< topic of `show` that `penumbra NAME show` prints, one of FunctionInfo::topics
  /// Tells which lines belong to this function where several functions of a pipeline have the command: returns the text
  /// with the lines of the others made empty. Null: a caller has to name the stage.
  std::string (*select)(std::string_view text) = nullptr;
};

/// The entries of a command, one a line.
struct CommandEntries {
  std::string text;
  std::string name;  ///< what errors call the text: a file's name, "command line"
};

/// A change of a function's tables that was checked and is not made yet. Control thread.
class Change {
 public:
  /// Numbers of table entries that are added, removed, and changed in value.
  struct Counts {
    std::size_t added = 0, removed = 0, changed = 0;
  };

  Change() = default;
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  virtual ~Change() = default;

  /// Makes the change while packets go through the function. Throws std::exception at a limit; then nothing has
  /// changed.
  virtual void apply() = 0;
  /// Takes an applied change back. All later changes of the function must have been taken back before.
  virtual void undo() = 0;
  virtual Counts counts() const = 0;
};

/// A table of a function's configuration that commands change. The functions are valid until the table changes.
struct ConfigTable {
  std::string key;  ///< of the function's configuration: "routes"
  /// The entries, one a line, as a file that the key names has them.
  std::function<std::string()> lines;
  /// Returns the changes by command since the table was loaded or saved: "+ ENTRY", "- ENTRY", at most `most`.
  std::function<std::vector<std::string>(std::size_t most)> unsaved;
};

}  // namespace penumbra
