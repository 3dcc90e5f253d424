import type { SavingsOption } from "@isochrone/topology";
import { plural } from "../model/format.ts";

export const OPTIONS = [
  { of: "routing", title: "Stay in zone" },
  { of: "moves", title: "Move pods" },
  { of: "both", title: "Both" },
] as const;

export function changeText({ services, moves, roundTripChangeMs: change }: SavingsOption): string {
  const steps = [
    ...(services.length === 0 ? [] : [plural(services.length, "Service")]),
    ...(moves.length === 0 ? [] : [plural(moves.length, "move")]),
  ].join(", ");
  if (change === null) return steps;
  return `${steps}; round trip ${change > 0 ? "+" : ""}${Number(change.toPrecision(2))} ms`;
}

export function riskText({ zones, headroomRatio: headroom }: SavingsOption): string {
  return [
    ...(zones === null ? [] : [`${plural(zones, "zone")} left`]),
    ...(headroom === null ? [] : [`${Math.round(headroom * 100)} % CPU free`]),
  ].join(", ");
}
