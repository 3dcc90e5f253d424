import type { Decision } from "@isochrone/topology";

/** `moved`: the replacement runs on its target. `failed`: it does not, or there is none. */
type MoveState = "moving" | "moved" | "failed";

type EvictionFields = Pick<Decision, "outcome" | "binding" | "strategy">;

export function moveStateOf({ outcome, binding, strategy }: EvictionFields): MoveState {
  if (outcome === undefined) return "moving";
  if (outcome.result === "on_target") return "moved";
  // In mode paper kube-scheduler chooses the node, so any other one is right.
  const isAnyRight = strategy !== "descheduler" && outcome.result === "elsewhere";
  return isAnyRight && outcome.node !== (binding?.node ?? null) ? "moved" : "failed";
}

export function failureOf({ outcome, binding }: EvictionFields): string {
  if (outcome?.result === "withdrawn") return `it stays on ${binding?.node ?? "its node"}`;
  return outcome?.node === null || outcome === undefined
    ? "it had no ready replacement in time"
    : `its replacement runs on ${outcome.node}`;
}
