/** Workflows have no `kind` in their file. */
const NAMED_KINDS = ["streams", "streams-example", "kais", "bill"] as const;

/** What a scenario places: pods of workflows, jobs of streams, the one job of an example, or requests. */
export type ScenarioKind = "workflows" | (typeof NAMED_KINDS)[number];

/** Reading as workflows refuses an unknown kind. */
export function kindOf(text: string): ScenarioKind {
  const named = /^kind:\s*(\S+)\s*$/m.exec(text)?.[1];
  return NAMED_KINDS.find((kind) => kind === named) ?? "workflows";
}
