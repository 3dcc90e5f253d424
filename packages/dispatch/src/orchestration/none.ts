import type { Orchestrator } from "../orchestrator.ts";

/** Leaves replicas where they are. */
export function noChanges(): Orchestrator {
  return { name: "none", decide: () => [] };
}
