import { readFile } from "node:fs/promises";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import type { Clock } from "@isochrone/runtime";
import { looseFields } from "@isochrone/primitives";
import { AggregatorError } from "../ports/errors.ts";

/**
 * A store with the objects of a dump (`kubectl get ... -o json`). It stands still: the cluster's later
 * changes aren't seen.
 */
export async function loadDump(path: string, clock: Clock): Promise<ClusterStore> {
  const store = createMemoryStore({ clock });
  for (const object of itemsOf(path, await readText(path))) await store.create(withoutVersion(object));
  return store;
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new AggregatorError("bad_dump", `aggregator.dumpFile ${path} must be readable`, error);
  }
}

function itemsOf(path: string, text: string): KubernetesObject[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new AggregatorError("bad_dump", `aggregator.dumpFile ${path} must be JSON`, error);
  }
  const { items } = looseFields<Record<"items", unknown>>(list);
  if (!Array.isArray(items))
    throw new AggregatorError("bad_dump", `aggregator.dumpFile ${path} must be a Kubernetes List with items`);
  return items as KubernetesObject[];
}

/** A store gives versions of its own. */
function withoutVersion(object: KubernetesObject): KubernetesObject {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
