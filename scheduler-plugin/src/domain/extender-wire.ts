// The wire of kube-scheduler's extender/v1: its Go types have no JSON tags, so names are PascalCase, and
// decoding ignores case.
import { ExtenderArgsError } from "../ports/errors.ts";

/** What kube-scheduler asks about. */
export interface ExtenderArgs {
  readonly pod: unknown;
  readonly nodeNames: readonly string[];
  /** The node objects, when the extender isn't declared nodeCacheCapable; in the order of `nodeNames`. */
  readonly nodes: readonly unknown[] | null;
}

/** Reads a parsed body. Throws ExtenderArgsError, which names field, rule and value. */
export function readExtenderArgs(body: unknown): ExtenderArgs {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new ExtenderArgsError(`ExtenderArgs must be an object, got ${shown(body)}`);
  }
  const nodeNames = field(body, "NodeNames");
  const nodes = field(body, "Nodes");
  const pod = field(body, "Pod");
  if (Array.isArray(nodeNames)) {
    const index = (nodeNames as unknown[]).findIndex((name) => typeof name !== "string");
    if (index >= 0)
      throw new ExtenderArgsError(
        `NodeNames[${index}] must be a string, got ${shown((nodeNames as unknown[])[index])}`,
      );
    return { pod, nodeNames: nodeNames as string[], nodes: null };
  }
  if (nodeNames !== undefined && nodeNames !== null) {
    throw new ExtenderArgsError(`NodeNames must be a list, got ${shown(nodeNames)}`);
  }
  const items = readNodeList(nodes);
  return { pod, nodeNames: items.map(nodeName), nodes: items };
}

/**
 * The answer to /filter, written as text: an object with thousands of names for keys takes longer to build
 * and to serialise than the filter. NodeNames is always a list: kube-scheduler takes null for "no node is
 * feasible".
 */
export function filterAnswer(args: ExtenderArgs, failed: ReadonlyMap<string, string>): string {
  const { nodes, nodeNames } = args;
  const passed = failed.size === 0 ? nodeNames : nodeNames.filter((name) => !failed.has(name));
  const items = nodes?.filter((_, index) => !failed.has(nodeNames[index]!));
  return (
    `{"Nodes":${items === undefined ? "null" : JSON.stringify({ metadata: {}, items })}` +
    `,"NodeNames":${JSON.stringify(passed)},"FailedNodes":{${failedText(failed)}}` +
    `,"FailedAndUnresolvableNodes":{},"Error":""}`
  );
}

function failedText(failed: ReadonlyMap<string, string>): string {
  let text = "";
  for (const [name, reason] of failed)
    text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${JSON.stringify(reason)}`;
  return text;
}

function readNodeList(nodes: unknown): readonly unknown[] {
  if (nodes === undefined || nodes === null)
    throw new ExtenderArgsError("ExtenderArgs must have NodeNames or Nodes, got neither");
  const items = typeof nodes === "object" ? field(nodes, "items") : undefined;
  // An empty Go list is encoded as null.
  if (items === null) return [];
  if (!Array.isArray(items)) throw new ExtenderArgsError(`Nodes.items must be a list, got ${shown(items)}`);
  return items as unknown[];
}

function nodeName(node: unknown, index: number): string {
  const metadata = typeof node === "object" && node !== null ? field(node, "metadata") : undefined;
  const name = typeof metadata === "object" && metadata !== null ? field(metadata, "name") : undefined;
  if (typeof name !== "string")
    throw new ExtenderArgsError(`Nodes.items[${index}].metadata.name must be a string, got ${shown(name)}`);
  return name;
}

/** The field of that name, whatever its case; an exact match first, as Go's decoder prefers it. */
function field(object: object, name: string): unknown {
  if (Object.hasOwn(object, name)) return (object as Record<string, unknown>)[name];
  const wanted = name.toLowerCase();
  for (const [key, value] of Object.entries(object)) if (key.toLowerCase() === wanted) return value;
  return undefined;
}

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const words = JSON.stringify(value);
  return words.length > 80 ? `${words.slice(0, 80)}…` : words;
}
