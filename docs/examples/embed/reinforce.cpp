// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reinforcement learning: a policy learns to balance a pole on a cart. The
// program makes its own batches, by playing with the policy that it trains
// (REINFORCE with a baseline). Ends when 10 episodes on average last 150 steps.
//
//===----------------------------------------------------------------------===//

#include "ingot.hpp"
#include "policy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

namespace {

/// A cart on a track with a pole on it, as in the literature (Barto, Sutton and
/// Anderson).
class Cart {
public:
  static constexpr int kMostSteps = 200;

  explicit Cart(std::mt19937 &random) {
    std::uniform_real_distribution<float> start(-0.05f, 0.05f);
    for (float &value : state)
      value = start(random);
  }

  const float *getState() const { return state; }

  /// Pushes to the right or the left. Returns whether the pole still stands.
  bool push(bool toTheRight) {
    constexpr float gravity = 9.8f, cartMass = 1, poleMass = 0.1f, half = 0.5f,
                    time = 0.02f;
    auto &[x, speed, angle, turning] = state;
    float force = toTheRight ? 10 : -10, mass = cartMass + poleMass;
    float sine = std::sin(angle), cosine = std::cos(angle);
    float pull = (force + poleMass * half * turning * turning * sine) / mass;
    float turn = (gravity * sine - cosine * pull) /
                 (half * (4.f / 3 - poleMass * cosine * cosine / mass));
    float push = pull - poleMass * half * turn * cosine / mass;
    x += time * speed;
    speed += time * push;
    angle += time * turning;
    turning += time * turn;
    return std::fabs(x) < 2.4f && std::fabs(angle) < 0.2095f;
  }

private:
  float state[4];
};

/// The states of an episode, its actions, and the returns from each on.
struct Episode {
  std::vector<float> states;
  std::vector<int> actions;
  std::vector<float> returns;
};

/// Plays until the pole falls, with the actions that the policy draws.
Episode play(ingot::Session &session, std::mt19937 &random) {
  Episode episode;
  Cart cart(random);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (bool stands = true;
       stands && episode.actions.size() < Cart::kMostSteps;) {
    const float *state = cart.getState();
    float logits[POLICY_LOGITS_ELEMENTS];
    // The loss is another output of the graph, which is not wanted here.
    const float none[POLICY_ADVANTAGE_ELEMENTS] = {};
    ingot::check(
        policy_predict(session.get(), state, none, 1, logits, nullptr));
    float right = 1 / (1 + std::exp(logits[0] - logits[1]));
    int action = uniform(random) < right;
    episode.states.insert(episode.states.end(), state, state + 4);
    episode.actions.push_back(action);
    stands = cart.push(action == 1);
  }
  constexpr float discount = 0.99f;
  episode.returns.resize(episode.actions.size());
  float later = 0;
  for (size_t i = episode.returns.size(); i-- > 0;)
    episode.returns[i] = later = 1 + discount * later;
  return episode;
}

/// Fills batches of the step where it reads them, without a copy, and trains.
class Learner {
public:
  explicit Learner(ingot::Session &session) : session(session) {}

  /// Drops a batch that is not full: to play uses its memory up.
  void startRound() { rows = 0; }

  void add(const float *state, int action, float advantage) {
    if (rows == 0)
      begin();
    std::copy(state, state + 4, states + 4 * rows);
    advantages[2 * rows + action] = advantage;
    advantages[2 * rows + 1 - action] = 0;
    if (++rows == POLICY_BATCH)
      finish();
  }

private:
  void begin() {
    states = session.getInput<float>(INGOT_STEP_INPUTS, POLICY_STEP_STATE);
    advantages =
        session.getInput<float>(INGOT_STEP_INPUTS, POLICY_STEP_ADVANTAGE);
  }
  void finish() {
    session.step({{}, {}});
    rows = 0;
  }

  ingot::Session &session;
  float *states = nullptr, *advantages = nullptr;
  int rows = 0;
};

} // namespace

int main() try {
  std::mt19937 random(1);
  ingot::Options options;
  options.threads = 1;
  ingot::Session session(policy_model(), options);
  session.setHyperparameter(POLICY_LR, 0.01);
  Learner learner(session);
  for (int round = 1; round <= 200; ++round) {
    // All episodes of a round are played before the policy changes.
    std::vector<Episode> episodes;
    std::vector<float> returns;
    for (int i = 0; i < 10; ++i) {
      episodes.push_back(play(session, random));
      const std::vector<float> &own = episodes.back().returns;
      returns.insert(returns.end(), own.begin(), own.end());
    }
    auto count = static_cast<float>(returns.size());
    float mean = std::accumulate(returns.begin(), returns.end(), 0.f) / count;
    float squares = 0;
    for (float value : returns)
      squares += (value - mean) * (value - mean);
    float deviation = std::sqrt(squares / count) + 1e-6f;
    for (const Episode &episode : episodes)
      for (size_t i = 0; i < episode.actions.size(); ++i)
        learner.add(&episode.states[4 * i], episode.actions[i],
                    (episode.returns[i] - mean) / deviation);
    learner.startRound();
    float length = count / 10;
    if (round % 10 == 0 || length >= 150)
      std::printf("round %3d: the pole stands for %.0f steps\n", round,
                  static_cast<double>(length));
    if (length >= 150) {
      session.exportModel("policy-trained.onnx");
      return 0;
    }
  }
  std::printf("it has not learned it\n");
  return 1;
} catch (const ingot::Error &error) {
  std::fprintf(stderr, "reinforce: %s\n", error.what());
  return 1;
}
