import type { Activation } from "@isochrone/learning";

/** Choices that the paper leaves open for GPG. Equations are those of Han et al., INFOCOM 2021 (KaiS). */
export interface GpgOptions {
  readonly nodes: number;
  /** Choice of nodes from σ of (9): highest probability (paper), or drawn. */
  readonly selection: "sample" | "highest";
  /** Choice of actions from q of (9): highest probability (paper), or drawn. */
  readonly action: "sample" | "highest";
  /** "Sum" of (8): a mean is independent of site size. */
  readonly aggregate: "mean" | "sum";
  readonly activation: Activation;
  /** Encoding of l in q: one-hot by service, or the number l / W. */
  readonly actionInput: "one-hot" | "number";
  /** exp of minus the sum of queues (paper) or their mean, or the share of the frame in time. */
  readonly reward: "sum-of-queues" | "mean-of-queues" | "in-time";
  readonly seesFailures: boolean;
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
  reward: "mean-of-queues",
  seesFailures: false,
  gamma: 1,
  entropy: 0.01,
  learningRate: 1e-3,
};
