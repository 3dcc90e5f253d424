// Annotations of a dump's objects, read as everywhere (docs/annotations.md); here a faulty one is an error that names its place.
import { readNodeAnnotations, readWorkloadAnnotations } from "@isochrone/topology";
import type {
  AnnotationFault,
  RawAnnotations,
  ReadNodeAnnotations,
  ReadWorkloadAnnotations,
} from "@isochrone/topology";
import { recordOf } from "./read-objects.ts";
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
  return recordOf(recordOf(object.json["metadata"])["annotations"]);
}

function checked<T extends { readonly faults: readonly AnnotationFault[] }>(object: DumpObject, read: T): T {
  const [fault] = read.faults;
  if (fault !== undefined) throw object.fail(["metadata", "annotations", fault.key], fault.rule, fault.value);
  return read;
}
