/** Choices left open by the paper (Han et al., INFOCOM 2021: KaiS), and Isochrone's changes. */
export interface CmmacOptions {
  /** Discount factor of (3) and (7). */
  readonly gamma: number;
  /** Weight of imbalance in the reward, ε. */
  readonly epsilon: number;
  /** Credit of a decision: all requests' outcome in the slot (paper), or its own. */
  readonly credit: "shared" | "own";
  /** Slot whose reward follows an action: (3) and (7) write t + 1 for the slot that begins with it. */
  readonly reward: "this-slot" | "next-slot";
  readonly entropy: number;
  readonly learningRate: number;
  /** State of an access point: its own nodes (i) to (vi), or also the (older) load of other sites. */
  readonly sees: "own-nodes" | "all-nodes";
  /** State of the critic: global with access point and request, or the actor's. */
  readonly critic: "global" | "local";
  /** Queue state: lengths, or also the work ahead of the request. */
  readonly queues: "length" | "length-and-work";
  /** "Available" in (4): a ready replica, or an idle one with CPU. */
  readonly available: "ready" | "idle";
  /** How an action follows from (5); the gradient (6) assumes sampling. */
  readonly action: "sample" | "argmax";
  /** Passes over each decision; above one, steps are clipped as in PPO. */
  readonly passes: number;
  readonly hasNormalizedAdvantages: boolean;
  readonly batch: number;
  /** Frames per update; each update also sets the target network (th_v'). */
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

export const IMPROVED: CmmacOptions = {
  ...AS_PRINTED,
  credit: "own",
  sees: "all-nodes",
  passes: 3,
  hasNormalizedAdvantages: true,
};
