// Annotations of a dump's objects, read as everywhere (docs/annotations.md); here a faulty one is an error
// that names its place.
import { readNodeAnnotations, readWorkloadAnnotations } from "@isochrone/topology";
import type {
  AnnotationFault,
  RawAnnotations,
  ReadNodeAnnotations,
  ReadWorkloadAnnotations,
} from "@isochrone/topology";
import type { ObjectMeta } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { DumpObject } from "./read-objects.ts";

/** Throws DumpError. */
export function nodeAnnotations(object: DumpObject, prefixes: readonly string[]): ReadNodeAnnotations {
  return checked(object, readNodeAnnotations(annotationsOf(object), prefixes));
}

/** Throws DumpError. */
export function workloadAnnotations(
  object: DumpObject,
  prefixes: readonly string[],
): ReadWorkloadAnnotations {
  return checked(object, readWorkloadAnnotations(annotationsOf(object), prefixes));
}

export function annotationsOf(object: DumpObject): RawAnnotations {
  return looseFields(looseFields<ObjectMeta>(object.json.metadata).annotations);
}

const ANNOTATED_KINDS: ReadonlySet<string> = new Set(["Node", "Deployment", "StatefulSet", "DaemonSet"]);

/** When the annotations of nodes and workloads were read from graphs, RFC 3339, the oldest first. */
export function observedTimes(objects: readonly DumpObject[], prefixes: readonly string[]): string[] {
  const times = objects.flatMap((object) =>
    ANNOTATED_KINDS.has(object.kind)
      ? (readNodeAnnotations(annotationsOf(object), prefixes).observedAtMs ?? [])
      : [],
  );
  return [...new Set(times)].sort((a, b) => a - b).map((ms) => new Date(ms).toISOString());
}

function checked<T extends { readonly faults: readonly AnnotationFault[] }>(object: DumpObject, read: T): T {
  const [fault] = read.faults;
  if (fault !== undefined) throw object.fail(["metadata", "annotations", fault.key], fault.rule, fault.value);
  return read;
}
