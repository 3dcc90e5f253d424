import { DEFAULT_BYTES_PER_REQUEST } from "../../scoring/channel-traffic.ts";
import { PlacementError } from "../../scoring/errors.ts";

export interface PlanSettings {
  /** Bytes per request and response without byte counts; 0: such channels are ignored. */
  readonly bytesPerRequest: number;
  /** Cost of full nodes, as a share of all planned traffic's cost at the median latency; 0: load is free. */
  readonly pressureShare: number;
  /** Fraction of a node's CPU above which measured use is overload; 0: use is ignored. */
  readonly maxCpuUse: number;
  /** Cost of each pod that leaves its current node, bytes/s x ms; 0: free. */
  readonly moveCost: number;
  /** Share of money in network costs, 0 to 1; 0: latency decides. */
  readonly moneyShare: number;
  /**
   * With a money share: allowed relative increase of the latency cost over the best plan by latency. Today's
   * latency is always allowed.
   */
  readonly maxLatencyLoss: number;
}

/**
 * Cost of total overload, as a multiple of all planned traffic's cost at the median latency: on an overloaded
 * node, requests wait longer than on any network.
 */
export const OVERLOAD_SHARE = 10;

/** Low enough that near peers beat idle nodes until nodes get crowded. */
export const DEFAULT_PLAN_SETTINGS: PlanSettings = {
  bytesPerRequest: DEFAULT_BYTES_PER_REQUEST,
  pressureShare: 0.1,
  maxCpuUse: 0.75,
  moveCost: 0,
  moneyShare: 0,
  maxLatencyLoss: 0.1,
};

/** Fills in defaults. Throws PlacementError `invalid_setting`. */
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
