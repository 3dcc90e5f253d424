import { readNodeAnnotations, readWorkloadAnnotations } from "@isochrone/topology";
import type { AnnotationFault, RawAnnotations, ReadWorkloadAnnotations } from "@isochrone/topology";
import type { ObjectMeta } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { DumpError } from "./errors.ts";
import type { DumpObject } from "./read-objects.ts";

export function workloadAnnotations(
  object: DumpObject,
  prefixes: readonly string[],
): ReadWorkloadAnnotations {
  const read = readWorkloadAnnotations(annotationsOf(object), prefixes);
  const [fault] = read.faults;
  if (fault !== undefined) throw annotationFault(object, fault);
  return read;
}

export function annotationFault(object: DumpObject, { key, rule, value }: AnnotationFault): DumpError {
  return object.fail(["metadata", "annotations", key], rule, value);
}

export function annotationsOf(object: DumpObject): RawAnnotations {
  return looseFields(looseFields<ObjectMeta>(object.json.metadata).annotations);
}

const ANNOTATED_KINDS: ReadonlySet<string> = new Set(["Node", "Deployment", "StatefulSet", "DaemonSet"]);

export function observedTimes(objects: readonly DumpObject[], prefixes: readonly string[]): string[] {
  const times = objects.flatMap((object) =>
    ANNOTATED_KINDS.has(object.kind)
      ? (readNodeAnnotations(annotationsOf(object), prefixes).observedAtMs ?? [])
      : [],
  );
  return [...new Set(times)].sort((a, b) => a - b).map((ms) => new Date(ms).toISOString());
}
