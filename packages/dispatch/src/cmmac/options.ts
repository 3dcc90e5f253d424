/**
 * What the paper leaves open, each with its own value possible, and what Isochrone changes. Equations are
 * those of Han et al., INFOCOM 2021 (KaiS).
 */
export interface CmmacOptions {
  /** Weight of what follows in equations (3) and (7). */
  readonly gamma: number;
  /** Weight of imbalance in the reward, ε. */
  readonly epsilon: number;
  /** Whose outcome a decision is credited with: all requests' of the slot, as in the paper, or its own. */
  readonly credit: "shared" | "own";
  /** Which slot's reward follows an action: (3) and (7) write t + 1 for the slot that begins with it. */
  readonly reward: "this-slot" | "next-slot";
  /** Weight of the policy's entropy; the paper has none. */
  readonly entropy: number;
  readonly learningRate: number;
  /** What an access point sees: its own nodes (i) to (vi), or, older, other sites' load as well. */
  readonly sees: "own-nodes" | "all-nodes";
  /** What the critic sees: global state, access point and request, or only what the actor sees. */
  readonly critic: "global" | "local";
  /** Queue information: lengths, or the work ahead of the request's service as well. */
  readonly queues: "length" | "length-and-work";
  /** "Available" of (4): a ready replica, or an idle one with its CPU. */
  readonly available: "ready" | "idle";
  /** How an action follows from (5); the gradient (6) is that of a sampled one. */
  readonly action: "sample" | "argmax";
  /** Times that each decision is learnt from; with more than one, the steps are clipped as in PPO. */
  readonly passes: number;
  readonly hasNormalizedAdvantages: boolean;
  readonly batch: number;
  /** Frames between two updates; the target (th_v') follows at each one. */
  readonly episodeFrames: number;
}

export const AS_PRINTED: CmmacOptions = {
  gamma: 0.9,
  epsilon: 1,
  credit: "shared",
  reward: "this-slot",
  entropy: 0.01,
  learningRate: 5e-4,
  sees: "own-nodes",
  critic: "global",
  queues: "length-and-work",
  available: "ready",
  action: "sample",
  passes: 1,
  hasNormalizedAdvantages: false,
  batch: 256,
  episodeFrames: 20,
};

/** Each decision is credited with what became of its own request. */
export const IMPROVED: CmmacOptions = {
  ...AS_PRINTED,
  credit: "own",
  sees: "all-nodes",
  passes: 3,
  hasNormalizedAdvantages: true,
};
