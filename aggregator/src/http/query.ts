import { Type } from "typebox";

/** For a route's query: a parameter that it doesn't know is a mistake of the client's, never silently without effect. */
export const NOTHING_ELSE = { additionalProperties: false } as const;

/** The query of a route without parameters. */
export const NoQuery = Type.Object({}, NOTHING_ELSE);
