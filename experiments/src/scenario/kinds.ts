/** Workflow files have no `kind`. */
const NAMED_KINDS = ["streams", "streams-example", "kais", "bill"] as const;

export type ScenarioKind = "workflows" | (typeof NAMED_KINDS)[number];

/** Reads an unknown kind as workflows, which refuses it. */
export function kindOf(text: string): ScenarioKind {
  const named = /^kind:\s*(\S+)\s*$/m.exec(text)?.[1];
  return NAMED_KINDS.find((kind) => kind === named) ?? "workflows";
}
