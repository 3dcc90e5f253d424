// JSON of kube-scheduler's extender/v1. Its Go types have no JSON tags: names are PascalCase, and decoding
// ignores case.
import { isList, isRecord, type LooseFields } from "@isochrone/primitives";
import { ExtenderArgsError } from "../ports/errors.ts";

export interface ExtenderArgs {
  readonly pod: unknown;
  readonly nodeNames: readonly string[];
  /** Node objects in the order of `nodeNames`; null if the extender is nodeCacheCapable. */
  readonly nodes: readonly unknown[] | null;
}

export function readExtenderArgs(body: unknown): ExtenderArgs {
  if (!isRecord(body)) {
    throw new ExtenderArgsError(`ExtenderArgs must be an object, got ${shown(body)}`);
  }
  const nodeNames = field(body, "NodeNames");
  const nodes = field(body, "Nodes");
  const pod = field(body, "Pod");
  if (isList(nodeNames)) {
    if (areTexts(nodeNames)) return { pod, nodeNames, nodes: null };
    const index = nodeNames.findIndex((name) => typeof name !== "string");
    throw new ExtenderArgsError(`NodeNames[${index}] must be a string, got ${shown(nodeNames[index])}`);
  }
  if (nodeNames !== undefined && nodeNames !== null) {
    throw new ExtenderArgsError(`NodeNames must be a list, got ${shown(nodeNames)}`);
  }
  const items = readNodeList(nodes);
  return { pod, nodeNames: items.map(nodeName), nodes: items };
}

/**
 * Builds the /filter answer as text, which is faster than an object with thousands of keys. NodeNames is
 * always a list: kube-scheduler reads null as "no node is feasible".
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

function areTexts(names: readonly unknown[]): names is readonly string[] {
  return names.every((name) => typeof name === "string");
}

function readNodeList(nodes: unknown): readonly unknown[] {
  if (nodes === undefined || nodes === null)
    throw new ExtenderArgsError("ExtenderArgs must have NodeNames or Nodes, got neither");
  const items = isRecord(nodes) ? field(nodes, "items") : undefined;
  if (items === null) return [];
  if (!isList(items)) throw new ExtenderArgsError(`Nodes.items must be a list, got ${shown(items)}`);
  return items;
}

function nodeName(node: unknown, index: number): string {
  const metadata = isRecord(node) ? field(node, "metadata") : undefined;
  const name = isRecord(metadata) ? field(metadata, "name") : undefined;
  if (typeof name !== "string")
    throw new ExtenderArgsError(`Nodes.items[${index}].metadata.name must be a string, got ${shown(name)}`);
  return name;
}

/** Case-insensitive; prefers an exact match, as Go's decoder does. */
function field(object: LooseFields, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  const wanted = name.toLowerCase();
  for (const [key, value] of Object.entries(object)) if (key.toLowerCase() === wanted) return value;
  return undefined;
}

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const words = JSON.stringify(value);
  return words.length > 80 ? `${words.slice(0, 80)}…` : words;
}
