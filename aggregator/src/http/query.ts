import type { ClusterNode } from "@isochrone/topology";
import { Type, type Static } from "typebox";
import { AggregatorError } from "../ports/errors.ts";

/** Unknown query parameters are errors rather than silently ignored. */
export const NOTHING_ELSE = { additionalProperties: false } as const;

export const PairQuery = Type.Object(
  {
    source: Type.String({ minLength: 1, maxLength: 253 }),
    target: Type.String({ minLength: 1, maxLength: 253 }),
  },
  NOTHING_ELSE,
);
export type PairQuery = Static<typeof PairQuery>;

export function assertNodes(
  graph: { readonly nodes: readonly Pick<ClusterNode, "name">[] },
  names: readonly string[],
): void {
  const known = new Set(graph.nodes.map(({ name }) => name));
  const missing = names.filter((name) => !known.has(name));
  if (missing.length > 0)
    throw new AggregatorError("unknown_node", `there is no node ${missing.join(" and no node ")}`);
}

export const NoQuery = Type.Object({}, NOTHING_ELSE);
