// train, predict, evaluate, compare: run by the program beside this one, so that this one starts without LibTorch.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "cli/commands.hpp"
#include "cli/sumformer_model.hpp"
#include "sightline/base/error.hpp"

namespace sightline::cli {
namespace {

/// sightline-train in the folder of this executable.
std::string find_sibling() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0)
    return "sightline-train";
  std::string self(path, static_cast<std::size_t>(length));
  return self.substr(0, self.rfind('/') + 1) + "sightline-train";
}

} // namespace

void run_train_program(const std::string& name, const std::vector<std::string>& words) {
  const std::string program = find_sibling();
  std::vector<std::string> all{program, name};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // Threads that wait must not spin: beside other processes that costs more than it gains.
  setenv("OMP_WAIT_POLICY", "passive", 0);
  execv(program.c_str(), arguments.data());
  const std::string build = name == "approximate" || name == "rate" ? "compare" : name; // what ./do builds it for
  throw InputError(fmt::format("{}: expected {} (./do {} builds it; it needs LibTorch), found: {}", name, program,
                               build, std::strerror(errno)));
}

std::vector<std::string>& command_words() {
  static std::vector<std::string> words;
  return words;
}

void add_train_commands(CLI::App& app) {
  const std::pair<const char*, const char*> commands[] = {
      {"train", "train a network with an architecture on data"},
      {"predict", "what a trained model says about data"},
      {"evaluate", "how good a trained model is on data"},
      {"compare", "attention and Sumformers of the same cost side by side on a target"}};
  for (const auto& [name, words] : commands) {
    CLI::App* command = app.add_subcommand(name, words);
    command->prefix_command()->set_help_flag(); // everything that follows belongs to the other program
    command->callback([command, name = name] {
      if ((std::string(name) == "predict" || std::string(name) == "evaluate") &&
          run_sumformer(name, command->remaining()))
        return;
      run_train_program(name, command->remaining());
    });
  }
}

} // namespace sightline::cli
