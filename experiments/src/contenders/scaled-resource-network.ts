// Algorithm 1 of 000 with its two parts on one scale. As printed it adds percent (thousands) to bytes/s x ms (millions), so that resources never
// count, while its authors chose gamma = delta = 0.5 for both to "equally contribute". In a kube-scheduler the two are plugins of their own, whose
// scores have to be 0 to 100 before they are added up: the authors' published ones (unict-cclab/scheduler-plugins, pkg/sophos) do it by min-max.
import { RESOURCE_NETWORK, ResourceNetwork } from "@isochrone/placement";
import type { PlacementProblem, ResourceNetworkWeights, ScoreTable, Strategy } from "@isochrone/placement";

/** Not mode `normalized`, which has another resource part, and a least spread. */
export class ScaledResourceNetwork implements Strategy {
  readonly name = RESOURCE_NETWORK;
  readonly mode = "scaled";
  readonly #raw: ResourceNetwork;

  /** Throws PlacementError `invalid_setting`. */
  constructor(weights: ResourceNetworkWeights) {
    this.#raw = new ResourceNetwork("raw", weights);
  }

  /** The parts are the paper's own, and so is the explanation: of the sum as printed. */
  score(problem: PlacementProblem): ScoreTable {
    const table = this.#raw.score(problem);
    const { gamma, delta } = this.#raw.weights;
    const score = new Float64Array(table.names.length);
    addScaled(score, table.parts["resource"] ?? null, gamma);
    addScaled(score, table.parts["network"] ?? null, delta);
    return { ...table, mode: this.mode, raw: score, score };
  }
}

/** A part that doesn't tell the nodes apart adds nothing. */
function addScaled(sum: Float64Array, part: Float64Array | null, weight: number): void {
  if (part === null) return;
  // Plugins hand in whole numbers. Without that, sums that differ by rounding alone would be stretched to 0 and 100.
  const whole = part.map(Math.trunc);
  const least = whole.reduce((least, value) => Math.min(least, value), Infinity);
  const most = whole.reduce((most, value) => Math.max(most, value), -Infinity);
  if (!(most > least)) return;
  for (const [row, value] of whole.entries()) sum[row]! += (weight * 100 * (value - least)) / (most - least);
}
