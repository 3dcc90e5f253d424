import type { AttributeValue } from "@isochrone/telemetry";

/** Labels that a metric may have. */
export type Labels<Names extends string> = { readonly [N in Names]?: AttributeValue };

/** Names in Kubernetes have at most 253 characters; what is longer names nothing. */
const MAX_NAME_LENGTH = 253;

/** A name from an attribute; null when it is absent, empty, too long or no text. */
export function textOf(value: AttributeValue | undefined): string | null {
  return typeof value === "string" && value !== "" && value.length <= MAX_NAME_LENGTH ? value : null;
}

/** Istio and others write this where they can't tell. */
const UNKNOWN = "unknown";

/** As {@link textOf}; null also for `unknown`. */
export function knownName(value: AttributeValue | undefined): string | null {
  const name = textOf(value);
  return name === UNKNOWN ? null : name;
}

/** A table by names that come from outside, among which may be `constructor`. */
export function mapOf<T>(entries: Readonly<Record<string, T>>): ReadonlyMap<string, T> {
  return new Map(Object.entries(entries));
}
