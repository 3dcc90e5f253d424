import type { AttributeValue } from "@isochrone/telemetry";

export type Labels<Names extends string> = { readonly [N in Names]?: AttributeValue };

/** Maximum length of a Kubernetes name. Longer values are invalid. */
const MAX_NAME_LENGTH = 253;

/** Returns a name, or null if the value is absent, empty, too long or not a text. */
export function textOf(value: AttributeValue | undefined): string | null {
  return typeof value === "string" && value !== "" && value.length <= MAX_NAME_LENGTH ? value : null;
}

/** Placeholder of Istio and others. */
const UNKNOWN = "unknown";

/** Like {@link textOf}; returns null also for `unknown`. */
export function knownName(value: AttributeValue | undefined): string | null {
  const name = textOf(value);
  return name === UNKNOWN ? null : name;
}

/** A map for untrusted keys, which may include `constructor`. */
export function mapOf<T>(entries: Readonly<Record<string, T>>): ReadonlyMap<string, T> {
  return new Map(Object.entries(entries));
}
