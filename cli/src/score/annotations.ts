// The annotations by which graphs are written to Kubernetes (design §6), read back.
import { parseQuantity } from "@isochrone/placement";
import { isRecord, recordOf } from "./read-objects.ts";
import type { DumpObject } from "./read-objects.ts";

/** Prefixes that are tried in turn: the product's own, then none, as in the paper that the names are from. */
export const DEFAULT_PREFIXES: readonly string[] = ["isochrone.dev/", ""];

/** Reads an object's annotations under the first prefix that has them. */
export class Annotations {
  readonly #object: DumpObject;
  readonly #values: ReadonlyMap<string, { readonly key: string; readonly value: unknown }>;

  constructor(object: DumpObject, prefixes: readonly string[]) {
    this.#object = object;
    const values = new Map<string, { key: string; value: unknown }>();
    const annotations = recordOf(recordOf(object.json["metadata"])["annotations"]);
    for (const prefix of prefixes) {
      for (const [key, value] of Object.entries(annotations)) {
        if (!key.startsWith(prefix)) continue;
        const name = key.slice(prefix.length);
        if (!name.includes("/") && !values.has(name)) values.set(name, { key, value });
      }
    }
    this.#values = values;
  }

  /** A quantity of at least 0 in its base unit; null when absent. Throws DumpError. */
  quantity(name: string): number | null {
    const found = this.#values.get(name);
    if (found === undefined) return null;
    const value = parseQuantity(found.value);
    if (value === null || value < 0) {
      throw this.#object.fail(
        ["metadata", "annotations", found.key],
        "must be a quantity of at least 0",
        found.value,
      );
    }
    return value;
  }

  /** Quantities of all annotations called `<start><name>`, by that name. */
  quantities(start: string): Map<string, number> {
    const found = new Map<string, number>();
    for (const name of this.#values.keys()) {
      if (name.startsWith(start) && name.length > start.length)
        found.set(name.slice(start.length), this.quantity(name)!);
    }
    return found;
  }

  /** Costs by node name. Names too long for an annotation are hashed there, and `network-cost-names` maps them back. */
  networkCosts(): Map<string, number> {
    const names = this.#networkCostNames();
    const costs = new Map<string, number>();
    for (const name of this.#values.keys()) {
      if (!name.startsWith(COST) || name.length === COST.length || (name === COST_NAMES && names !== null))
        continue;
      const node = name.slice(COST.length);
      costs.set(names?.get(node) ?? node, this.quantity(name)!);
    }
    return costs;
  }

  /** null when there is no such map: then a node may well be called "names". */
  #networkCostNames(): ReadonlyMap<string, string> | null {
    const value = this.#values.get(COST_NAMES)?.value;
    if (typeof value !== "string" || !value.trimStart().startsWith("{")) return null;
    try {
      const json: unknown = JSON.parse(value);
      if (isRecord(json))
        return new Map(
          Object.entries(json).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
        );
    } catch {
      // reported below
    }
    throw this.#object.fail(
      ["metadata", "annotations", this.#values.get(COST_NAMES)!.key],
      "must be a JSON object of names",
      value,
    );
  }
}

const COST = "network-cost-";
const COST_NAMES = "network-cost-names";
