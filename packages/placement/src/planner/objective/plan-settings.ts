import { DEFAULT_BYTES_PER_REQUEST } from "../../scoring/channel-traffic.ts";
import { PlacementError } from "../../scoring/errors.ts";

/** What the planner's cost is made of. */
export interface PlanSettings {
  /**
   * Bytes of a request and its response, for channels whose bytes nobody counts; 0 = such channels count for
   * nothing.
   */
  readonly bytesPerRequest: number;
  /**
   * What full nodes cost, as a share of what all planned traffic would cost at the median known network cost;
   * 0 = load doesn't matter. A plan that fills every node it uses to the brim pays the whole share, one on
   * idle nodes next to nothing.
   */
  readonly pressureShare: number;
  /** Share of a node's CPU beyond which its measured use counts as overload; 0 = use doesn't matter. */
  readonly maxCpuUse: number;
  /**
   * What each pod adds that a plan takes away from the node where it runs, bytes/s x ms; 0: moves are free.
   */
  readonly moveCost: number;
  /** Money's share in what the network costs, 0 to 1; 0: latency alone decides. */
  readonly moneyShare: number;
  /**
   * Where money has a share: how far the network's latency, bytes/s x ms, may be above that of the plan by
   * latency alone, as a share of it; or above that of today, where that is worse.
   */
  readonly maxLatencyLoss: number;
}

/**
 * What overload costs: a plan all of whose use is beyond what the nodes can take pays so many times what its
 * traffic would cost at the median known network cost. Where a node is busy all the time, requests wait
 * longer than on any network.
 */
export const OVERLOAD_SHARE = 10;

/** A tenth: near neighbours beat idle nodes until nodes get crowded. */
export const DEFAULT_PLAN_SETTINGS: PlanSettings = {
  bytesPerRequest: DEFAULT_BYTES_PER_REQUEST,
  pressureShare: 0.1,
  maxCpuUse: 0.75,
  moveCost: 0,
  moneyShare: 0,
  maxLatencyLoss: 0.1,
};

/** Defaults for what is left out. Throws PlacementError `invalid_setting`. */
export function planSettings(given: Partial<PlanSettings>): PlanSettings {
  const settings = { ...DEFAULT_PLAN_SETTINGS, ...given };
  for (const name of [
    "bytesPerRequest",
    "pressureShare",
    "maxCpuUse",
    "moveCost",
    "maxLatencyLoss",
  ] as const) {
    const value = settings[name];
    if (!(Number.isFinite(value) && value >= 0)) {
      throw new PlacementError("invalid_setting", `${name} of a plan must be 0 or more, got ${value}`);
    }
  }
  const { moneyShare } = settings;
  if (!(moneyShare >= 0 && moneyShare <= 1))
    throw new PlacementError("invalid_setting", `moneyShare of a plan must be 0 to 1, got ${moneyShare}`);
  return settings;
}
