import type { FieldSelector, ObjectMeta } from "./port.ts";

/** Matches fields by equality. An empty selector matches everything. */
export function matchesFields(
  selector: FieldSelector,
  { metadata, spec }: { readonly metadata: ObjectMeta; readonly spec?: { readonly nodeName?: unknown } },
): boolean {
  const { "metadata.name": name, "spec.nodeName": nodeName } = selector;
  return (
    (name === undefined || metadata.name === name) && (nodeName === undefined || spec?.nodeName === nodeName)
  );
}
