import type { Orchestrator } from "../orchestrator.ts";

export function noChanges(): Orchestrator {
  return { name: "none", decide: () => [] };
}
