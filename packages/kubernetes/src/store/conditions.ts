import { looseFields } from "@isochrone/primitives";

/** An entry of `status.conditions`. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** An object that may have conditions. */
export interface Conditioned {
  readonly status?: { readonly conditions?: unknown };
}

/** The object's conditions; entries that are none are left out. */
export function conditionsOf(object: Conditioned): Condition[] {
  const conditions = object.status?.conditions;
  return Array.isArray(conditions) ? conditions.filter(isCondition) : [];
}

/** Whether the condition is there and true. */
export function hasCondition(object: Conditioned, type: string): boolean {
  return conditionsOf(object).some((condition) => condition.type === type && condition.status === "True");
}

/**
 * The object's conditions with these in place of those of the same type; the transition time moves only with
 * the status.
 */
export function withConditions(
  object: Conditioned,
  changes: readonly Condition[],
  time: string,
): Condition[] {
  const conditions = conditionsOf(object).map((condition) => ({ ...condition }));
  for (const change of changes) {
    const index = conditions.findIndex(({ type }) => type === change.type);
    const previous = conditions[index];
    const lastTransitionTime =
      previous?.status === change.status ? (previous.lastTransitionTime ?? time) : time;
    if (index < 0) conditions.push({ ...change, lastTransitionTime });
    else conditions[index] = { ...change, lastTransitionTime };
  }
  return conditions;
}

function isCondition(value: unknown): value is Condition {
  const { type, status } = looseFields<Condition>(value);
  return typeof type === "string" && typeof status === "string";
}
