import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { completedObject, jsonDocuments, listedObjects, quantityFault } from "@isochrone/kubernetes/offline";
import { readTextFile } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";
import { looseFields, reasonOf } from "@isochrone/primitives";
import { AggregatorError } from "../ports/errors.ts";

/** Enough for the JSON of 5,000 nodes with 30 pods each. */
const MAX_BYTES = 512 * 1024 * 1024;

/** Loads a dump (`kubectl get ... -o json`) into a static store. */
export async function loadDump(path: string, clock: Clock): Promise<ClusterStore> {
  const store = createMemoryStore({ clock });
  for (const object of objectsOf(path, readText(path))) await store.create(withoutVersion(object));
  return store;
}

function readText(path: string): string {
  try {
    return readTextFile(path, MAX_BYTES);
  } catch (error) {
    throw failed(path, `must be readable: ${reasonOf(error)}`, error);
  }
}

function objectsOf(path: string, text: string): KubernetesObject[] {
  let documents: unknown[];
  try {
    documents = (jsonDocuments(text) ?? [{ text }]).map((each): unknown => JSON.parse(each.text));
  } catch (error) {
    throw failed(path, "must be JSON", error);
  }
  return documents.flatMap((document) => {
    const objects = listedObjects(document);
    if (objects === null) throw failed(path, "must hold Kubernetes Lists with items, or objects");
    return objects.map((object) => checked(path, object));
  });
}

function checked(path: string, object: Readonly<Record<string, unknown>>): KubernetesObject {
  const { kind, metadata } = looseFields<Record<"kind" | "metadata", unknown>>(object);
  const { name, namespace = "" } = looseFields<Record<"name" | "namespace", unknown>>(metadata);
  if (typeof kind !== "string" || typeof name !== "string")
    throw failed(path, "must hold objects with kind and metadata.name");
  const fault = quantityFault(kind, object);
  if (fault !== null) {
    const subject = [kind, `${String(namespace)}/${name}`.replace(/^\//, "")].join(" ");
    const { path: place, rule, value } = fault;
    throw failed(path, `${subject}: ${place.join(".")} ${rule}, got ${JSON.stringify(value)}`);
  }
  return completedObject(kind, object) as KubernetesObject;
}

function failed(path: string, problem: string, cause?: unknown): AggregatorError {
  return new AggregatorError("bad_dump", `aggregator.dumpFile ${path} ${problem}`, cause);
}

function withoutVersion(object: KubernetesObject): KubernetesObject {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
