// train, predict, evaluate: run by the program beside this one, so that this one starts without LibTorch.
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

void add_train_commands(CLI::App& app) {
  const std::pair<const char*, const char*> commands[] = {{"train", "train a network with an architecture on data"},
                                                          {"predict", "what a trained model says about data"},
                                                          {"evaluate", "how good a trained model is on data"}};
  for (const auto& [name, words] : commands) {
    CLI::App* command = app.add_subcommand(name, words);
    command->prefix_command()->set_help_flag(); // everything that follows belongs to the other program
    command->callback([command, name = name] {
      if (std::string(name) != "train" && run_sumformer(name, command->remaining()))
        return;
      const std::string program = find_sibling();
      std::vector<std::string> words{program, name};
      for (const std::string& word : command->remaining())
        words.push_back(word);
      std::vector<char*> arguments;
      for (std::string& word : words)
        arguments.push_back(word.data());
      arguments.push_back(nullptr);
      // Threads that wait must not spin: beside other processes that costs more than it gains.
      setenv("OMP_WAIT_POLICY", "passive", 0);
      execv(program.c_str(), arguments.data());
      throw InputError(fmt::format("{}: expected {} (./do {} builds it; it needs LibTorch), found: {}", name, program,
                                   name, std::strerror(errno)));
    });
  }
}

} // namespace sightline::cli
