// What workloads of a dump declare of the workloads that they call: the annotation that the aggregator reads
// too (docs/appgroup.md).
import { isRecord, parseBitsPerSecond } from "@isochrone/primitives";
import { boundedDemands } from "@isochrone/topology";
import type { ChannelDemands } from "@isochrone/topology";
import { annotationsOf } from "./annotations.ts";
import { textOf } from "./read-objects.ts";
import type { DumpObject, Json } from "./read-objects.ts";

const NAME = "dependencies";

/** A channel as a workload declares it. */
interface DeclaredNeeds {
  readonly source: string;
  readonly target: string;
  readonly demands: ChannelDemands;
}

/** Of one workload object, or a bare pod. Throws DumpError. */
export function declaredNeeds(object: DumpObject, prefixes: readonly string[]): DeclaredNeeds[] {
  const annotations = annotationsOf(object);
  const key = prefixes.map((prefix) => prefix + NAME).find((each) => each in annotations);
  if (key === undefined) return [];
  const fail = (rule: string, value: unknown) => object.fail(["metadata", "annotations", key], rule, value);
  return entriesOf(annotations[key], fail).map((entry) => {
    const { name, namespace } = entry;
    if (typeof name !== "string" || name === "") throw fail("must give each entry a name", name);
    const other = textOf(namespace);
    return {
      source: object.name,
      target: other === null || other === object.namespace ? name : `${other}/${name}`,
      demands: demandsOf(entry, fail),
    };
  });
}

type Fail = (rule: string, value: unknown) => Error;

function entriesOf(text: unknown, fail: Fail): Json[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(String(text));
  } catch {
    parsed = null;
  }
  if (!Array.isArray(parsed) || !parsed.every(isRecord)) throw fail("must be a JSON list of objects", text);
  return parsed;
}

function demandsOf(entry: Json, fail: Fail): ChannelDemands {
  const { priority, maxNetworkCost, minBandwidth, type: relationshipType } = entry;
  for (const [name, value] of Object.entries({ priority, maxNetworkCost })) {
    if (value !== undefined && !(typeof value === "number" && value >= 0))
      throw fail(`must give a ${name} of at least 0`, value);
  }
  const minBandwidthBitsPerSecond = minBandwidth === undefined ? undefined : parseBitsPerSecond(minBandwidth);
  if (minBandwidthBitsPerSecond === null) throw fail("must give minBandwidth as a quantity", minBandwidth);
  return boundedDemands({ priority, maxNetworkCost, minBandwidthBitsPerSecond, relationshipType });
}
