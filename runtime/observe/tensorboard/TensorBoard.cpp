// SPDX-License-Identifier: Apache-2.0

#include "runtime/observe/tensorboard/TensorBoard.h"

using namespace ingot::runtime;

TensorBoard::TensorBoard(const std::string &folder, int64_t step)
    : events(folder) {
  events.restartAt(step + 1);
}

/// Returns a metric's name without what it is a metric of.
static std::string getShortName(const std::string &name) {
  for (std::string_view prefix : {"eval_", "train_"})
    if (name.starts_with(prefix))
      return name.substr(prefix.size());
  return name;
}

void TensorBoard::write(const StepMetrics &metrics) {
  Summary summary;
  summary.addScalar("train/loss", metrics.loss);
  summary.addScalar("train/lr", metrics.lr);
  for (const auto &[name, value] : metrics.values)
    summary.addScalar("train/" + getShortName(name), value);
  if (metrics.gradNorm)
    summary.addScalar("train/grad_norm", *metrics.gradNorm);
  if (metrics.lossScale)
    summary.addScalar("train/loss_scale", *metrics.lossScale);
  if (metrics.isGuarded)
    summary.addScalar("train/skipped", metrics.skipped);
  if (metrics.pruned)
    summary.addScalar("train/pruned", *metrics.pruned);
  summary.addScalar("train/epoch", static_cast<double>(metrics.epoch));
  summary.addScalar("speed/step_ms", metrics.stepMs);
  summary.addScalar("speed/samples_per_s", metrics.samplesPerSecond);
  if (metrics.tokensPerSecond)
    summary.addScalar("speed/step_tokens_per_s", *metrics.tokensPerSecond);
  if (metrics.data) {
    summary.addScalar("data/wait_ms", metrics.data->waitMs);
    summary.addScalar("data/decode_ms", metrics.data->decodeMs);
    summary.addScalar("data/queue", static_cast<double>(metrics.data->queue));
  }
  if (const auto &stats = metrics.summary) {
    summary.addScalar("speed/step_ms_p50", stats->p50);
    summary.addScalar("speed/step_ms_p90", stats->p90);
    summary.addScalar("speed/step_ms_p99", stats->p99);
    summary.addScalar("speed/gflops", stats->gflops);
    if (stats->rooflineShare > 0)
      summary.addScalar("speed/roofline_share", stats->rooflineShare);
    if (stats->tokensPerSecond > 0)
      summary.addScalar("speed/tokens_per_s", stats->tokensPerSecond);
    summary.addScalar("data/share", stats->dataShare);
    if (stats->exposedShare)
      summary.addScalar("communication/exposed_share", *stats->exposedShare);
    if (stats->sentBytesPerSecond)
      summary.addScalar("communication/sent_bytes_per_s",
                        *stats->sentBytesPerSecond);
    summary.addScalar("process/read_bytes_per_s", stats->readBytesPerSecond);
    summary.addScalar("process/written_bytes_per_s",
                      stats->writtenBytesPerSecond);
    summary.addScalar("process/processors", stats->processors);
    summary.addScalar("process/resident_bytes",
                      static_cast<double>(stats->residentBytes));
  }
  events.write(metrics.step, summary);
}

void TensorBoard::write(const EvalMetrics &metrics) {
  Summary summary;
  for (const auto &[name, value] : metrics.values)
    summary.addScalar("eval/" + getShortName(name), value);
  events.write(metrics.step, summary);
}
