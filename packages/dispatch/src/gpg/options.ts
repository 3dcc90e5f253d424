import type { Activation } from "@isochrone/learning";

/**
 * What the paper leaves open of GPG, each with its own value possible. Equations are those of Han et al.,
 * INFOCOM 2021 (KaiS).
 */
export interface GpgOptions {
  /** Nodes that change in a frame, H. */
  readonly nodes: number;
  /** How they follow from σ of (9): those of highest probability, as printed, or drawn in turn. */
  readonly selection: "sample" | "highest";
  /** How an action follows from q of (9): the one of highest probability, as printed, or a drawn one. */
  readonly action: "sample" | "highest";
  /** "Sum" of (8): of a mean, sizes of sites don't change the scale. */
  readonly aggregate: "mean" | "sum";
  readonly activation: Activation;
  /** How l enters q: services side by side, or one number l / W. */
  readonly actionInput: "one-hot" | "number";
  /** exp of minus the queues' sum, as printed, of their mean, or the share of the frame that is in time. */
  readonly reward: "sum-of-queues" | "mean-of-queues" | "in-time";
  /** Whether the state has the last frame's failures by service, which the paper's hasn't. */
  readonly seesFailures: boolean;
  /** Weight of what follows; the paper sums all. */
  readonly gamma: number;
  readonly entropy: number;
  readonly learningRate: number;
}

export const GPG_AS_PRINTED: GpgOptions = {
  nodes: 2,
  selection: "highest",
  action: "highest",
  aggregate: "mean",
  activation: "leaky-relu",
  actionInput: "one-hot",
  // Of the sum, 20 requests that wait give 2e-9.
  reward: "mean-of-queues",
  seesFailures: false,
  gamma: 1,
  entropy: 0.01,
  learningRate: 1e-3,
};
