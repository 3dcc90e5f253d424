import { looseFields } from "@isochrone/primitives";

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export interface Conditioned {
  readonly status?: { readonly conditions?: unknown };
}

export function conditionsOf(object: Conditioned): Condition[] {
  const conditions = object.status?.conditions;
  return Array.isArray(conditions) ? conditions.filter(isCondition) : [];
}

export function hasCondition(object: Conditioned, type: string): boolean {
  return conditionsOf(object).some((condition) => condition.type === type && condition.status === "True");
}

/** Replaces conditions of the same types; the transition time changes only with the status. */
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
