// Errors, split by whose fault they are. A verdict is never an exception; these are for what cannot be answered.
#pragma once

#include <stdexcept>
#include <string>

namespace sightline {

/// The user's input is wrong. what() is one complete line: `FILE:LINE:COLUMN: expected ..., found ...` (TOML, JSON
/// syntax, text formats) or `FILE: /json/pointer: expected ..., found ...`. The command prints it and exits with 2.
class InputError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// A caller inside the project broke a documented precondition that depends on data.
class ArgumentError : public std::invalid_argument {
public:
  using std::invalid_argument::invalid_argument;
};

/// Our own bug: an invariant does not hold, or a result did not survive its own check. Exit code 4.
class InternalError : public std::logic_error {
public:
  using std::logic_error::logic_error;
};

/// A limit that the user stated was reached. what() names the limit and how far the work had come. Exit code 3.
class BudgetExhausted : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// A bound of our own on steps or sizes was reached, the same on every machine: what was asked stays open, without any limit
/// of the user's. A verdict turns it into `unknown`, or leaves the figure out.
class OutOfReach : public BudgetExhausted {
public:
  using BudgetExhausted::BudgetExhausted;
};

/// Ctrl-C. Exit code 130.
class Interrupted : public std::runtime_error {
public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// Inside of crew.hpp: nobody waits any more for what was computed.
class Abandoned : public std::runtime_error {
public:
  Abandoned() : std::runtime_error("abandoned") {}
};

}  // namespace sightline
