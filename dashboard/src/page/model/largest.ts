import type { WorkflowList } from "@isochrone/topology";

type Named = { readonly namespace: string; readonly name: string };

/** The default workflow: most channels. Null: none has any. */
export function largestWorkflow(list: WorkflowList["workflows"]): Named | null {
  const [first] = list.toSorted((a, b) => b.channels - a.channels || b.pods - a.pods);
  return first === undefined || first.channels === 0 ? null : first;
}

export const workflowPath = ({ namespace, name }: Named): string =>
  `api/v1/graph/workflows/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
