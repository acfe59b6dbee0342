// SPDX-License-Identifier: Apache-2.0
//
// Rewrites all statements except loops: adds their flow, and changes statements in which items switch.
#include "clang/AST/ExprCXX.h"
#include "function.h"

namespace gopt {

void Function::lower_all(const clang::CompoundStmt* compound) {
  const size_t scope = scope_.size();
  const std::vector<const clang::Stmt*> children(compound->body_begin(), compound->body_end());
  // In C a goto backwards within a block leaves its variables alive.
  const bool labelled = !unit_.is_cxx() && Unit::has_label(compound);
  for (size_t i = 0; i < children.size(); ++i) {
    size_t hints = 0;
    while (i + hints < children.size() && Unit::hint(children[i + hints]) != nullptr) ++hints;
    if (hints > 0) {
      lower_hints(llvm::ArrayRef(children).slice(i, hints));
      i += hints - 1;
      continue;
    }
    if (const auto* declarations = llvm::dyn_cast<clang::DeclStmt>(children[i])) {
      bool switched = false;
      for (size_t later = labelled ? 0 : i + 1; later < children.size(); ++later) {
        switched |= unit_.switches_inside(children[later]);
      }
      lower_declarations(declarations, switched && in_loop());
      continue;
    }
    lower(children[i]);
  }
  for (size_t i = labelled ? started_[compound] : switches_.size(); i < switches_.size(); ++i) {
    for (size_t k = scope; k < scope_.size(); ++k) {
      std::vector<unsigned>& in_scope = switches_[i].in_scope;
      if (!llvm::is_contained(in_scope, scope_[k])) in_scope.push_back(scope_[k]);
    }
  }
  scope_.resize(scope);
}

void Function::lower(const clang::Stmt* statement) {
  if (statement == nullptr) return;
  unit_.working_on(statement->getBeginLoc());
  started_[statement] = switches_.size();
  lower_kind(statement);
  end_lifetimes(statement);
}

void Function::lower_kind(const clang::Stmt* statement) {
  if (Unit::hint(statement) != nullptr) return lower_hints({statement});
  if (Unit::foreach_loop(statement) != nullptr && needs_rewriting(statement))
    return lower_foreach(llvm::cast<clang::ForStmt>(statement));
  if (const auto* s = llvm::dyn_cast<clang::CompoundStmt>(statement)) return lower_all(s);
  if (const auto* s = llvm::dyn_cast<clang::DeclStmt>(statement)) return lower_declarations(s, false);
  if (const auto* s = llvm::dyn_cast<clang::IfStmt>(statement)) return lower_if(s);
  if (const auto* s = llvm::dyn_cast<clang::ForStmt>(statement)) return lower_for(s);
  if (const auto* s = llvm::dyn_cast<clang::WhileStmt>(statement)) return lower_while(s);
  if (const auto* s = llvm::dyn_cast<clang::DoStmt>(statement)) return lower_do(s);
  if (const auto* s = llvm::dyn_cast<clang::SwitchStmt>(statement)) return lower_switch(s);
  if (const auto* s = llvm::dyn_cast<clang::CXXForRangeStmt>(statement)) return lower_range_for(s);
  if (const auto* s = llvm::dyn_cast<clang::CXXTryStmt>(statement)) return lower_try(s);
  if (const auto* s = llvm::dyn_cast<clang::SwitchCase>(statement)) return lower_case(s);
  if (const auto* s = llvm::dyn_cast<clang::BreakStmt>(statement)) return lower_break(s);
  if (const auto* s = llvm::dyn_cast<clang::ContinueStmt>(statement)) return lower_continue(s);
  if (const auto* s = llvm::dyn_cast<clang::ReturnStmt>(statement)) return lower_return(s);
  if (const auto* s = llvm::dyn_cast<clang::GotoStmt>(statement)) return lower_goto(s);
  if (const auto* s = llvm::dyn_cast<clang::LabelStmt>(statement)) return lower_label(s);
  if (const auto* s = llvm::dyn_cast<clang::AttributedStmt>(statement)) return lower(s->getSubStmt());
  if (const auto* s = llvm::dyn_cast<clang::Expr>(statement)) return lower_expression(s);
  if (llvm::isa<clang::NullStmt>(statement)) return;
  if (llvm::isa<clang::GCCAsmStmt>(statement) && !llvm::cast<clang::GCCAsmStmt>(statement)->isAsmGoto()) {
    at_ = flow_.add_after(at_);
    rename_mentions(statement);
    for (const clang::Stmt* child : statement->children()) evaluate_part(child, nullptr, flow_[at_]);
    return;
  }
  if (in_loop() || frame_->number > 0) {
    unit_.refuse(statement->getBeginLoc(),
                 std::string("a ") + statement->getStmtClassName() + " cannot be in a foreach");
  }
}

/// Returns the leading blanks of the line.
std::string Function::indent_at(clang::SourceLocation where) const {
  const clang::SourceManager& sources = unit_.ast.getSourceManager();
  const auto [file, offset] = sources.getDecomposedLoc(sources.getExpansionLoc(where));
  const llvm::StringRef before = sources.getBufferData(file).substr(0, offset);
  const llvm::StringRef line = before.substr(before.rfind('\n') + 1);
  return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size())).str();
}

void Function::wrap(const clang::Stmt* statement, const std::string& before) {
  const TokenRange range = unit_.tokens.statement(statement);
  frame_->text.insert_before(range.begin, "{ " + before + "\n" + indent_at(statement->getBeginLoc()));
  frame_->text.insert_after(range.end - 1, " }");
}

void Function::lower_expression(const clang::Expr* expression) {
  const auto* call = llvm::dyn_cast<clang::CallExpr>(expression->IgnoreParens()->IgnoreUnlessSpelledInSource());
  const clang::FunctionDecl* callee = call != nullptr ? unit_.expandable(call) : nullptr;
  if (callee != nullptr && in_loop()) {
    frame_->text.replace(unit_.tokens.statement(expression), expand(call, callee, false));
    return;
  }
  const size_t scope = scope_.size();
  const Expanded expanded = expand_calls(expression);
  evaluate(expression);
  if (!expanded.empty()) wrap(expression, expanded.all());
  scope_.resize(scope);
}

template <class Statement>
bool Function::lower_head(const Statement* statement, const std::string& what) {
  const bool switched = in_loop() && unit_.switches_inside(statement);
  if (switched && (statement->getInit() != nullptr || statement->getConditionVariable() != nullptr)) {
    unit_.refuse(statement->getBeginLoc(),
                 "items switch in the scope of a variable that " + what + " declares; declare it before that");
    return false;
  }
  if (statement->getInit() != nullptr) lower(statement->getInit());
  if (statement->getConditionVariableDeclStmt() != nullptr) {
    lower_declarations(statement->getConditionVariableDeclStmt(), false);
  }
  return true;
}

void Function::lower_if(const clang::IfStmt* statement) {
  if (lower_known_if(statement)) return;
  const size_t scope = scope_.size();
  if (!lower_head(statement, "an if")) return;
  if (in_loop() && statement->isConstexpr() && unit_.switches_inside(statement)) {
    unit_.refuse(statement->getBeginLoc(),
                 "items switch inside an if constexpr, and nothing can jump into one; write a plain if");
    return;
  }
  const Expanded expanded = expand_calls(statement->getCond());
  evaluate(statement->getCond());
  const unsigned head = at_;
  lower(statement->getThen());
  const unsigned then_end = at_;
  at_ = flow_.add_after(head);
  if (statement->getElse() != nullptr) lower(statement->getElse());
  const unsigned after = flow_.add_after(at_);
  flow_.link(then_end, after);
  at_ = after;
  if (!expanded.empty()) wrap(statement, expanded.all());
  scope_.resize(scope);
}

void Function::lower_switch(const clang::SwitchStmt* statement) {
  const size_t scope = scope_.size();
  if (!lower_head(statement, "a switch")) return;
  const Expanded expanded = expand_calls(statement->getCond());
  evaluate(statement->getCond());
  const unsigned head = at_;
  const unsigned after = flow_.add();
  bool has_default = false;
  for (const clang::SwitchCase* label = statement->getSwitchCaseList(); label != nullptr;
       label = label->getNextSwitchCase()) {
    has_default |= llvm::isa<clang::DefaultStmt>(label);
  }
  if (!has_default) flow_.link(head, after);
  Target target;
  target.statement = statement;
  target.break_to = after;
  target.takes_continue = false;
  targets_.push_back(target);
  switch_heads_.emplace_back(statement, head);
  at_ = flow_.add();
  lower(statement->getBody());
  switch_heads_.pop_back();
  targets_.pop_back();
  flow_.link(at_, after);
  at_ = after;
  if (!expanded.empty()) wrap(statement, expanded.all());
  scope_.resize(scope);
}

void Function::lower_case(const clang::SwitchCase* statement) {
  const unsigned point = flow_.add_after(at_);
  flow_.link(switch_heads_.back().second, point);
  at_ = point;
  lower(statement->getSubStmt());
}

void Function::lower_try(const clang::CXXTryStmt* statement) {
  if (in_loop() && unit_.switches_inside(statement)) {
    unit_.refuse(statement->getBeginLoc(),
                 "items switch inside a try block, and nothing can jump into one; move the try "
                 "block around the statements between the hints");
    return;
  }
  const unsigned before = at_;
  at_ = flow_.add_after(at_);
  const unsigned first = at_;
  lower(statement->getTryBlock());
  const unsigned last = flow_.add();
  const unsigned after = flow_.add_after(at_);
  for (unsigned i = 0; i < statement->getNumHandlers(); ++i) {
    at_ = flow_.add_after(before);
    for (unsigned thrower = first; thrower < last; ++thrower) flow_.link(thrower, at_);
    lower(statement->getHandler(i)->getHandlerBlock());
    flow_.link(at_, after);
  }
  at_ = after;
}

void Function::lower_break(const clang::BreakStmt* statement) {
  if (in_loop() && !targets_.empty() && Unit::foreach_loop(targets_.back().statement) != nullptr) {
    unit_.refuse(statement->getBeginLoc(),
                 "a break out of a foreach leaves the other items undone, and which those are "
                 "is not defined; use continue to end this item");
  } else if (!targets_.empty()) {
    flow_.link(at_, targets_.back().break_to);
  }
  at_ = flow_.add();
}

void Function::lower_continue(const clang::ContinueStmt* statement) {
  for (size_t i = targets_.size(); i-- > 0;) {
    if (!targets_[i].takes_continue) continue;
    flow_.link(at_, targets_[i].continue_to);
    if (in_loop() && Unit::foreach_loop(targets_[i].statement) != nullptr) {
      frame_->text.replace(unit_.tokens.statement(statement),
                           "goto " + label("item_done", static_cast<unsigned>(loop_)) + ";");
      loops_[static_cast<size_t>(loop_)].goes_to_done = true;
    } else if (!targets_[i].continue_label.empty()) {
      frame_->text.replace(unit_.tokens.statement(statement), "goto " + targets_[i].continue_label + ";");
      targets_[i].label_used = true;
    }
    break;
  }
  at_ = flow_.add();
}

void Function::lower_return(const clang::ReturnStmt* statement) {
  const size_t scope = scope_.size();
  Expanded expanded;
  if (statement->getRetValue() != nullptr) {
    expanded = expand_calls(statement->getRetValue());
    evaluate(statement->getRetValue());
  }
  if (frame_->number > 0) {
    std::string text = "{ " + expanded.all() + (expanded.empty() ? "" : " ");
    if (statement->getRetValue() != nullptr) {
      const std::string value = text_of(statement->getRetValue());
      if (frame_->result >= 0) {
        const Variable& result = variables_[static_cast<size_t>(frame_->result)];
        text += value_text(result, value) + " ";
        at_ = flow_.add_after(at_);
        flow_[at_].kills.push_back(static_cast<unsigned>(frame_->result));
        flow_[at_].changes.push_back(static_cast<unsigned>(frame_->result));
      } else {
        text += "(void)(" + value + "); ";
      }
    }
    flow_.link(at_, frame_->returned);
    frame_->has_return = true;
    text += "goto gopt_return_" + std::to_string(frame_->number) + "; }";
    frame_->text.replace(unit_.tokens.statement(statement), text);
  } else if (in_loop()) {
    unit_.refuse(statement->getBeginLoc(),
                 "a return inside a foreach leaves the other items undone, and which those are "
                 "is not defined; use continue to end this item");
  } else {
    flow_.link(at_, exit_);
  }
  at_ = flow_.add();
  scope_.resize(scope);
}

unsigned Function::label_point(const clang::LabelDecl* label) {
  const auto [entry, is_new] = frame_->labels.try_emplace(label, 0);
  if (is_new) entry->second = flow_.add();
  return entry->second;
}

void Function::lower_goto(const clang::GotoStmt* statement) {
  flow_.link(at_, label_point(statement->getLabel()));
  at_ = flow_.add();
  if (frame_->number > 0) {
    unit_.refuse(statement->getBeginLoc(), "a function that is expanded in a foreach cannot use goto; use a loop");
    return;
  }
  gotos_.emplace_back(statement, loop_);
}

/// Refuses a goto that crosses the bounds of a foreach.
void Function::check_gotos() {
  for (const auto& [statement, loop] : gotos_) {
    const int target = label_loops_[statement->getLabel()];
    if (target == loop) continue;
    unit_.refuse(statement->getBeginLoc(),
                 target >= 0
                     ? "a goto into a foreach starts in the midst of an item; move the label out of it"
                     : "a goto out of a foreach leaves the other items undone, and which those are is not defined; use "
                       "continue to end this item");
  }
}

void Function::lower_label(const clang::LabelStmt* statement) {
  const unsigned point = label_point(statement->getDecl());
  label_loops_[statement->getDecl()] = loop_;
  flow_.link(at_, point);
  at_ = point;
  lower(statement->getSubStmt());
}

}  // namespace gopt
