// SPDX-License-Identifier: Apache-2.0
#include "function.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/RecursiveASTVisitor.h"

namespace gopt {
namespace {

/// Collects the names in a body that it does not declare. The names must mean the same at the place of the expansion.
class FreeNames : public clang::RecursiveASTVisitor<FreeNames> {
 public:
  explicit FreeNames(std::set<std::string>& names) : names_(names) {}
  bool VisitDeclRefExpr(clang::DeclRefExpr* mention) {
    const clang::ValueDecl* declaration = mention->getDecl();
    if (declaration->getParentFunctionOrMethod() == nullptr) names_.insert(declaration->getNameAsString());
    return true;
  }
  bool VisitTagTypeLoc(clang::TagTypeLoc type) {
    names_.insert(type.getDecl()->getNameAsString());
    return true;
  }
  bool VisitTypedefTypeLoc(clang::TypedefTypeLoc type) {
    names_.insert(type.getTypedefNameDecl()->getNameAsString());
    return true;
  }

 private:
  std::set<std::string>& names_;
};

}  // namespace

Function::Function(Unit& unit, const clang::FunctionDecl* function, const Options& options)
    : unit_(unit), function_(function), options_(options) {
  std::set<const clang::FunctionDecl*> done;
  collect_names(function, done);
}

/// Collects the names used in a function and in functions that may be expanded in it.
void Function::collect_names(const clang::FunctionDecl* function, std::set<const clang::FunctionDecl*>& done) {
  if (!done.insert(function).second) return;
  unit_.check_macros(function);
  const TokenRange range = unit_.tokens.range(function->getSourceRange());
  for (unsigned i = range.begin; i < range.end; ++i) taken_.insert(unit_.tokens.spelling(i).str());
  if (function != function_) FreeNames(callee_names_).TraverseDecl(const_cast<clang::FunctionDecl*>(function));
  std::vector<const clang::Stmt*> work{function->getBody()};
  while (!work.empty()) {
    const clang::Stmt* statement = work.back();
    work.pop_back();
    if (statement == nullptr) continue;
    if (const auto* call = llvm::dyn_cast<clang::CallExpr>(statement)) {
      if (const clang::FunctionDecl* callee = unit_.expandable(call)) collect_names(callee, done);
    }
    work.insert(work.end(), statement->child_begin(), statement->child_end());
  }
}

std::string Function::rewrite() {
  frames_.emplace_back(function_, nullptr, 0, unit_.tokens);
  frame_ = &frames_.back();
  if (!check_header()) return "";
  at_ = flow_.add();
  exit_ = flow_.add();
  for (const clang::ParmVarDecl* parameter : function_->parameters()) {
    declare_in_scope(add_variable(parameter));
  }
  lower(function_->getBody());
  flow_.link(at_, exit_);
  check_gotos();
  if (unit_.refused()) return "";
  analyse();
  if (unit_.refused()) return "";
  if (options_.any_width && switches_.empty()) {
    frame_->text.insert_after(unit_.tokens.at(function_->getBody()->getBeginLoc()), " (void)gopt_width;");
  }
  const std::string header = header_text(frame_->text);
  const std::string body = frame_->text.render(unit_.tokens.statement(function_->getBody()));
  return header + " " + fill(body);
}

/// Returns true if F can be declared under another name.
bool Function::check_header() {
  const auto refuse = [this](const char* why) {
    unit_.refuse(function_->getLocation(), why);
    return false;
  };
  if (llvm::isa<clang::CXXMethodDecl>(function_)) {
    return refuse("a foreach in a member of a class cannot be rewritten; write a function that takes the object");
  }
  if (function_->getIdentifier() == nullptr)
    return refuse("a foreach in an operator cannot be rewritten; write a function");
  if (Unit::is_old_style(function_)) {
    return refuse("the parameters are declared after the parentheses; declare them inside");
  }
  if (function_->isVariadic())
    return refuse("a foreach in a function of any number of arguments cannot be rewritten; fix it");
  if (function_->isTemplateInstantiation() || function_->isFunctionTemplateSpecialization()) {
    return refuse("a foreach in a template's specialization cannot be rewritten; write a function");
  }
  if (!function_->getFunctionTypeLoc()) return refuse("the parameters are not written here; write them");
  return true;
}

/// Returns F's declaration up to its body, with the new name.
std::string Function::header_text(Text& text) {
  const clang::FunctionTemplateDecl* made_from = function_->getDescribedFunctionTemplate();
  const unsigned begin = unit_.tokens.at(function_->getBeginLoc());
  const unsigned name = unit_.tokens.at(function_->getLocation());
  text.replace({name, name + 1}, function_->getNameAsString() + options_.suffix);
  if (function_->getFormalLinkage() == clang::Linkage::Internal) text.insert_before(begin, "__attribute__((unused)) ");
  if (options_.any_width) {
    const unsigned closing = unit_.tokens.at(function_->getFunctionTypeLoc().getRParenLoc());
    const unsigned opening = unit_.tokens.at(function_->getFunctionTypeLoc().getLParenLoc());
    const bool alone = function_->getNumParams() == 0;
    text.replace({alone ? opening : closing, closing + 1}, std::string(alone ? "(" : ", ") + "uint32_t gopt_width)");
  }
  const unsigned first = made_from != nullptr ? unit_.tokens.at(made_from->getBeginLoc()) : begin;
  return text.render({first, unit_.tokens.at(function_->getBody()->getBeginLoc())});
}

void Function::analyse() {
  const auto variables = static_cast<unsigned>(variables_.size());
  flow_.solve_liveness(variables);
  saved_.assign(switches_.size(), llvm::BitVector(variables));
  stored_ = saved_;
  for (size_t i = 0; i < switches_.size(); ++i) {
    for (const unsigned variable : switches_[i].in_scope) {
      if (variables_[variable].loop != static_cast<int>(switches_[i].loop)) continue;
      const bool lives = flow_.is_live_after(switches_[i].point, variable);
      if (lives || variables_[variable].escape.isValid()) saved_[i].set(variable);
    }
  }
  for (unsigned loop = 0; loop < loops_.size(); ++loop) {
    std::vector<unsigned> points;
    std::vector<llvm::BitVector> saved;
    for (const unsigned at : loops_[loop].switches) {
      points.push_back(switches_[at].point);
      saved.push_back(saved_[at]);
    }
    const std::vector<llvm::BitVector> hold = flow_.copies_that_hold(loops_[loop].start, points, saved, variables);
    for (const unsigned at : loops_[loop].switches) {
      for (const unsigned variable : saved_[at].set_bits()) {
        const bool escaped = variables_[variable].escape.isValid();
        if (escaped || !hold[switches_[at].point].test(variable)) stored_[at].set(variable);
      }
    }
    check_shared(loop);
    keep_index(loop);
    mark_first_switch(loops_[loop]);
    name_members(loop);
    explain(loop);
  }
}

/// An item never changes its index. If a switch would save the index, it is stored at the item's start and read from
/// there.
void Function::keep_index(unsigned number) {
  Loop& loop = loops_[number];
  const auto saves_index = [&](unsigned at) { return saved_[at].test(loop.index); };
  if (loop.names_index || llvm::none_of(loop.switches, saves_index)) return;
  loop.index_in_item = true;
  for (const unsigned at : loop.switches) stored_[at].reset(loop.index);
}

/// Reduces stores of the resume mark if all items stop first at the same switch. A ring slot is then marked with that
/// switch once, and again only after an item stopped elsewhere. Condition: each other switch is followed either by only
/// the first switch and the item's end, or by neither. Then no path has more stores than with a mark per switch. Items
/// that stop only at the first switch have none.
void Function::mark_first_switch(Loop& loop) {
  std::set<unsigned> stops{loop.start};
  for (const unsigned at : loop.switches) stops.insert(switches_[at].point);
  std::set<unsigned> from_start = flow_.next_stops(loop.start, stops);
  from_start.erase(loop.start);
  if (loop.switches.size() < 2 || from_start.size() != 1) return;
  const unsigned first = *from_start.begin();
  std::vector<unsigned> last;
  for (const unsigned at : loop.switches) {
    if (switches_[at].point == first) continue;
    const std::set<unsigned> next = flow_.next_stops(switches_[at].point, stops);
    const size_t ends = next.count(first) + next.count(loop.start);
    if (ends != 0 && ends != next.size()) return;
    if (ends != 0) last.push_back(at);
  }
  for (const unsigned at : last) switches_[at].marks_first = true;
  const auto is_first = [&](unsigned at) { return switches_[at].point == first; };
  loop.first_switch = switches_[*llvm::find_if(loop.switches, is_first)].number;
}

/// A variable declared outside of a foreach can be private to each item only if no item sees a value of another item.
void Function::check_shared(unsigned loop) {
  for (unsigned i = 0; i < variables_.size(); ++i) {
    const Variable& variable = variables_[i];
    if (variable.loop != static_cast<int>(loop) || variable.declaration == nullptr) continue;
    const bool outside = variable.is_outside;
    if (!outside) continue;
    const std::string name = "'" + variable.declaration->getNameAsString() + "'";
    if (flow_.is_live_before(loops_[loop].start, i)) {
      unit_.refuse(variable.changed,
                   name +
                       " carries a value from one item to the next, and items run in any order; declare "
                       "it inside the foreach, write to an output of the item, or add up with += in a "
                       "statement of its own");
      unit_.note(variable.where, "it is declared here");
    } else if (flow_.is_live_before(loops_[loop].end, i)) {
      unit_.refuse(variable.changed,
                   name +
                       " is read after the foreach, and which item sets it last is not defined; write to "
                       "an output of the item, or add up with += in a statement of its own");
      unit_.note(variable.where, "it is declared here");
    }
    check_storable(variable);
  }
}

}  // namespace gopt
