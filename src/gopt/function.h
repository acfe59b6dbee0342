// SPDX-License-Identifier: Apache-2.0
//
// Rewrites one annotated function F into G. A single walk over F builds a flow graph of the reads and writes, and
// collects edits. The graph then tells which variables each switch must save.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "access.h"
#include "clang/AST/StmtCXX.h"
#include "flow.h"
#include "unit.h"

namespace gopt {

struct Options {
  static constexpr unsigned kMostWidth = 256;

  unsigned width = 16;     ///< Number of items in turn; the maximum if `any_width` is set.
  bool any_width = false;  ///< True if G takes the width as an additional parameter.
  std::string suffix = "_gopt";
};

/// Placeholder for the index of a foreach until its storage is known.
constexpr char kIndexMark = '\x05';

/// A local variable of F or of a function expanded in it, or the result of such a function.
struct Variable {
  enum class Form {
    plain,
    reference,  ///< Stored as a pointer.
    /// Declared before everything else, so that its address stays valid: an array or a variable with pointers to it.
    hoisted,
    boxed  ///< Hoisted in a union: a class that cannot be declared without construction.
  };

  const clang::VarDecl* declaration = nullptr;
  clang::QualType type;  ///< Type of the stored value: without const, and a pointer for a reference.
  std::string name;
  Form form = Form::plain;
  std::string member;            ///< Name of the member that stores it per item.
  clang::SourceLocation escape;  ///< Place where its address is taken; invalid if nowhere.
  clang::SourceLocation where;
  int loop = -1;                  ///< The foreach in which each item has its own copy; -1: outside.
  clang::SourceLocation changed;  ///< Place where an item changes it, if it is declared outside of the foreach.
  bool is_index = false;
  bool is_fixed = false;     ///< True for a folded parameter: `name` is a constant or an expression.
  bool is_outside = false;   ///< True if it is declared outside of the foreach in which each item has its own copy.
  unsigned declared_at = 0;  ///< The point of its declaration.
  bool split = false;        ///< True if it is declared here without const and without its initialiser.
};

class Function {
 public:
  Function(Unit& unit, const clang::FunctionDecl* function, const Options& options);

  /// Returns G with marks for #line. The text is unusable if the unit has refused the source.
  std::string rewrite();
  bool prefetches_ranges() const { return prefetches_ranges_; }
  /// Returns true if G has a constant where F has a parameter.
  bool folds() const { return folds_; }
  /// Returns the calls that were expanded. G still calls all other functions by name, as F did.
  const std::set<const clang::CallExpr*>& expanded_calls() const { return expanded_calls_; }
  /// Returns the parts that an expansion left out because their condition is a constant there.
  const std::set<const clang::Stmt*>& vanished() const { return vanished_; }
  /// Returns true if an expansion, or F itself, has this part.
  bool has(const clang::Stmt* part) const { return started_.count(part) != 0; }
  const std::string& explanation() const { return explanation_; }

 private:
  /// A body that is walked over: F's own, or that of a function expanded in place.
  struct Frame {
    Frame(const clang::FunctionDecl* whose, Frame* called_from, unsigned its_number, const Tokens& tokens)
        : function(whose), caller(called_from), number(its_number), text(tokens) {}

    const clang::FunctionDecl* function;
    Frame* caller;
    unsigned number;  ///< 0: F itself.
    Text text;
    std::map<const clang::VarDecl*, unsigned> variables;
    std::map<const clang::LabelDecl*, unsigned> labels;
    /// Variables of the results of expanded calls, and of expressions that statements compute because of such calls.
    /// The value is -1 without a variable.
    std::map<const clang::Expr*, int> results;
    std::map<const clang::ParmVarDecl*, const clang::Expr*> constants;  ///< Values of folded parameters.
    int result = -1;                                                    ///< The variable of the frame's own result.
    unsigned returned = 0;                                              ///< The point that a return leads to.
    bool has_return = false;
  };
  struct Target {
    const clang::Stmt* statement = nullptr;
    unsigned break_to = 0;
    unsigned continue_to = 0;
    bool takes_continue = true;
    std::string continue_label;  ///< Label to jump to if the loop has been rewritten.
    bool label_used = false;
  };
  struct Switch {
    unsigned point = 0;
    clang::SourceLocation where;
    std::string what;      ///< The hints as written.
    std::string prefetch;  ///< The prefetch statements.
    std::vector<unsigned> in_scope;
    unsigned loop = 0;
    unsigned number = 0;  ///< Number within its loop, from 1.
    /// True if the item's ring slot is marked with the loop's first switch again after this switch.
    bool marks_first = false;
  };
  /// Statements to insert before a statement whose calls were expanded.
  struct Expanded {
    std::string declared;  ///< Declarations of the results' variables.
    std::string computed;
    bool empty() const { return computed.empty(); }
    std::string all() const { return declared + (declared.empty() ? "" : " ") + computed; }
  };
  /// A foreach.
  struct Loop {
    const clang::ForStmt* statement = nullptr;
    unsigned start = 0;
    unsigned end = 0;
    unsigned index = 0;
    std::string count;
    std::string body;
    std::string types;  ///< Declarations that must precede the stored members of an item.
    std::vector<unsigned> switches;
    bool goes_to_done = false;
    bool names_index = false;    ///< True if a lambda captures the index by its name.
    bool index_in_item = false;  ///< True if the index is read from its item and is not a separate variable.
    /// The switch that ring slots are marked with initially; 0: each switch marks its own number.
    unsigned first_switch = 0;
    bool has_plain = false;  ///< True if the output also has the loop as written, for a width of 1.
    std::string plain;
  };
  /// Use within a foreach of a variable declared outside.
  struct SharedUse {
    bool changed = false;
    /// True if all mentions add to it in the same way, so that the order of items does not matter.
    bool only_sums = true;
    int sum = 0;  ///< The kind of that addition.
    clang::SourceLocation where;
  };

  // function.cc
  bool check_header();
  std::string header_text(Text& text);
  void analyse();
  void check_shared(unsigned loop);
  void keep_index(unsigned number);
  void mark_first_switch(Loop& loop);
  void collect_names(const clang::FunctionDecl* function, std::set<const clang::FunctionDecl*>& done);

  // statements.cc
  void lower(const clang::Stmt* statement);
  void lower_kind(const clang::Stmt* statement);
  void lower_all(const clang::CompoundStmt* compound);
  /// Rewrites the declarations before the condition of an if or a switch. Returns false if the statement was refused;
  /// `what` names the statement in the message, such as "an if".
  template <class Statement>
  bool lower_head(const Statement* statement, const std::string& what);
  void lower_if(const clang::IfStmt* statement);
  void lower_switch(const clang::SwitchStmt* statement);
  void lower_try(const clang::CXXTryStmt* statement);
  void lower_case(const clang::SwitchCase* statement);
  void lower_break(const clang::BreakStmt* statement);
  void lower_continue(const clang::ContinueStmt* statement);
  void lower_return(const clang::ReturnStmt* statement);
  void lower_goto(const clang::GotoStmt* statement);
  void check_gotos();
  void lower_label(const clang::LabelStmt* statement);
  void lower_expression(const clang::Expr* expression);
  unsigned label_point(const clang::LabelDecl* label);
  std::string indent_at(clang::SourceLocation where) const;
  void wrap(const clang::Stmt* statement, const std::string& before);

  // foreach.cc
  void lower_hints(llvm::ArrayRef<const clang::Stmt*> hints);
  std::string prefetch_text(const clang::CallExpr* hint);
  bool needs_rewriting(const clang::Stmt* foreach_statement);
  bool inside_foreach() const;
  void lower_foreach(const clang::ForStmt* statement);

  // loops.cc
  void lower_for(const clang::ForStmt* statement);
  void lower_while(const clang::WhileStmt* statement);
  void lower_do(const clang::DoStmt* statement);
  void lower_range_for(const clang::CXXForRangeStmt* statement);
  /// Moves a loop's test into the body because calls in its condition were expanded. `instead` replaces the condition.
  void test_inside(const clang::Expr* condition, const char* instead, const Expanded& expanded,
                   const clang::Stmt* body);

  // declarations.cc
  /// `switched`: items switch later in the scope of the declarations.
  void lower_declarations(const clang::DeclStmt* statement, bool switched);
  bool lower_variable(const clang::VarDecl* variable, bool switched, std::string& text);
  std::string lower_for_declarations(const clang::ForStmt* statement);
  unsigned add_variable(const clang::VarDecl* declaration);
  std::string unique_name(const std::string& wanted);
  bool name_in_scope(const std::string& name) const;
  void choose_form(Variable& variable);
  void box_class(Variable& variable);
  std::string declaration_text(unsigned variable);
  std::string assignment_text(const Variable& variable, const clang::VarDecl* declaration);
  std::string value_text(const Variable& variable, const std::string& value) const;
  TokenRange initialiser(const clang::VarDecl* declaration) const;
  std::string use_text(const Variable& variable) const;
  std::string index_text(unsigned loop) const;
  void write_name(unsigned number);
  void declare_in_scope(unsigned variable);
  bool check_storable(const Variable& variable);
  void hoist_type(const clang::TypeDecl* type, TokenRange range);

  // expressions.cc
  void evaluate(const clang::Expr* expression);
  void evaluate_part(const clang::Stmt* part, const clang::Expr* whole, Flow::Point& point);
  void mention(const clang::DeclRefExpr* mention, const clang::Expr* whole, Flow::Point& point);
  void mention_shared(const clang::DeclRefExpr* mention, const clang::VarDecl* variable, Access access, bool is_local);
  bool points_to_const(const clang::DeclRefExpr* mentioned) const;
  bool is_items_own(const clang::DeclRefExpr* mentioned) const;
  static std::vector<const clang::DeclRefExpr*> mentions_in(const clang::Stmt* part);
  unsigned mentions_of(const clang::VarDecl* declaration, const clang::Stmt* part) const;
  std::string template_arguments(const clang::FunctionDecl* callee) const;
  bool mentions_index(const clang::Stmt* part) const;
  void rename_mentions(const clang::Stmt* statement);
  void rename_mentions_in_type(const clang::VarDecl* declaration);
  void rename(const clang::DeclRefExpr* mention);
  Expanded expand_calls(const clang::Expr* expression);
  void expand_calls_in(const clang::Stmt* part, Expanded& expanded);
  bool expand_choice(const clang::Expr* expression, Expanded& expanded);
  unsigned add_result(clang::QualType type, const std::string& name, clang::SourceLocation where);
  std::string compute_into(unsigned variable, const clang::Expr* value, bool is_test);
  void take_result(const clang::Expr* expression, unsigned variable, Expanded& expanded);

  // expansion.cc
  std::string expand(const clang::CallExpr* call, const clang::FunctionDecl* callee, bool wants_result);
  bool check_expandable(const clang::CallExpr* call, const clang::FunctionDecl* callee);

  // passing.cc
  bool check_default(const clang::ParmVarDecl* parameter, const clang::Expr* value);
  bool is_only_read(const clang::VarDecl* variable, const clang::FunctionDecl* function);
  bool is_fixed(const clang::VarDecl* declaration);
  bool is_fixed_address(const clang::Expr* pointer);
  bool is_fixed_place(const clang::Expr* place);
  bool pass_by_name(const clang::ParmVarDecl* parameter, const clang::Expr* argument, const std::string& value,
                    Frame& callee);
  std::string pass_argument(const clang::ParmVarDecl* parameter, const clang::Expr* argument, Frame& callee);

  // folding.cc
  std::optional<llvm::APSInt> constant_value(const clang::Expr* expression);
  bool is_foldable(const clang::ParmVarDecl* parameter, const clang::FunctionDecl* callee);
  std::string fold_argument(const clang::ParmVarDecl* parameter, const clang::Expr* argument, const llvm::APSInt& value,
                            Frame& callee);
  std::optional<bool> known_truth(const clang::Expr* condition, bool is_constexpr);
  std::string mark_used(const clang::Stmt* part);
  bool lower_known_if(const clang::IfStmt* statement);
  bool compute_known_choice(const clang::Expr* expression, Expanded& expanded);

  // unnamed.cc
  bool may_point(clang::QualType type) const;
  const clang::Stmt* lifetime_across_switches(const clang::CompoundLiteralExpr* literal);
  void keep_literals(const clang::Stmt* part);
  void end_lifetimes(const clang::Stmt* statement);
  bool check_temporaries(const clang::VarDecl* declaration);
  const clang::Expr* find_outliving(const clang::Stmt* part, bool points) const;
  void check_argument(const clang::Expr* argument, clang::QualType type);
  void check_rvalue_array(const clang::Stmt* part);

  // print.cc
  std::string fill(const std::string& text);
  static std::string mark_text(unsigned number);
  std::string switch_text(const Switch& at);
  std::string loop_text(unsigned number);
  std::string head_text(unsigned number);
  std::string tail_text(unsigned number);
  std::string item_text(unsigned number);
  std::string zero_text(unsigned variable);
  std::string save_text(const Variable& variable) const;
  std::string restore_text(const Variable& variable) const;
  void explain(unsigned loop);
  std::string explain_variable(const Switch& at, unsigned number, unsigned variable) const;
  void name_members(unsigned loop);
  uint64_t bytes(const Variable& variable) const;
  std::vector<unsigned> kept(unsigned loop) const;
  std::string label(const char* name, unsigned loop) const;

  std::string text_of(const clang::Stmt* statement) { return frame_->text.render(unit_.tokens.statement(statement)); }
  std::string text_of(const clang::Expr* e) { return frame_->text.render(unit_.tokens.range(e->getSourceRange())); }
  bool in_loop() const { return loop_ >= 0; }

  /// A compound literal that got a name.
  struct Unnamed {
    unsigned variable = 0;
    size_t first_switch = 0;  ///< The first switch that may save it.
    const clang::Stmt* lives = nullptr;
  };

  Unit& unit_;
  const clang::FunctionDecl* function_;
  Options options_;
  std::deque<Frame> frames_;
  Frame* frame_ = nullptr;
  std::deque<Variable> variables_;
  std::vector<unsigned> scope_;
  Flow flow_;
  unsigned at_ = 0;
  unsigned exit_ = 0;
  std::vector<Target> targets_;
  std::vector<std::pair<const clang::SwitchStmt*, unsigned>> switch_heads_;
  std::vector<std::pair<const clang::GotoStmt*, int>> gotos_;  ///< Gotos with the foreach that contains them.
  std::map<const clang::LabelDecl*, int> label_loops_;
  std::vector<Switch> switches_;
  std::map<const clang::Stmt*, size_t> started_;  ///< Number of switches before a statement.
  std::set<const clang::Stmt*> vanished_;
  std::vector<Unnamed> unnamed_;  ///< The currently live literals.
  std::vector<Loop> loops_;
  int loop_ = -1;
  std::map<const clang::VarDecl*, SharedUse> shared_;  ///< Variables shared in the current foreach.
  std::set<std::string> taken_;                        ///< All identifiers of F and of expanded functions.
  std::set<std::string> callee_names_;                 ///< Identifiers of expanded functions.
  std::map<std::string, const clang::TypeDecl*> hoisted_;
  std::vector<llvm::BitVector> saved_;   ///< Per switch.
  std::vector<llvm::BitVector> stored_;  ///< Per switch, the subset of `saved_` without a valid copy.
  std::string explanation_;
  bool prefetches_ranges_ = false;
  bool folds_ = false;
  std::set<const clang::CallExpr*> expanded_calls_;
};

}  // namespace gopt
