// `./do bench certify [--quick] [--alone] [--only TEXT] [--limit SECONDS]`: every row of scale.md and every goal, ratios within one run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

#include "hard_graphs.hpp"
#include "own.hpp"
#include "peer_graph.hpp"
#include "table.hpp"

namespace {

using namespace bench;
using MakeLayout = std::function<std::optional<Layout>()>;

constexpr std::uint64_t most_arcs_for_peers = 150'000'000;
constexpr std::uint64_t most_runs_written_out = 1'700'000'000;  // some 15 GB while they are made: strided causal rows of a million tokens, relabelled

struct Options {
  bool alone = false;  ///< no peers: for work on the engine
  std::string only;
  double peer_limit = 120;
  double own_limit = 120;
  Vertex most_tokens = ~Vertex{0};
};

/// The better of nauty and bliss, each with the better of two settings.
struct Peers {
  std::optional<double> best;  ///< the limit when nobody finished; nothing when the graph does not fit
  std::string winner;
  std::map<std::string, std::string> orders;
  std::map<std::string, double> seconds;  ///< by setting, the limit where it did not finish
};

Peers measure_peers(const MakeLayout& make, double limit) {
  Peers peers;
  const auto attempt = [&](const std::string& name, auto&& solve) {
    const Measured measured = read_measured(run_in_child(limit, [&](const std::function<void()>& start_clock) {
      const std::optional<Layout> layout = make();
      const std::optional<PeerGraph> graph = layout ? make_peer_graph(*layout, most_arcs_for_peers) : std::nullopt;
      if (!graph) return to_text(-1, "");
      start_clock();
      std::string order;
      const double seconds = least_time([&] {
        Solved solved = solve(*graph, [] {});
        order = std::move(solved.order);
        return solved.seconds;
      });
      return to_text(seconds, order);
    }));
    if (measured.finished() && measured.seconds < 0) return false;
    const double seconds = measured.finished() ? measured.seconds : limit;
    if (measured.finished()) peers.orders[name] = measured.answer;
    peers.seconds[name] = seconds;
    if (!peers.best || seconds < *peers.best) {
      peers.best = seconds;
      peers.winner = measured.finished() ? name : "nobody in time";
    }
    return true;
  };
  for (const bool second : {false, true}) {
    if (!attempt(second ? "nauty with invariant" : "nauty", [second](const PeerGraph& g, const auto& start) { return solve_with_nauty(g, second, start); })) break;
    attempt(second ? "bliss fl" : "bliss fsm", [second](const PeerGraph& g, const auto& start) { return solve_with_bliss(g, second, start); });
  }
  return peers;
}

bool same_order(const std::string& ours, const std::string& theirs) {
  if (theirs.empty()) return true;
  if (theirs[0] != '~') return ours == theirs;
  if (ours.find('!') != std::string::npos) return true;
  const double digits = ours.size() > 15 ? std::log10(std::stod("0." + ours.substr(0, 15))) + static_cast<double>(ours.size()) : std::log10(std::stod(ours));
  return std::abs(digits - std::stod(theirs.substr(1))) < 1e-4 * std::max(1.0, digits);
}

class Benchmark {
public:
  explicit Benchmark(const Options& options) : options_(options), table_("build/bench/certify.json") {}

  void group(const std::string& family_name, Vertex n, double times = 1.2) {
    const Family family = make_family(family_name, n);
    const std::string title = fmt::format("group: {}, n = {}", family_name, n);
    if (!wanted(title, n)) return;
    Peers plain;
    std::string order;
    for (const Form form : {Form::pattern, Form::rows, Form::relabelled}) {
      const MakeLayout make = [&] { return bench::make_layout(family, form, most_runs_written_out); };
      Peers peers;
      if (form == Form::pattern) peers = plain = all_peers(make, options_.peer_limit);
      if (form == Form::rows) peers = plain;
      if (form == Form::relabelled && plain.best) {
        peers = plain.winner == "nobody in time" ? plain : all_peers(make, std::min(options_.peer_limit, 5 + 10 * *plain.best));
      }
      static const std::map<Form, std::string> suffix{{Form::pattern, ""}, {Form::rows, ", from rows"}, {Form::relabelled, ", relabelled"}};
      report(title + suffix.at(form), make, peers, times, order);
    }
  }

  void hard(const HardGraph& graph) {
    const std::string title = "hard: " + graph.name;
    if (!wanted(title, 0)) return;
    const MakeLayout make = [&] { return std::optional<Layout>(bench::make_layout(graph)); };
    std::string order;
    Peers peers = all_peers(make, options_.peer_limit);
    // The goal speaks of nauty; bliss is shown beside it.
    if (peers.seconds.count("nauty with invariant") != 0 && peers.seconds.count("bliss fsm") != 0) {
      peers.best = std::min(peers.seconds["nauty"], peers.seconds["nauty with invariant"]);
      const double bliss = peers.seconds.count("bliss fl") != 0 ? std::min(peers.seconds["bliss fsm"], peers.seconds["bliss fl"]) : peers.seconds["bliss fsm"];
      peers.winner = fmt::format("nauty; bliss {:.3g} s", bliss);
    }
    report(title, make, peers, 3, order);
  }

  /// group, connected, exact m, unseen, certificate, check: by the command itself, and by the library on anonymous rows.
  void answers(const Family& family, const std::string& title, double seconds, double megabytes) {
    if (!wanted(title, family.tokens)) return;
    command(family, title, seconds, megabytes);
    for (const Form form : {Form::rows, Form::relabelled}) {
      const std::string name = title + (form == Form::rows ? ", from rows" : ", relabelled");
      const Measured own = measure_answers(options_.own_limit, [&] { return bench::make_layout(family, form, most_runs_written_out); });
      Row line = limit(name, own.finished() ? std::optional(own.seconds) : std::nullopt, "s", seconds);
      line.remark = own.finished() ? own.answer : explain(own);
      table_.add(line);
    }
  }

  /// The same by the command alone.
  void command(const Family& family, const std::string& title, double seconds, double megabytes) {
    if (!wanted(title, family.tokens)) return;
    std::filesystem::create_directories("build/bench");
    const std::string file = "build/bench/case.toml";
    std::ofstream(file, std::ios::trunc) << to_toml(family);
    const Outcome outcome = run_command(options_.own_limit, {SIGHTLINE_COMMAND, "certify", file, "--json", "--threads", "1"});
    const bool finished = outcome.end == Outcome::End::finished;
    Row row = limit(title, finished ? std::optional(outcome.seconds) : std::nullopt, "s", seconds);
    row.remark = finished ? summary(outcome.text) : outcome.end == Outcome::End::over_limit ? "over the limit" : outcome.text;
    table_.add(row);
    table_.add(limit(title + ", memory", outcome.peak_megabytes, "MB", megabytes));
    if (!finished && outcome.end != Outcome::End::over_limit) table_.mark_wrong();
  }

  void connected(const std::string& family_name, Vertex n, std::optional<double> goal) {
    Family family = make_family(family_name, n);
    family.repeat = 24;
    const std::string title = fmt::format("connected: {}, n = {}", family_name, n);
    if (!wanted(title, n)) return;
    const Measured own = measure_connected(options_.own_limit, [&] { return std::optional<Layout>(bench::make_layout(family)); });
    Row row = limit(title, own.finished() ? std::optional(own.seconds) : std::nullopt, "s", goal);
    row.remark = own.finished() ? "layers: " + own.answer : explain(own);
    table_.add(row);
  }

  void pattern(const std::string& family_name, double milliseconds, std::optional<double> megabytes) {
    constexpr Vertex n = 1u << 20;
    const Family family = make_family(family_name, n);
    const std::string title = fmt::format("pattern: {}, n = {}", family_name, n);
    if (!wanted(title, n)) return;
    const Measured own = measure_pattern(options_.own_limit, family);
    // The goals are for one pattern; grids take turns with two, a butterfly with twenty.
    const auto patterns = static_cast<double>(family.layers.size());
    milliseconds *= patterns;
    if (megabytes) *megabytes *= patterns;
    table_.add(limit(title, own.finished() ? std::optional(own.seconds * 1000) : std::nullopt, "ms", milliseconds));
    table_.add(limit(title + ", memory", own.finished() ? std::optional(std::stod(own.answer) / 1e6) : std::nullopt, "MB", megabytes));
  }

  int finish() {
    table_.print_summary();
    return table_.all_correct() ? 0 : 1;
  }

private:
  [[nodiscard]] bool wanted(const std::string& title, Vertex n) const {
    return n <= options_.most_tokens && (options_.only.empty() || title.find(options_.only) != std::string::npos);
  }

  [[nodiscard]] Peers all_peers(const MakeLayout& make, double limit) const { return options_.alone ? Peers{} : measure_peers(make, limit); }

  static std::string explain(const Measured& measured) {
    return measured.outcome.end == Outcome::End::over_limit ? "over the limit" : measured.outcome.text;
  }

  /// `order`: what other forms of the same layout gave, to be compared with.
  void report(const std::string& title, const MakeLayout& make, const Peers& peers, double times, std::string& order) {
    const Measured own = measure_group(options_.own_limit, make);
    bool right = true;
    if (own.finished()) {
      if (order.empty()) order = own.answer;
      right = order == own.answer;
      for (const auto& [name, theirs] : peers.orders) right = right && same_order(own.answer, theirs);
    }
    if (!right) {
      // What fails its correctness check is not timed.
      Row row = compare(title, std::nullopt, peers.best, times);
      row.remark = "WRONG ORDER";
      table_.mark_wrong();
      table_.add(row);
      return;
    }
    Row row = compare(title, own.finished() ? std::optional(own.seconds) : std::nullopt, peers.best, times);
    if (!own.finished()) row.remark = explain(own);
    else if (peers.best) row.remark = peers.winner;
    table_.add(row);
  }

  static std::string summary(const std::string& json) {
    std::string text;
    for (const std::string key : {"\"connected\":", "\"needed\":"}) {
      const std::size_t at = json.find(key);
      if (at != std::string::npos) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key.substr(1, key.size() - 3), json.substr(at + key.size(), json.find_first_of(",}", at) - at - key.size()));
    }
    return text;
  }

  const Options& options_;
  Table table_;
};

void run_all(Benchmark& b) {
  constexpr Vertex K = 1024;
  for (const std::string name : {"window", "dilated window", "Longformer 256", "strided causal", "strided both ways", "fixed causal", "fixed both ways", "BigBird", "Swin 7", "axial",
                                 "star", "full", "causal", "butterfly"}) {
    b.pattern(name, 50, 10);
  }
  b.pattern("random 8", 200, std::nullopt);

  for (const Vertex n : {K, 4 * K, 16 * K, K * K}) b.group("BigBird", n, n == 4 * K ? 0.001 : 1.2);
  for (const Vertex n : {4 * K, 64 * K, K * K}) b.group("Swin", n, n == 4 * K ? 0.001 : 1.2);
  b.group("blocks shifted", 4 * K, 0.001);
  for (const Vertex n : {4 * K, K * K}) b.group("full", n);
  for (const Vertex n : {4 * K, K * K}) b.group("causal", n);
  for (const Vertex n : {16 * K, 256 * K, K * K}) b.group("window", n);
  for (const Vertex n : {16 * K, 256 * K, K * K}) b.group("ring", n);
  for (const Vertex n : {16 * K, 64 * K, K * K}) b.group("Longformer", n);
  for (const Vertex n : {16 * K, 256 * K}) b.group("star", n);
  for (const Vertex n : {16 * K, 64 * K, K * K}) b.group("strided causal", n);
  for (const Vertex n : {16 * K, 256 * K}) b.group("strided both ways", n);
  b.group("fixed both ways", 4 * K);
  for (const Vertex n : {4 * K, 16 * K, 64 * K}) b.group("axial", n);
  for (const Vertex n : {16 * K, 256 * K}) b.group("dilated Longformer", n);
  for (const Vertex n : {16 * K, 64 * K}) b.group("butterfly", n);
  for (const Vertex n : {16 * K, 64 * K}) b.group("random 8", n);
  for (const Vertex n : {16 * K, 64 * K}) b.group("random 32", n);

  for (const HardGraph& graph : list_hard_graphs()) b.hard(graph);

  const std::map<std::string, double> prototype{{"BigBird", 0.17}, {"Longformer", 0.17}, {"full", 0.07}, {"star", 0.09}, {"Swin", 0.43}, {"window", 0.64},
                                                {"causal", 1.3}, {"axial", 2.4}, {"strided both ways", 2.3}, {"fixed both ways", 14.5}};
  for (const auto& [name, seconds] : prototype) b.connected(name, K * K, seconds);
  b.connected("random 32", 64 * K, 14);

  Family bigbird = make_family("BigBird", K * K);
  bigbird.repeat = 24;
  b.answers(bigbird, fmt::format("certify: BigBird, 24 layers of one seed, n = {}", K * K), 1, 500);
  bigbird.layers.clear();
  for (int seed = 1; seed <= 24; ++seed) bigbird.layers.push_back(fmt::format("{{ kind = \"bigbird\", block = 64, random = 3, globals = 2, seed = {} }}", seed));
  bigbird.repeat = 1;
  b.answers(bigbird, fmt::format("certify: BigBird, 24 layers of 24 seeds, n = {}", K * K), 4, 1000);
  for (const Vertex n : {16 * K, 256 * K, K * K}) {
    for (const std::string& name : list_structured()) {
      Family family = make_family(name, n);
      b.answers(family, fmt::format("certify: {}, n = {}", name, n), n == K * K ? 8 : n == 256 * K ? 2 : 0.5, n == K * K ? 2000 : 500);
    }
    if (n == 16 * K) continue;
    for (const Family& family : list_published(n)) b.command(family, fmt::format("published: {}, n = {}", family.name, n), n == K * K ? 8 : 2, n == K * K ? 2000 : 500);
  }
}

}  // namespace

int main(int count, char** words) {
  Options options;
  for (int k = 1; k < count; ++k) {
    const std::string_view word = words[k];
    if (word == "--quick") {
      options.peer_limit = 10;
      options.own_limit = 20;
      options.most_tokens = 16384;
    } else if (word == "--only" && k + 1 < count) {
      options.only = words[++k];
    } else if (word == "--alone") {
      options.alone = true;
    } else if (word == "--limit" && k + 1 < count) {
      options.peer_limit = options.own_limit = std::stod(words[++k]);
    } else {
      fmt::print(stderr, "bench certify: expected --quick, --alone, --only TEXT or --limit SECONDS, found {}\n", word);
      return 2;
    }
  }
  std::filesystem::create_directories("build/bench");
  Benchmark benchmark(options);
  run_all(benchmark);
  return benchmark.finish();
}
