import { Type, type Static } from "typebox";

/**
 * For a route's query: a parameter that it doesn't know is a mistake of the client's, never silently without
 * effect.
 */
export const NOTHING_ELSE = { additionalProperties: false } as const;

/** The query of a route that tells of one ordered pair of nodes. */
export const PairQuery = Type.Object(
  {
    source: Type.String({ minLength: 1, maxLength: 253 }),
    target: Type.String({ minLength: 1, maxLength: 253 }),
  },
  NOTHING_ELSE,
);
export type PairQuery = Static<typeof PairQuery>;

/** The query of a route without parameters. */
export const NoQuery = Type.Object({}, NOTHING_ELSE);
